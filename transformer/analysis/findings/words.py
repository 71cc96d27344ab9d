"""Attention as a word aligner (Kobayashi et al. 2020, arXiv:2004.10102; Chen et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.analysis.aligners import WAYS, leaderboard
from transformer.analysis.bootstrap import Interval, draws, interval
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import (
    Finding,
    Published,
    Untestable,
    apart,
    enough,
    verdict,
)
from transformer.analysis.hits import Hits
from transformer.analysis.passes import Progress
from transformer.figures.measured import Chart
from transformer.inference import Translator

Layer = tuple[str, str, int]  # weights or norms, output or input, number


class _Layers:
    """All heads of a layer together: chosen on the even sentences, judged on the odd ones."""

    def __init__(self, translator: Translator, corpus: Corpus, progress: Progress) -> None:
        if not corpus.n_gold:
            raise Untestable(
                "The corpus has no gold links to hold alignment against; choose our own "
                "sentences, a run on the small grammar, or a file with a third column of links."
            )
        given = Corpus(corpus.name, tuple(s for s in corpus.sentences if s.gold is not None))
        enough(len(given) // 2, "sentences with gold links in each half")
        try:
            board = leaderboard(translator, given, progress)
        except ValueError as error:
            raise Untestable(f"{error}.") from error
        enough(board.n_sentences // 2, "sentences with usable gold links in each half")
        self.hits: Hits = board.hits
        self.n_sentences, self.n_layers = board.n_sentences, translator.model.config.n_layers
        odd = np.arange(self.n_sentences) % 2 == 1
        self.first = (~odd).astype(np.float64)[None]
        self.second = odd.astype(np.float64)[None]
        self.drawn = np.zeros((1000, self.n_sentences))
        self.drawn[:, odd] = draws(int(odd.sum()))

    def counts(self, layer: Layer) -> npt.NDArray[np.float64]:
        by, to, number = layer
        return np.asarray(self.hits.heads[by, to][:, number, -1])

    def best(self, wanted: Callable[[Layer], bool]) -> Layer:
        """The one with the lowest error over the even sentences."""
        some = [(by, to, n) for by, to in WAYS for n in range(self.n_layers) if wanted((by, to, n))]
        return min(some, key=lambda layer: self._error(self.counts(layer), self.first))

    def gap(
        self, worse: npt.NDArray[np.float64], better: npt.NDArray[np.float64]
    ) -> tuple[float, float, Interval]:
        """The errors over the odd sentences, and how much the first is greater."""
        errors = [self._error(counts, self.second) for counts in (worse, better)]
        drawn = self.hits.errors(worse, self.drawn) - self.hits.errors(better, self.drawn)
        return errors[0], errors[1], interval(errors[0] - errors[1], drawn)

    def table(self, ways: Iterable[tuple[str, str]]) -> pd.DataFrame:
        """Every layer's error over the odd sentences, and that of chance."""
        rows = []
        for by, to in ways:
            for number in range(self.n_layers):
                rows.append((f"{by}, {to}", number, *self._told(self.counts((by, to, number)))))
        for number in range(self.n_layers):
            rows.append(("chance", number, *self._told(self.hits.chance)))
        return pd.DataFrame(rows, columns=["by", "layer", "aer", "low", "high"])

    def _told(self, counts: npt.NDArray[np.float64]) -> tuple[float, float, float]:
        found = interval(self._error(counts, self.second), self.hits.errors(counts, self.drawn))
        return found.value, found.low, found.high

    def _error(self, counts: npt.NDArray[np.float64], which: npt.NDArray[np.float64]) -> float:
        return float(self.hits.errors(counts, which)[0])


def _chance(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    layers = _Layers(translator, corpus, progress)
    chosen = layers.best(lambda layer: layer[0] == "weights")
    chance, own, gap = layers.gap(layers.hits.chance, layers.counts(chosen))
    reason = (
        f"The {_name(chosen)} have an error rate of {own:.1%}, a source word drawn by chance "
        f"{chance:.1%}: {_points(gap)}."
    )
    table = layers.table(way for way in WAYS if way[0] == "weights")
    return Finding(table, verdict(gap.low > 0), reason, layers.n_sentences)


def _norms(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    layers = _Layers(translator, corpus, progress)
    weights = layers.best(lambda layer: layer[0] == "weights")
    norms = layers.best(lambda layer: layer[0] == "norms")
    before, after, gap = layers.gap(layers.counts(weights), layers.counts(norms))
    reason = (
        f"The {_name(norms)} have an error rate of {after:.1%}, the {_name(weights)} "
        f"{before:.1%}: {_points(gap)}."
    )
    return Finding(layers.table(WAYS), verdict(gap.low > 0), reason, layers.n_sentences)


def _input(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    if translator.model.config.n_layers < 2:
        raise Untestable("This model has one layer, so that there is no lower half of them.")
    layers = _Layers(translator, corpus, progress)

    def low_input(layer: Layer) -> bool:
        return layer[1] == "input" and layer[2] < layers.n_layers // 2

    best = layers.best(low_input)
    other = layers.best(lambda layer: not low_input(layer))
    before, after, gap = layers.gap(layers.counts(other), layers.counts(best))
    reason = (
        f"The best below the middle, to the input, the {_name(best)}, have an error rate of "
        f"{after:.1%}; the best of all others, the {_name(other)}, {before:.1%}: {_points(gap)}."
    )
    return Finding(layers.table(WAYS), verdict(gap.low > 0), reason, layers.n_sentences)


def _name(layer: Layer) -> str:
    by, to, number = layer
    return f"{by} of layer {number} ({to})"


def _points(gap: Interval) -> str:
    return f"a difference of {apart(gap, 1, 100, ' points')}"


def _chart() -> Chart:
    return Chart(
        "layer", "aer", "layer of the decoder", "alignment error rate", by="by", percent=True
    )


_HOW = (
    "All heads of an encoder–decoder layer together align each target word with one source word, "
    "held against gold links; even sentences choose the layer and the row that is read (the one "
    "that writes the word, “output”, or that has just read it, “input”), odd ones judge. "
)
CHANCE = Published(
    "alignment-chance",
    "Attention weights line words up with their translations better than chance.",
    "Kobayashi et al. 2020, section 5; Chen et al. 2020, section 3",
    _HOW + "It holds if the error rate of the chosen weights is below that of a source word drawn "
    "by chance, the 95% interval of the difference (paired bootstrap over sentences) above 0.",
    _chance,
    most=300,
    chart=_chart(),
    minutes=0.2,
)
NORMS = Published(
    "alignment-norms",
    "The norms of what is moved, ‖α·f(x)‖, align words better than the weights.",
    "Kobayashi et al. 2020, section 5",
    _HOW + "It holds if the chosen norms have a lower error rate than the chosen weights, the 95% "
    "interval of the difference (paired bootstrap over sentences) above 0.",
    _norms,
    most=300,
    chart=_chart(),
    minutes=0.2,
)
INPUT = Published(
    "alignment-input",
    "Words are aligned best in low layers, when the decoder has just read the word.",
    "Kobayashi et al. 2020, section 5; Chen et al. 2020, section 3",
    _HOW + "It holds if the best of the lower half of the layers read at the input, by weights or "
    "norms, has a lower error rate than the best of all others, the 95% interval of the "
    "difference (paired bootstrap over sentences) above 0.",
    _input,
    most=300,
    chart=_chart(),
    minutes=0.2,
)
