"""Findings about attention as a word aligner (Kobayashi et al. 2020, arXiv:2004.10102; Chen et al.
2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.analysis.alignment.aligner_errors import (
    ALIGNMENT_METHODS,
    AlignerErrors,
    measure_aligners,
)
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress
from transformer.analysis.evidence.bootstrap import max_difference_interval
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import (
    Finding,
    PublishedFinding,
    UntestableError,
    format_effect,
    require_sentences,
)
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.measures.naming import index_name

FLOOR = 1.0
"""Smallest difference of error rates that matters, in percentage points."""


@dataclass(frozen=True, eq=False)
class ScoredAligner:
    """One aligner: its name, method (`score_kind`, `target_row`) and layer, and its counts of
    correct links."""

    name: str
    score_kind: str
    target_row: str
    layer: int
    counts: npt.NDArray[np.float64]


def measure_gold(
    translator: Translator, corpus: Corpus, progress: Progress, allow_unaligned: bool = False
) -> AlignerErrors:
    """Return the errors of all aligners over the corpus's gold links.

    Args:
        allow_unaligned: as for `measure_aligners`.

    Raises:
        UntestableError: if there are too few.
    """
    if not corpus.n_gold:
        raise UntestableError(
            "The corpus has no gold links; choose the bundled sentences, a run on the French "
            "grammar task, or a file with a third column of links."
        )
    require_sentences(corpus.n_gold, "sentences with gold links")
    try:
        errors = measure_aligners(translator, corpus, progress, allow_unaligned=allow_unaligned)
    except ValueError as error:
        raise UntestableError(f"{error}.") from error
    require_sentences(errors.n_sentences, "sentences with usable gold links")
    return errors


def layer_aligners(errors: AlignerErrors) -> list[ScoredAligner]:
    """Return an aligner for each layer and method, by the sum over its heads."""
    return [
        ScoredAligner(
            f"{score_kind} of layer {n} ({target_row})", score_kind, target_row, n, counts[:, n, -1]
        )
        for (score_kind, target_row), counts in _counts_by_method(errors)
        for n in range(counts.shape[1])
    ]


def head_aligners(errors: AlignerErrors) -> list[ScoredAligner]:
    """Return an aligner for each head and method."""
    return [
        ScoredAligner(
            f"head {index_name(n, head)} by its {score_kind} ({target_row})",
            score_kind,
            target_row,
            n,
            counts[:, n, head],
        )
        for (score_kind, target_row), counts in _counts_by_method(errors)
        for n, head in np.ndindex(counts.shape[1], counts.shape[2] - 1)
    ]


def _counts_by_method(
    errors: AlignerErrors,
) -> list[tuple[tuple[str, str], npt.NDArray[np.float64]]]:
    return [
        ((score_kind, target_row), np.asarray(errors.counts.heads[score_kind, target_row]))
        for score_kind, target_row in ALIGNMENT_METHODS
    ]


def compare_aligners(
    errors: AlignerErrors,
    name: str,
    candidates: Sequence[ScoredAligner],
    references: Sequence[ScoredAligner],
) -> Finding:
    """Return the finding with the effect "AER of the best of `references` minus AER of the best of
    `candidates`"."""
    accuracies = [
        errors.counts.bootstrap_samples([aligner.counts for aligner in side])
        for side in (candidates, references)
    ]
    n_comparisons = len(candidates) * len(references)
    effect = Effect(
        name,
        "points of AER",
        max_difference_interval(*accuracies).scaled(100),
        FLOOR,
        n_comparisons,
    )
    best_candidate, best_reference = (
        (side[n].name, 1 - accuracy.values[n])
        for side, accuracy in zip((candidates, references), accuracies, strict=True)
        for n in [int(accuracy.values.argmax())]
    )
    reason = (
        f"The lowest error rates: {best_candidate[1]:.1%} for {best_candidate[0]} and "
        f"{best_reference[1]:.1%} for {best_reference[0]}, a difference of "
        f"{format_effect(effect, 1)}."
    )
    return Finding(_table(errors, [*candidates, *references]), effect, reason, errors.n_sentences)


def _table(errors: AlignerErrors, candidates: Sequence[ScoredAligner]) -> pd.DataFrame:
    """Return the best aligner of each layer and method, with simultaneous intervals."""
    accuracy = errors.counts.bootstrap_samples([aligner.counts for aligner in candidates])
    best_indices: dict[tuple[str, int], int] = {}
    for n, aligner in enumerate(candidates):
        for layer in (
            [aligner.layer]
            if aligner.target_row
            else range(len(_counts_by_method(errors)[0][1][0]))
        ):
            key = f"{aligner.score_kind}, {aligner.target_row}".rstrip(", "), layer
            if key not in best_indices or accuracy.values[n] > accuracy.values[best_indices[key]]:
                best_indices[key] = n
    intervals = accuracy[list(best_indices.values())].simultaneous_intervals()
    rows = [
        (method, layer, candidates[n].name, 1 - interval.value, 1 - interval.high, 1 - interval.low)
        for ((method, layer), n), interval in zip(best_indices.items(), intervals, strict=True)
    ]
    return pd.DataFrame(rows, columns=["by", "layer", "aligner", "aer", "low", "high"])


def _diagonal(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    errors = measure_gold(translator, corpus, progress)
    candidates = [
        aligner
        for aligner in [*layer_aligners(errors), *head_aligners(errors)]
        if aligner.score_kind == "weights"
    ]
    baseline = ScoredAligner("the diagonal", "the diagonal", "", 0, errors.counts.diagonal)
    return compare_aligners(
        errors, "AER of the diagonal minus that of the best weights", candidates, [baseline]
    )


def _norms(target_row: str) -> Callable[[Translator, Corpus, Progress], Finding]:
    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        errors = measure_gold(translator, corpus, progress, allow_unaligned=True)
        aligners = [
            aligner for aligner in layer_aligners(errors) if aligner.target_row == target_row
        ]
        candidates, references = (
            [aligner for aligner in aligners if aligner.score_kind == score_kind]
            for score_kind in ("norms", "weights")
        )
        return compare_aligners(
            errors,
            f"AER of the best weights minus that of the best norms, {target_row}",
            candidates,
            references,
        )

    return test


def _low_layers(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    n_layers = translator.model.config.n_layers
    if n_layers < 2:
        raise UntestableError("This model has one layer; this finding compares layers.")
    errors = measure_gold(translator, corpus, progress)
    layers = layer_aligners(errors)
    candidates = [
        aligner
        for aligner in layers
        if aligner.target_row == "input" and aligner.layer < n_layers // 2
    ]
    references = [aligner for aligner in layers if aligner not in candidates]
    name = "AER of the best other layer minus that of the best lower layer at the input"
    return compare_aligners(errors, name, candidates, references)


def _heads(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    errors = measure_gold(translator, corpus, progress)
    heads = head_aligners(errors)
    candidates, references = (
        [aligner for aligner in heads if aligner.target_row == target_row]
        for target_row in ("input", "output")
    )
    name = "AER of the best head at the output minus that of the best head at the input"
    return compare_aligners(errors, name, candidates, references)


_CHART = Chart(
    "layer", "aer", "layer of the decoder", "alignment error rate", by="by", percent=True
)
_METHOD_TEXT = (
    "Each target word is aligned with one source word, by a head or by the sum over the heads of a "
    "layer, and compared with gold links (alignment error rate, AER). The row is that of the "
    "position that predicts the word (“output”) or that has it as its input (“input”). "
)
_RULE = (
    "The 95% interval is simultaneous over all comparisons between the two sides (paired bootstrap "
    "over sentences). The claim holds if the whole interval is above 1 percentage point, and does "
    "not hold for this model if it is below."
)


def _published(
    name: str,
    claim: str,
    source: str,
    effect: str,
    test: Callable[[Translator, Corpus, Progress], Finding],
) -> PublishedFinding:
    return PublishedFinding(
        name, claim, source, f"{_METHOD_TEXT}{effect} {_RULE}", test, 300, _CHART, 0.2
    )


DIAGONAL = _published(
    "alignment-diagonal",
    "Attention weights align words better than word positions alone.",
    "Kobayashi et al. 2020, section 5; Chen et al. 2020, section 3",
    "The effect is the AER of the diagonal minus that of the weights of the best head or layer. "
    "The diagonal links words at the same relative position; it is a strong baseline for "
    "languages with a similar word order.",
    _diagonal,
)
_KOBAYASHI = (
    "The effect is the AER of the weights of the best layer minus that of the norms of the best "
    "layer, both at the {}. As in the authors' program, a word with its greatest score on </s> has "
    "no link."
)
NORMS_INPUT = _published(
    "norms-input",
    "At the input, the norms of the summed vectors, ‖α·f(x)‖, align words better than the weights.",
    "Kobayashi et al. 2020, section 5 (alignment with input)",
    _KOBAYASHI.format("input"),
    _norms("input"),
)
NORMS_OUTPUT = _published(
    "norms-output",
    "At the output, the norms of the summed vectors align words better than the weights.",
    "Kobayashi et al. 2020, section 5 (alignment with output)",
    _KOBAYASHI.format("output"),
    _norms("output"),
)
LOW_LAYERS = _published(
    "input-layers",
    "The sum over a layer's heads aligns words best in low layers, at the input.",
    "Kobayashi et al. 2020, section 5; Chen et al. 2020, section 3",
    "Layers are compared by the sum of weights or norms over their heads; the next finding "
    "compares single heads. The effect is the smallest AER of all other layers and rows minus that "
    "of the best layer of the lower half at the input.",
    _low_layers,
)
INPUT_HEADS = _published(
    "input-heads",
    "The single head that aligns words best aligns the word at the decoder's input.",
    "Chen et al. 2020, section 3",
    "Single heads are compared by weights or norms. The effect is the AER of the best head at the "
    "output minus that of the best head at the input.",
    _heads,
)
