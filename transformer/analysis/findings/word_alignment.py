"""Findings about attention as a word aligner (Kobayashi et al. 2020, arXiv:2004.10102; Chen et al.
2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.analysis.alignment.leaderboard import ALIGNMENT_METHODS, Leaderboard, leaderboard
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress
from transformer.analysis.evidence.bootstrap import max_difference_interval
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import (
    Finding,
    Published,
    Untestable,
    format_effect,
    require_sentences,
)
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.measures.naming import short_name

FLOOR = 1.0
"""Points of the error rate that a difference must exceed."""
FEW_PAIRS = 500
MIN_PAIRS = 100
"""Minimum number of sentence pairs that the statistical aligner learns from. With few pairs it
makes more errors, so a head that beats it then might not do so with more."""


@dataclass(frozen=True, eq=False)
class ScoredAligner:
    """One aligner: its name, where it is drawn, and its counts of correct links."""

    name: str
    by: str
    to: str
    layer: int
    counts: npt.NDArray[np.float64]


def gold_leaderboard(
    translator: Translator, corpus: Corpus, progress: Progress, ends: bool = False
) -> Leaderboard:
    """Return the leaderboard over the corpus's gold links.

    Raises:
        Untestable: if there are too few.
    """
    if not corpus.n_gold:
        raise Untestable(
            "The corpus has no gold links to compare with; choose our own "
            "sentences, a run on the small grammar, or a file with a third column of links."
        )
    require_sentences(corpus.n_gold, "sentences with gold links")
    try:
        board = leaderboard(translator, corpus, progress, ends=ends)
    except ValueError as error:
        raise Untestable(f"{error}.") from error
    require_sentences(board.n_sentences, "sentences with usable gold links")
    return board


def layer_aligners(board: Leaderboard) -> list[ScoredAligner]:
    """Return all heads of each layer together, for every method."""
    return [
        ScoredAligner(f"{by} of layer {n} ({to})", by, to, n, counts[:, n, -1])
        for (by, to), counts in _counts_by_method(board)
        for n in range(counts.shape[1])
    ]


def head_aligners(board: Leaderboard) -> list[ScoredAligner]:
    """Return every single head, for every method."""
    return [
        ScoredAligner(
            f"head {short_name(n, head, exact=True)} by its {by} ({to})",
            by,
            to,
            n,
            counts[:, n, head],
        )
        for (by, to), counts in _counts_by_method(board)
        for n, head in np.ndindex(counts.shape[1], counts.shape[2] - 1)
    ]


def _counts_by_method(board: Leaderboard) -> list[tuple[tuple[str, str], npt.NDArray[np.float64]]]:
    return [((by, to), np.asarray(board.counts.heads[by, to])) for by, to in ALIGNMENT_METHODS]


def _baseline(board: Leaderboard, name: str, title: str) -> ScoredAligner:
    return ScoredAligner(title, title, "", 0, np.asarray(board.counts.baselines[name]))


def compare_aligners(
    board: Leaderboard,
    name: str,
    candidates: Sequence[ScoredAligner],
    references: Sequence[ScoredAligner],
    extra: str = "",
) -> Finding:
    """Return by how many points of AER the best of `candidates` is better than the best of
    `references`."""
    accuracies = [
        board.counts.bootstrap_samples([aligner.counts for aligner in side])
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
    best, reference_best = (
        (side[n].name, 1 - accuracy.values[n])
        for side, accuracy in zip((candidates, references), accuracies, strict=True)
        for n in [int(accuracy.values.argmax())]
    )
    reason = (
        f"The best is {best[0]} with an error rate of {best[1]:.1%}, against "
        f"{reference_best[1]:.1%} of {reference_best[0]}: {format_effect(effect, 1)} fewer "
        f"errors{extra}."
    )
    return Finding(_table(board, [*candidates, *references]), effect, reason, board.n_sentences)


def _table(board: Leaderboard, candidates: Sequence[ScoredAligner]) -> pd.DataFrame:
    """Return the best aligner of each layer and method, with simultaneous intervals."""
    accuracy = board.counts.bootstrap_samples([aligner.counts for aligner in candidates])
    best: dict[tuple[str, int], int] = {}
    for n, aligner in enumerate(candidates):
        for layer in (
            [aligner.layer] if aligner.to else range(len(_counts_by_method(board)[0][1][0]))
        ):
            key = f"{aligner.by}, {aligner.to}".rstrip(", "), layer
            if key not in best or accuracy.values[n] > accuracy.values[best[key]]:
                best[key] = n
    intervals = accuracy[list(best.values())].simultaneous_intervals()
    rows = [
        (by, layer, candidates[n].name, 1 - interval.value, 1 - interval.high, 1 - interval.low)
        for ((by, layer), n), interval in zip(best.items(), intervals, strict=True)
    ]
    return pd.DataFrame(rows, columns=["by", "layer", "aligner", "aer", "low", "high"])


def _diagonal(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    board = gold_leaderboard(translator, corpus, progress)
    candidates = [
        aligner
        for aligner in [*layer_aligners(board), *head_aligners(board)]
        if aligner.by == "weights"
    ]
    baseline = _baseline(board, "diagonal", "the diagonal")
    return compare_aligners(
        board, "errors of the diagonal, less those of the best weights", candidates, [baseline]
    )


def _statistical(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    board = gold_leaderboard(translator, corpus, progress)
    if board.n_training_pairs < MIN_PAIRS:
        raise Untestable(
            f"The statistical aligner would learn from {board.n_training_pairs} sentence pairs "
            f"here and needs at least {MIN_PAIRS}; choose a corpus with more pairs."
        )
    candidates = [
        aligner
        for aligner in [*layer_aligners(board), *head_aligners(board)]
        if aligner.by == "weights"
    ]
    baseline = _baseline(board, "statistical", "the statistical aligner")
    name = "errors of the statistical aligner, less those of the best weights"
    note = f"; it learned from {board.n_training_pairs:,} pairs"
    if board.n_training_pairs < FEW_PAIRS:
        note += ", which are few: from more it would err less"
    return compare_aligners(board, name, candidates, [baseline], note)


def _norms(to: str) -> Callable[[Translator, Corpus, Progress], Finding]:
    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        board = gold_leaderboard(translator, corpus, progress, ends=True)
        aligners = [aligner for aligner in layer_aligners(board) if aligner.to == to]
        candidates, references = (
            [aligner for aligner in aligners if aligner.by == by] for by in ("norms", "weights")
        )
        return compare_aligners(
            board, f"errors of weights, less those of norms, {to}", candidates, references
        )

    return test


def _low_layers(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    n_layers = translator.model.config.n_layers
    if n_layers < 2:
        raise Untestable("This model has one layer, so that there is no lower half of them.")
    board = gold_leaderboard(translator, corpus, progress)
    layers = layer_aligners(board)
    candidates = [
        aligner for aligner in layers if aligner.to == "input" and aligner.layer < n_layers // 2
    ]
    references = [aligner for aligner in layers if aligner not in candidates]
    name = "errors of the best other layer, less those of the best lower one read at the input"
    return compare_aligners(board, name, candidates, references)


def _heads(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    board = gold_leaderboard(translator, corpus, progress)
    heads = head_aligners(board)
    candidates, references = (
        [aligner for aligner in heads if aligner.to == to] for to in ("input", "output")
    )
    name = "errors of the best head read at the output, less those of the best at the input"
    return compare_aligners(board, name, candidates, references)


_CHART = Chart(
    "layer", "aer", "layer of the decoder", "alignment error rate", by="by", percent=True
)
_HOW = (
    "Each target word is aligned with one source word and held against gold links: by a head, or "
    "by all heads of a layer together, from the row that writes the word (“output”) or the next "
    "one, which has just read it (“input”). "
)
_RULE = (
    "The 95% interval holds for all comparisons between the two sides at once (paired bootstrap "
    "over sentences). It holds if the difference is surely above 1 point, and is refuted if it is "
    "surely below."
)


def _published(
    name: str,
    claim: str,
    source: str,
    effect: str,
    test: Callable[[Translator, Corpus, Progress], Finding],
    max_sentences: int = 300,
) -> Published:
    return Published(
        name, claim, source, f"{_HOW}{effect} {_RULE}", test, max_sentences, _CHART, 0.2
    )


DIAGONAL = _published(
    "alignment-diagonal",
    "Attention weights line words up with their translations better than their places alone do.",
    "Kobayashi et al. 2020, section 5; Chen et al. 2020, section 3",
    "The effect is by how much the weights of the best head or layer err less than the diagonal, "
    "which links words by their places and is hard to beat where two languages share their order. "
    "(A word drawn by chance errs far more.)",
    _diagonal,
)
STATISTICAL = _published(
    "alignment-statistical",
    "Attention weights line words up better than a statistical aligner.",
    "after Chen et al. 2020, where a module that is trained on such weights beats GIZA++",
    "The effect is by how much the weights of the best head or layer err less than IBM model 1 "
    "with the diagonal prior of Dyer et al. 2013, learned from the same sentences without their "
    f"links; from {MIN_PAIRS} pairs on, and from others of our grammar where the sentences are "
    "its. With few pairs it errs more.",
    _statistical,
    max_sentences=1000,
)
_KOBAYASHI = (
    "The effect is by how much the norms of the best layer err less than the weights of the best "
    "layer, both read at the {}. As in the authors' program a word that looks at </s> most has no "
    "link."
)
NORMS_INPUT = _published(
    "norms-input",
    "Read at the input, the norms of what is moved, ‖α·f(x)‖, align words better than the weights.",
    "Kobayashi et al. 2020, section 5 (alignment with input)",
    _KOBAYASHI.format("input"),
    _norms("input"),
)
NORMS_OUTPUT = _published(
    "norms-output",
    "Read at the output, the norms of what is moved align words better than the weights.",
    "Kobayashi et al. 2020, section 5 (alignment with output)",
    _KOBAYASHI.format("output"),
    _norms("output"),
)
LOW_LAYERS = _published(
    "input-layers",
    "All heads of a layer together align words best in low layers, read at the input.",
    "Kobayashi et al. 2020, section 5; Chen et al. 2020, section 3",
    "Heads are taken together, by weights or norms: one head of a layer that aligns well may be "
    "drowned by its neighbours (the next finding takes them alone). The effect is by how much the "
    "best of the lower half of the layers, read at the input, errs less than the best of all "
    "other layers and readings.",
    _low_layers,
)
INPUT_HEADS = _published(
    "input-heads",
    "The single head that aligns words best does so where the decoder has just read the word.",
    "Chen et al. 2020, section 3",
    "Heads are taken alone, by weights or norms, as the leaderboard of the Heads lab does. The "
    "effect is by how much the best head read at the input errs less than the best head read at "
    "the output.",
    _heads,
)
