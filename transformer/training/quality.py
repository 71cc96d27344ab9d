"""Translation quality of a checkpoint: BLEU and chrF of sacrebleu (Post 2018)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from transformer.inference import Translator
from transformer.text.batching import by_length


@dataclass(frozen=True)
class Scores:
    """Corpus scores with sacrebleu's signatures, which record how they were computed.

    Attributes:
        bleu: Papineni et al. 2002, 0 to 100; chrf: Popović 2015, 0 to 100.
        sentences, references: numbers of sources and of all their references.
        tokens: generated pieces, `</s>` included; seconds: time of translating all sources.
    """

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    sentences: int
    references: int
    tokens: int
    seconds: float


TOKENIZERS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none")
"""sacrebleu's tokenizers that need no further files; two need its optional package MeCab."""
UNSPACED_LANGUAGES = ("zh", "ja", "th", "lo", "km", "my", "bo")
"""Languages that are written without spaces between words."""
_UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, kana and Chinese characters."""


def is_unspaced(texts: Iterable[str]) -> bool:
    """Whether most characters are of scripts that are written without spaces between words."""
    text = "".join("".join(part.split()) for part in texts)
    return 2 * len(_UNSPACED.findall(text)) > len(text)


def bleu_metric(target: str = "", tokenizer: str | None = None) -> BLEU:
    """Return sacrebleu's BLEU with the tokenizer that its own command takes for a language.

    That is "zh" for Chinese, MeCab for Japanese and Korean, or "char" where MeCab is not installed,
    and otherwise "13a".

    Args:
        target: code of the target language, "" if unknown.
        tokenizer: one of `TOKENIZERS`, instead.

    Raises ValueError for an unknown tokenizer, or one that is not installed.
    """
    if tokenizer is not None and tokenizer not in TOKENIZERS:
        raise ValueError(f"there is no tokenizer {tokenizer!r}; choose {', '.join(TOKENIZERS)}")
    try:
        return BLEU(tokenize=tokenizer, trg_lang=target.split("-")[0])
    except (ImportError, RuntimeError) as error:
        if tokenizer is None:
            return BLEU(tokenize="char")
        raise ValueError(
            f"the tokenizer {tokenizer} is not installed: pip install sacrebleu[ja,ko]"
        ) from error


def tokenizer_note(
    signature: str, references: Sequence[Sequence[str]], tokenizer: str | None = None
) -> str:
    """Return a sentence if BLEU's tokenizer is not the one for the references; "" if it is.

    Args:
        signature: sacrebleu's, which names the tokenizer.
        tokenizer: as the user chose it, if at all.
    """
    if "tok:char" in signature and tokenizer is None:
        return "MeCab is not installed (pip install sacrebleu[ja,ko]): BLEU counts characters."
    needs_spaces = any(f"tok:{name}" in signature for name in ("13a", "intl", "none"))
    if not needs_spaces or not is_unspaced(chain.from_iterable(references)):
        return ""
    return (
        "The references are written without spaces, so this tokenizer takes whole sentences for "
        "words and BLEU says little: use chrF, or BLEU with --tokenize char."
    )


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    target: str = "",
    tokenizer: str | None = None,
) -> dict[str, Any]:
    """Return the first four fields of `Scores` for one hypothesis per sentence.

    Args:
        target, tokenizer: as in `bleu_metric`.

    Sentences may have different numbers of references. Raises ValueError if the numbers of
    sentences differ, a sentence has no reference, and as `bleu_metric`.
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} translations for {len(references)} sentences")
    if not hypotheses or not all(references):
        raise ValueError("at least one sentence is needed, and every sentence needs a reference")
    # sacrebleu takes the first references of all sentences, then the second, None where missing.
    streams = [list(stream) for stream in zip_longest(*references)]
    figures: dict[str, Any] = {}
    for name, metric in (("bleu", bleu_metric(target, tokenizer)), ("chrf", CHRF())):
        figures[name] = metric.corpus_score(hypotheses, streams).score
        figures[f"{name}_signature"] = str(metric.get_signature())
    return figures


def concatenate_sentences(
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    count: int,
    languages: tuple[str, str] = ("", ""),
) -> tuple[list[str], list[list[str]]]:
    """Concatenate every `count` neighbouring sentences, to test translation of longer inputs.

    Reference k of a text concatenates reference k of its sentences, or the last one of a sentence
    with fewer. The last text may have fewer sentences. There is a space between sentences, except
    in `UNSPACED_LANGUAGES`; `languages` are the codes of source and target. Raises ValueError for a
    count below 1.
    """
    if count < 1:
        raise ValueError(f"the number of sentences to concatenate must be at least 1, not {count}")
    starts = range(0, len(sources), count)
    space_src, space_tgt = (
        "" if code.split("-")[0] in UNSPACED_LANGUAGES else " " for code in languages
    )
    texts = [space_src.join(sources[start : start + count]) for start in starts]
    joined_references = []
    for start in starts:
        group = references[start : start + count]
        n_references = max(map(len, group))
        joined_references.append(
            [
                space_tgt.join(refs[min(k, len(refs) - 1)] for refs in group)
                for k in range(n_references)
            ]
        )
    return texts, joined_references


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    batch_size: int = 32,
    target: str = "",
    tokenizer: str | None = None,
    progress: Callable[[int], object] = lambda _: None,
    **options: Any,
) -> tuple[Scores, list[str]]:
    """Translate every source; return the corpus scores and the translations in order.

    Args:
        target, tokenizer: as in `bleu_metric`.
        progress: called with the number of sentences done.
        options: passed to `Translator.translate_batch`, for example beam_size=4.

    Raises:
        ValueError: before the first translation, for a source that cannot be translated, and as
            `bleu_metric`.
    """
    bleu_metric(target, tokenizer)
    for number, source in enumerate(sources, start=1):
        try:
            translator.check(source)
        except ValueError as error:
            raise ValueError(f"Sentence {number}: {error}") from error
    # Batches of similar length need little padding.
    order = by_length([len(source) for source in sources])
    hypotheses = [""] * len(sources)
    tokens, began = 0, time.perf_counter()
    for start in range(0, len(order), batch_size):
        numbers = order[start : start + batch_size]
        batch = translator.translate_batch([sources[number] for number in numbers], **options)
        for number, translation in zip(numbers, batch, strict=True):
            hypotheses[number] = translation.text
            tokens += len(translation.ids)
        progress(start + len(numbers))
    seconds = time.perf_counter() - began
    scores = Scores(
        **score(hypotheses, references, target=target, tokenizer=tokenizer),
        sentences=len(sources),
        references=sum(len(refs) for refs in references),
        tokens=tokens,
        seconds=seconds,
    )
    return scores, hypotheses
