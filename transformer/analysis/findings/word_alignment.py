"""Attention as a word aligner (Kobayashi et al. 2020, arXiv:2004.10102; Chen et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.analysis.alignment.leaderboard import WAYS, Leaderboard, leaderboard
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress
from transformer.analysis.evidence.bootstrap import lead
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import Finding, Published, Untestable, enough, size
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.measures.naming import short_name

FLOOR = 1.0
"""Points of the error rate that a difference must exceed."""
FEW_TAUGHT = 500
MIN_TAUGHT = 100
"""Pairs of sentences that the statistical aligner must at least learn from. With few it errs more,
so a head that beats it on few pairs might not on more."""


@dataclass(frozen=True, eq=False)
class ScoredAligner:
    """One way to align: what it is called, where it is drawn, and what it found."""

    name: str
    by: str
    to: str
    layer: int
    counts: npt.NDArray[np.float64]


def measured(
    translator: Translator, corpus: Corpus, progress: Progress, ends: bool = False
) -> Leaderboard:
    """The leaderboard over the corpus's gold links. Raises `Untestable` if there are too few."""
    if not corpus.n_gold:
        raise Untestable(
            "The corpus has no gold links to hold alignment against; choose our own "
            "sentences, a run on the small grammar, or a file with a third column of links."
        )
    enough(corpus.n_gold, "sentences with gold links")
    try:
        board = leaderboard(translator, corpus, progress, ends=ends)
    except ValueError as error:
        raise Untestable(f"{error}.") from error
    enough(board.n_sentences, "sentences with usable gold links")
    return board


def layers_of(board: Leaderboard) -> list[ScoredAligner]:
    """All heads of a layer together, in every way."""
    return [
        ScoredAligner(f"{by} of layer {n} ({to})", by, to, n, counts[:, n, -1])
        for (by, to), counts in _ways(board)
        for n in range(counts.shape[1])
    ]


def heads_of(board: Leaderboard) -> list[ScoredAligner]:
    """Every single head, in every way."""
    return [
        ScoredAligner(
            f"head {short_name(n, head, exact=True)} by its {by} ({to})",
            by,
            to,
            n,
            counts[:, n, head],
        )
        for (by, to), counts in _ways(board)
        for n, head in np.ndindex(counts.shape[1], counts.shape[2] - 1)
    ]


def _ways(board: Leaderboard) -> list[tuple[tuple[str, str], npt.NDArray[np.float64]]]:
    return [((by, to), np.asarray(board.counts.heads[by, to])) for by, to in WAYS]


def _rival(board: Leaderboard, name: str, called: str) -> ScoredAligner:
    return ScoredAligner(called, called, "", 0, np.asarray(board.counts.rivals[name]))


def judged(
    board: Leaderboard,
    name: str,
    ours: Sequence[ScoredAligner],
    theirs: Sequence[ScoredAligner],
    extra: str = "",
) -> Finding:
    """By how many points the best of ours has fewer errors than the best of theirs."""
    rights = [board.counts.drawn([one.counts for one in side]) for side in (ours, theirs)]
    at_once = len(ours) * len(theirs)
    effect = Effect(name, "points of AER", lead(*rights).times(100), FLOOR, at_once)
    best, other = (
        (side[n].name, 1 - right.values[n])
        for side, right in zip((ours, theirs), rights, strict=True)
        for n in [int(right.values.argmax())]
    )
    reason = (
        f"The best is {best[0]} with an error rate of {best[1]:.1%}, against {other[1]:.1%} of "
        f"{other[0]}: {size(effect, 1)} fewer errors{extra}."
    )
    return Finding(_table(board, [*ours, *theirs]), effect, reason, board.n_sentences)


def _table(board: Leaderboard, candidates: Sequence[ScoredAligner]) -> pd.DataFrame:
    """The best of each layer and way, with intervals that hold for all of them at once."""
    right = board.counts.drawn([one.counts for one in candidates])
    best: dict[tuple[str, int], int] = {}
    for n, one in enumerate(candidates):
        for layer in [one.layer] if one.to else range(len(_ways(board)[0][1][0])):
            key = f"{one.by}, {one.to}".rstrip(", "), layer
            if key not in best or right.values[n] > right.values[best[key]]:
                best[key] = n
    intervals = right[list(best.values())].together()
    rows = [
        (by, layer, candidates[n].name, 1 - one.value, 1 - one.high, 1 - one.low)
        for ((by, layer), n), one in zip(best.items(), intervals, strict=True)
    ]
    return pd.DataFrame(rows, columns=["by", "layer", "aligner", "aer", "low", "high"])


def _diagonal(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    board = measured(translator, corpus, progress)
    ours = [one for one in [*layers_of(board), *heads_of(board)] if one.by == "weights"]
    rival = _rival(board, "diagonal", "the diagonal")
    return judged(board, "errors of the diagonal, less those of the best weights", ours, [rival])


def _statistical(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    board = measured(translator, corpus, progress)
    if board.n_taught < MIN_TAUGHT:
        raise Untestable(
            f"A statistical aligner would learn from {board.n_taught} pairs of sentences here and "
            f"needs {MIN_TAUGHT} to be a rival; bring a corpus with more pairs."
        )
    ours = [one for one in [*layers_of(board), *heads_of(board)] if one.by == "weights"]
    rival = _rival(board, "statistical", "the statistical aligner")
    name = "errors of the statistical aligner, less those of the best weights"
    taught = f"; it learned from {board.n_taught:,} pairs"
    if board.n_taught < FEW_TAUGHT:
        taught += ", which are few: from more it would err less"
    return judged(board, name, ours, [rival], taught)


def _norms(to: str) -> Callable[[Translator, Corpus, Progress], Finding]:
    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        board = measured(translator, corpus, progress, ends=True)
        read = [one for one in layers_of(board) if one.to == to]
        ours, theirs = ([one for one in read if one.by == by] for by in ("norms", "weights"))
        return judged(board, f"errors of weights, less those of norms, {to}", ours, theirs)

    return test


def _low_layers(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    n_layers = translator.model.config.n_layers
    if n_layers < 2:
        raise Untestable("This model has one layer, so that there is no lower half of them.")
    board = measured(translator, corpus, progress)
    every = layers_of(board)
    ours = [one for one in every if one.to == "input" and one.layer < n_layers // 2]
    theirs = [one for one in every if one not in ours]
    name = "errors of the best other layer, less those of the best lower one read at the input"
    return judged(board, name, ours, theirs)


def _heads(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    board = measured(translator, corpus, progress)
    every = heads_of(board)
    ours, theirs = ([one for one in every if one.to == to] for to in ("input", "output"))
    name = "errors of the best head read at the output, less those of the best at the input"
    return judged(board, name, ours, theirs)


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
    most: int = 300,
) -> Published:
    return Published(name, claim, source, f"{_HOW}{effect} {_RULE}", test, most, _CHART, 0.2)


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
    f"links; from {MIN_TAUGHT} pairs on, and from others of our grammar where the sentences are "
    "its. With few pairs it errs more.",
    _statistical,
    most=1000,
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
