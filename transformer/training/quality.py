"""Translation quality of a checkpoint: BLEU and chrF of sacrebleu (Post 2018)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
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


def score(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the first four fields of `Scores` for one hypothesis per sentence.

    Sentences may have different numbers of references. Raises ValueError if the numbers of
    sentences differ, or a sentence has no reference.
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} translations for {len(references)} sentences")
    if not hypotheses or not all(references):
        raise ValueError("at least one sentence is needed, and every sentence needs a reference")
    # sacrebleu takes the first references of all sentences, then the second, None where missing.
    streams = [list(stream) for stream in zip_longest(*references)]
    figures: dict[str, Any] = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        figures[name] = metric.corpus_score(hypotheses, streams).score
        figures[f"{name}_signature"] = str(metric.get_signature())
    return figures


def concatenate_sentences(
    sources: Sequence[str], references: Sequence[Sequence[str]], count: int
) -> tuple[list[str], list[list[str]]]:
    """Concatenate every `count` neighbouring sentences, to test translation of longer inputs.

    Reference k of a text concatenates reference k of its sentences, or the last one of a sentence
    with fewer. The last text may have fewer sentences. Raises ValueError for a count below 1.
    """
    if count < 1:
        raise ValueError(f"the number of sentences to concatenate must be at least 1, not {count}")
    starts = range(0, len(sources), count)
    texts = [" ".join(sources[start : start + count]) for start in starts]
    joined_references = []
    for start in starts:
        group = references[start : start + count]
        n_references = max(map(len, group))
        joined_references.append(
            [" ".join(refs[min(k, len(refs) - 1)] for refs in group) for k in range(n_references)]
        )
    return texts, joined_references


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    batch_size: int = 32,
    progress: Callable[[int], object] = lambda _: None,
    **options: Any,
) -> tuple[Scores, list[str]]:
    """Translate every source; return the corpus scores and the translations in order.

    Args:
        progress: called with the number of sentences done.
        options: passed to `Translator.translate_batch`, for example beam_size=4.

    Raises:
        ValueError: before the first translation, for a source that cannot be translated.
    """
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
        **score(hypotheses, references),
        sentences=len(sources),
        references=sum(len(refs) for refs in references),
        tokens=tokens,
        seconds=seconds,
    )
    return scores, hypotheses
