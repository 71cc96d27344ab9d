"""Quality of a checkpoint: BLEU and chrF by sacrebleu (Post 2018), comparable with others'."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from transformer.inference import Translator
from transformer.text.batching import by_length


@dataclass(frozen=True)
class Scores:
    """Corpus scores with the signatures that say how they were computed.

    Attributes:
        bleu: Papineni et al. 2002, 0 to 100; chrf: Popović 2015, 0 to 100.
        sentences, references: how many sources, and how many references they have together.
        tokens: generated pieces, `</s>` included; seconds: of translating all of them.
    """

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    sentences: int
    references: int
    tokens: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def score(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The first four fields of `Scores`, for one hypothesis a sentence and its references.

    Sentences may have different numbers of references. Raises ValueError if the numbers of
    sentences differ, or a sentence has no reference.
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} translations for {len(references)} sentences")
    if not hypotheses or not all(references):
        raise ValueError("there must be a sentence, and every sentence needs a reference")
    # sacrebleu wants the first references of all sentences, then the second, None where missing.
    streams = [list(stream) for stream in zip_longest(*references)]
    found: dict[str, Any] = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        found[name] = metric.corpus_score(hypotheses, streams).score
        found[f"{name}_signature"] = str(metric.get_signature())
    return found


def joined(
    sources: Sequence[str], references: Sequence[Sequence[str]], count: int
) -> tuple[list[str], list[list[str]]]:
    """Every `count` neighbours as one text, to see whether a longer one keeps its content.

    Reference k of a text joins reference k of its sentences, or the last of one that has fewer.
    What is left over at the end, fewer than `count`, is a text of its own. Raises ValueError for a
    count below 1.
    """
    if count < 1:
        raise ValueError(f"sentences are joined by 1 or more, not by {count}")
    starts = range(0, len(sources), count)
    texts = [" ".join(sources[start : start + count]) for start in starts]
    found = []
    for start in starts:
        parts = references[start : start + count]
        most = max(map(len, parts))
        found.append([" ".join(p[min(k, len(p) - 1)] for p in parts) for k in range(most)])
    return texts, found


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    batch_size: int = 32,
    progress: Callable[[int], object] = lambda _: None,
    **options: Any,
) -> tuple[Scores, list[str]]:
    """Translate every source and score all at once; the translations come back in order.

    Args:
        progress: called with the number of sentences done.
        options: of `Translator.translate_batch`, as beam_size=4.
    """
    # Neighbours of one length finish together, so little of a batch is spent on padding.
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
        references=sum(len(given) for given in references),
        tokens=tokens,
        seconds=seconds,
    )
    return scores, hypotheses
