"""Every head measured over a corpus, by all of `measures.MEASURES`.

A measure is a mean over the rows of attention, each row of the corpus counting the same. One
sentence alone gives the numbers of `measures.measure_heads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import (
    NumberedBatch,
    Pair,
    Progress,
    encoded,
    part,
    silent,
    watch,
)
from transformer.analysis.roles.corpus_tokens import WITHIN, Tokens, best_offset
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS
from transformer.measures import MEASURES, OffsetShare
from transformer.measures.rows import Rows, RowWeights

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StrongestKeys:
    """Where every row of the corpus has its greatest weight, one sentence after the other.

    Attributes:
        best: the key's place, (layers, heads, all rows of the corpus).
        query: the row's own place in its sentence.
        n_query, n_key: the size of its sentence.
        sentence: its sentence's number.
    """

    best: npt.NDArray[np.int16]
    query: npt.NDArray[np.int64]
    n_query: npt.NDArray[np.int64]
    n_key: npt.NDArray[np.int64]
    sentence: npt.NDArray[np.int64]

    def offsets(self, layer: int, head: int, far: int | None = None) -> pd.Series:
        """How many rows have their greatest weight at each offset j - i, 0 being the row's own
        place. Rows farther off than `far` are counted there."""
        found = self._offsets(self.best[layer, head], False)
        if far is not None:
            found = found.clip(-far, far)
        return pd.Series(found).value_counts().sort_index().rename("rows")

    def constant(
        self, layer: int, head: int, *, backwards: bool = False
    ) -> tuple[int, float, float]:
        """The most common offset, the share of rows there, and the share that can reach it; with
        `backwards` j is counted from the other end, so that 0 is n - 1 - i.

        A row that cannot reach the offset does not count, as in `measures.positional`; of equally
        common offsets the nearest to 0, then the smaller.
        """
        found = self._offsets(self.best[layer, head], backwards)
        values, counts = np.unique(found, return_counts=True)
        first = np.lexsort((values, np.abs(values), -counts))[0]
        offset, reach = int(values[first]), self._reach(int(values[first]))
        return offset, float(counts[first] / reach.sum()), float(reach.mean())

    def by_sentence(
        self, layer: int, head: int, offset: int, n: int, *, backwards: bool = False
    ) -> tuple[Numbers, Numbers]:
        """The share of rows at `offset`, and how many can reach it, for each of `n` sentences."""
        reach = self._reach(offset)
        hit = self._offsets(self.best[layer, head], backwards) == offset
        rows = np.bincount(self.sentence, weights=reach, minlength=n)
        hits = np.bincount(self.sentence, weights=hit, minlength=n)
        return hits / np.maximum(rows, 1), rows.astype(np.float64)

    def _offsets(self, best: npt.NDArray[np.int16], backwards: bool) -> npt.NDArray[np.int64]:
        place = self.n_key - 1 - best if backwards else best.astype(np.int64)
        return place - self.query

    def _reach(self, offset: int) -> npt.NDArray[np.bool_]:
        reached: npt.NDArray[np.bool_] = (self.query + offset >= 0) & (
            self.query + offset < self.n_key
        )
        return reached


AT_OFFSET = [one for one in MEASURES.values() if isinstance(one, OffsetShare)]
OFFSETS = tuple(name for one in AT_OFFSET for name in (one.offset, one.name))
BY_ROWS = [one for one in MEASURES.values() if not isinstance(one, OffsetShare)]


@dataclass(frozen=True)
class HeadMeasures:
    """What every head of a model does over a corpus.

    Attributes:
        pairs: the sentences as ids, in the order of the corpus.
        values: by kind and measure the mean over each sentence's rows, (layers, heads, sentences);
            NaN where a sentence has no row that counts.
        rows: by kind and measure how many rows of each sentence count.
        chance: by kind and measure what a head would get that looks everywhere alike.
        best_offsets: by measure of `WITHIN` the offset that finds what the encoder's rows look for
            most often, and how often it does; none for a measure without a row.
        strongest_keys: by kind where the rows have their greatest weight.
    """

    corpus: Corpus
    pairs: tuple[Pair, ...]
    values: Mapping[str, Mapping[str, Float[np.ndarray, "layers heads sentences"]]]
    rows: Mapping[str, Mapping[str, Float[np.ndarray, "sentences"]]]
    chance: Mapping[str, Mapping[str, float]]
    best_offsets: Mapping[str, tuple[int, float]]
    strongest_keys: Mapping[str, StrongestKeys]

    def table(self) -> pd.DataFrame:
        """A line a head: "kind", "layer", "head", then its measures over the whole corpus, and for
        those of `OFFSETS` the offsets; NaN where one has no meaning or no row."""
        lines = []
        for kind, places in self.strongest_keys.items():
            means = {name: self._mean(kind, name) for name in self.values[kind]}
            n_layers, n_heads, _ = places.best.shape
            for layer in range(n_layers):
                for head in range(n_heads):
                    line: dict[str, object] = {"kind": kind, "layer": layer, "head": head}
                    line |= {name: float(mean[layer, head]) for name, mean in means.items()}
                    for one in (one for one in AT_OFFSET if kind in one.kinds):
                        found = places.constant(layer, head, backwards=one.backwards)
                        line[one.offset], line[one.name], _ = found
                    lines.append(line)
        names = [one.name for one in BY_ROWS]
        return pd.DataFrame(lines, columns=["kind", "layer", "head", *names, *OFFSETS])

    def sentence_values(self, kind: str, layer: int, head: int, measure: str) -> Numbers:
        """One head's measure on every sentence; of an `OffsetShare` the share of rows at the head's
        most common offset over the corpus. NaN where no row counts."""
        one = MEASURES[measure]
        if not isinstance(one, OffsetShare):
            return np.asarray(self.values[kind][measure][layer, head].astype(np.float64))
        places, turned = self.strongest_keys[kind], one.backwards
        offset, _, _ = places.constant(layer, head, backwards=turned)
        shares, rows = places.by_sentence(layer, head, offset, len(self.corpus), backwards=turned)
        return np.where(rows > 0, shares, np.nan)

    def strongest(
        self, kind: str, layer: int, head: int, measure: str, n: int = 10
    ) -> list[tuple[int, float]]:
        """The sentences (numbers from 0) where the measure is greatest, with its value there. Of
        equal ones the longer sentence comes first: fewer rows agree more easily."""
        found = self.sentence_values(kind, layer, head, measure)
        lengths = np.array([len(pair.src) + len(pair.out) for pair in self.pairs])
        order = np.lexsort((-lengths, -np.round(found, 4)))  # NaN sorts last
        return [(int(at), float(found[at])) for at in order[:n] if not np.isnan(found[at])]

    def _mean(self, kind: str, measure: str) -> Numbers:
        """Over all rows of the corpus, (layers, heads)."""
        rows = self.rows[kind][measure]
        total = np.nansum(self.values[kind][measure].astype(np.float64) * rows, axis=-1)
        return total / rows.sum() if rows.any() else np.full_like(total, np.nan)


def measure_heads(
    translator: Translator, corpus: Corpus, progress: Progress = silent
) -> HeadMeasures:
    """All measures of all heads of all three kinds, in one pass over the corpus.

    Targets that the corpus does not give are the model's own greedy translations. Raises ValueError
    for a sentence that is too long.
    """
    n_missing = sum(not sentence.target for sentence in corpus.sentences)
    share = 0.6 * n_missing / len(corpus)  # of the time, roughly
    pairs = encoded(translator, corpus, part(progress, 0, share))
    tokens = Tokens.of(translator.vocabulary, corpus, pairs)
    made = _Collected(translator, pairs)

    def hooks(batch: NumberedBatch) -> Hooks:
        functions = {}
        for kind, site in WEIGHTS.items():
            rows = tokens.rows(kind, batch)
            made.begin(rows, batch.numbers)
            for layer in range(translator.model.config.n_layers):
                functions[site.format(layer)] = made.keep(rows, layer, batch.numbers)
        return Hooks(functions)

    watch(translator, pairs, hooks, part(progress, share, 1 - share))
    return made.finished(corpus, tokens)


class _Collected:
    """The numbers of a pass, put where they belong while it goes on."""

    def __init__(self, translator: Translator, pairs: list[Pair]) -> None:
        config = translator.model.config
        self.pairs = pairs
        self.heads = (config.n_layers, config.n_heads)
        self.values: dict[str, dict[str, Numbers]] = {}
        self.rows: dict[str, dict[str, Numbers]] = {}
        self.even: dict[str, dict[str, Numbers]] = {}
        self.keys: dict[str, StrongestKeys] = {}
        self.measures = {kind: [one for one in BY_ROWS if kind in one.kinds] for kind in WEIGHTS}
        self.starts: dict[str, npt.NDArray[np.int64]] = {}
        src, out = (
            np.array([len(side) for side in sides])
            for sides in zip(*((p.src, p.out) for p in pairs), strict=True)
        )
        for kind in WEIGHTS:
            n_query, n_key = (
                (src if kind == "encoder" else out),
                (out if kind == "decoder" else src),
            )
            self.values[kind], self.rows[kind], self.even[kind] = {}, {}, {}
            self.starts[kind] = np.cumsum(n_query) - n_query
            sentence = np.repeat(np.arange(len(pairs)), n_query)
            self.keys[kind] = StrongestKeys(
                np.zeros((*self.heads, int(n_query.sum())), dtype=np.int16),
                np.arange(len(sentence)) - self.starts[kind][sentence],
                n_query[sentence],
                n_key[sentence],
                sentence,
            )

    def begin(self, rows: Rows, numbers: list[int]) -> None:
        """Note which rows of a batch count, and what an even head gets there."""
        kind, n, even = rows.kind, len(self.pairs), rows.uniform()
        for one in self.measures[kind]:
            if one.name not in self.rows[kind]:
                self.rows[kind][one.name], self.even[kind][one.name] = np.zeros(n), np.zeros(n)
                self.values[kind][one.name] = np.full((*self.heads, n), np.nan)
            self.rows[kind][one.name][numbers] = one.applicable_rows(rows).sum(axis=-1)
            self.even[kind][one.name][numbers] = np.nan_to_num(one.means(even)[:, 0])

    def keep(self, rows: Rows, layer: int, numbers: list[int]) -> Callable[[Tensor, str], None]:
        """The hook of one layer in one batch."""
        kind = rows.kind

        def look(weights: Tensor, name: str) -> None:
            attention = RowWeights(rows, weights.float().cpu().numpy())
            for one in self.measures[kind]:
                self.values[kind][one.name][layer][:, numbers] = one.means(attention).T
            best = weights.argmax(-1).cpu().numpy()
            for row, number in enumerate(numbers):
                start, count = self.starts[kind][number], int(rows.n_query[row])
                self.keys[kind].best[layer, :, start : start + count] = best[row, :, :count]

        return look

    def finished(self, corpus: Corpus, tokens: Tokens) -> HeadMeasures:
        chance = {
            kind: {
                name: float((even * rows[name]).sum() / rows[name].sum())
                if rows[name].any()
                else float("nan")
                for name, even in self.even[kind].items()
            }
            for kind, rows in self.rows.items()
        }
        found = {name: best_offset(tokens.within, name) for name in WITHIN}
        offsets = {name: (offset, share) for name, (offset, share, rows) in found.items() if rows}
        return HeadMeasures(
            corpus, tuple(self.pairs), self.values, self.rows, chance, offsets, self.keys
        )
