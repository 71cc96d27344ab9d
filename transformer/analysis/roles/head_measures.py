"""Every head measured over a corpus, by all of `measures.MEASURES`.

A measure is a mean over the rows of attention, with the same weight for each row of the corpus. For
a single sentence the numbers equal those of `measures.measure_heads`.
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
    encode_corpus,
    no_progress,
    run_with_hooks,
    scaled_progress,
)
from transformer.analysis.roles.corpus_tokens import SOURCE_RELATIONS, CorpusTokens, best_offset
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS
from transformer.measures import MEASURES, OffsetShare
from transformer.measures.kinds import AttentionKind
from transformer.measures.rows import Rows, RowWeights

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StrongestKeys:
    """The key with the largest weight of every row of the corpus, sentence by sentence.

    Attributes:
        best: position of the key, (layers, heads, all rows of the corpus).
        query: the row's own position in its sentence.
        n_query, n_key: the size of its sentence.
        sentence: the number of its sentence.
    """

    best: npt.NDArray[np.int16]
    query: npt.NDArray[np.int64]
    n_query: npt.NDArray[np.int64]
    n_key: npt.NDArray[np.int64]
    sentence: npt.NDArray[np.int64]

    def offsets(self, layer: int, head: int, limit: int | None = None) -> pd.Series:
        """Count the rows with their largest weight at each offset j - i, where 0 is the row's own
        position.

        Offsets beyond `limit` are counted at `limit`.
        """
        offsets = self._offsets(self.best[layer, head], False)
        if limit is not None:
            offsets = offsets.clip(-limit, limit)
        return pd.Series(offsets).value_counts().sort_index().rename("rows")

    def constant(
        self, layer: int, head: int, *, backwards: bool = False
    ) -> tuple[int, float, float]:
        """Return the most common offset, the share of rows there, and the share that can reach it.

        With `backwards` j is counted from the other end, so that 0 is n - 1 - i. A row that cannot
        reach the offset does not count, as in `measures.positional`; ties go to the offset nearest
        to 0, then to the smaller one.
        """
        offsets = self._offsets(self.best[layer, head], backwards)
        values, counts = np.unique(offsets, return_counts=True)
        first = np.lexsort((values, np.abs(values), -counts))[0]
        offset, can_reach = int(values[first]), self._can_reach(int(values[first]))
        return offset, float(counts[first] / can_reach.sum()), float(can_reach.mean())

    def by_sentence(
        self, layer: int, head: int, offset: int, n: int, *, backwards: bool = False
    ) -> tuple[Numbers, Numbers]:
        """Return the share of rows at `offset`, and how many can reach it, for each of `n`
        sentences."""
        can_reach = self._can_reach(offset)
        hit = self._offsets(self.best[layer, head], backwards) == offset
        rows = np.bincount(self.sentence, weights=can_reach, minlength=n)
        hits = np.bincount(self.sentence, weights=hit, minlength=n)
        return hits / np.maximum(rows, 1), rows.astype(np.float64)

    def _offsets(self, best: npt.NDArray[np.int16], backwards: bool) -> npt.NDArray[np.int64]:
        position = self.n_key - 1 - best if backwards else best.astype(np.int64)
        return position - self.query

    def _can_reach(self, offset: int) -> npt.NDArray[np.bool_]:
        reached: npt.NDArray[np.bool_] = (self.query + offset >= 0) & (
            self.query + offset < self.n_key
        )
        return reached


OFFSET_MEASURES = [measure for measure in MEASURES.values() if isinstance(measure, OffsetShare)]
OFFSET_COLUMNS = tuple(
    name for measure in OFFSET_MEASURES for name in (measure.offset, measure.name)
)
ROW_MEASURES = [measure for measure in MEASURES.values() if not isinstance(measure, OffsetShare)]


@dataclass(frozen=True)
class HeadMeasures:
    """The measures of every head of a model over a corpus.

    Attributes:
        pairs: the sentences as ids, in the order of the corpus.
        values: by kind and measure the mean over each sentence's rows, (layers, heads, sentences);
            NaN where a sentence has no applicable row.
        rows: by kind and measure the number of applicable rows of each sentence.
        chance: by kind and measure the value of a head with uniform weights.
        best_offsets: by measure of `SOURCE_RELATIONS` the offset with most hits in the encoder, and
            its share of hits; missing for a measure without a row.
        strongest_keys: by kind the keys with the largest weights.
    """

    corpus: Corpus
    pairs: tuple[Pair, ...]
    values: Mapping[AttentionKind, Mapping[str, Float[np.ndarray, "layers heads sentences"]]]
    rows: Mapping[AttentionKind, Mapping[str, Float[np.ndarray, "sentences"]]]
    chance: Mapping[AttentionKind, Mapping[str, float]]
    best_offsets: Mapping[str, tuple[int, float]]
    strongest_keys: Mapping[AttentionKind, StrongestKeys]

    def table(self) -> pd.DataFrame:
        """Return a row for each head.

        Columns: "kind", "layer", "head", then its measures over the whole corpus, and
        `OFFSET_COLUMNS`; NaN where a measure does not apply or has no row.
        """
        lines = []
        for kind, strongest in self.strongest_keys.items():
            means = {name: self._mean(kind, name) for name in self.values[kind]}
            n_layers, n_heads, _ = strongest.best.shape
            for layer in range(n_layers):
                for head in range(n_heads):
                    line: dict[str, object] = {"kind": kind, "layer": layer, "head": head}
                    line |= {name: float(mean[layer, head]) for name, mean in means.items()}
                    for measure in (
                        measure for measure in OFFSET_MEASURES if kind in measure.kinds
                    ):
                        constant = strongest.constant(layer, head, backwards=measure.backwards)
                        line[measure.offset], line[measure.name], _ = constant
                    lines.append(line)
        names = [measure.name for measure in ROW_MEASURES]
        return pd.DataFrame(lines, columns=["kind", "layer", "head", *names, *OFFSET_COLUMNS])

    def sentence_values(self, kind: AttentionKind, layer: int, head: int, measure: str) -> Numbers:
        """Return one head's measure on every sentence; NaN without an applicable row.

        For an `OffsetShare` it is the share of rows at the head's most common offset over the
        corpus.
        """
        definition = MEASURES[measure]
        if not isinstance(definition, OffsetShare):
            return np.asarray(self.values[kind][measure][layer, head].astype(np.float64))
        strongest, backwards = self.strongest_keys[kind], definition.backwards
        offset, _, _ = strongest.constant(layer, head, backwards=backwards)
        shares, rows = strongest.by_sentence(
            layer, head, offset, len(self.corpus), backwards=backwards
        )
        return np.where(rows > 0, shares, np.nan)

    def strongest(
        self, kind: AttentionKind, layer: int, head: int, measure: str, n: int = 10
    ) -> list[tuple[int, float]]:
        """Return the sentences (numbers from 0) with the largest values of the measure, and the
        values.

        Of equal values the longer sentence comes first, because a few rows reach a high value more
        easily.
        """
        values = self.sentence_values(kind, layer, head, measure)
        lengths = np.array([len(pair.src) + len(pair.out) for pair in self.pairs])
        order = np.lexsort((-lengths, -np.round(values, 4)))  # NaN sorts last
        return [
            (int(number), float(values[number]))
            for number in order[:n]
            if not np.isnan(values[number])
        ]

    def _mean(self, kind: AttentionKind, measure: str) -> Numbers:
        """Return the mean over all rows of the corpus, (layers, heads)."""
        rows = self.rows[kind][measure]
        total = np.nansum(self.values[kind][measure].astype(np.float64) * rows, axis=-1)
        return total / rows.sum() if rows.any() else np.full_like(total, np.nan)


def measure_heads(
    translator: Translator, corpus: Corpus, progress: Progress = no_progress
) -> HeadMeasures:
    """Compute all measures of all heads of all three kinds, in one pass over the corpus.

    Missing targets are replaced by the model's greedy translations. Raises ValueError for a
    sentence that is too long.
    """
    n_missing = sum(not sentence.target for sentence in corpus.sentences)
    share = 0.6 * n_missing / len(corpus)  # approximate share of the time
    pairs = encode_corpus(translator, corpus, scaled_progress(progress, 0, share))
    tokens = CorpusTokens.from_pairs(translator.vocabulary, corpus, pairs)
    collector = _Collector(translator, pairs)

    def hooks(batch: NumberedBatch) -> Hooks:
        functions = {}
        for kind, site in WEIGHTS.items():
            rows = tokens.rows(kind, batch)
            collector.begin(rows, batch.numbers)
            for layer in range(translator.model.config.n_layers):
                functions[site.format(layer)] = collector.keep(rows, layer, batch.numbers)
        return Hooks(functions)

    run_with_hooks(translator, pairs, hooks, scaled_progress(progress, share, 1 - share))
    return collector.result(corpus, tokens)


class _Collector:
    """Collects the measures of all batches of a pass."""

    def __init__(self, translator: Translator, pairs: list[Pair]) -> None:
        config = translator.model.config
        self.pairs = pairs
        self.heads = (config.n_layers, config.n_heads)
        self.values: dict[AttentionKind, dict[str, Numbers]] = {}
        self.rows: dict[AttentionKind, dict[str, Numbers]] = {}
        self.uniform: dict[AttentionKind, dict[str, Numbers]] = {}
        self.keys: dict[AttentionKind, StrongestKeys] = {}
        self.measures = {
            kind: [measure for measure in ROW_MEASURES if kind in measure.kinds] for kind in WEIGHTS
        }
        self.starts: dict[AttentionKind, npt.NDArray[np.int64]] = {}
        src, out = (
            np.array([len(side) for side in sides])
            for sides in zip(*((p.src, p.out) for p in pairs), strict=True)
        )
        for kind in WEIGHTS:
            n_query, n_key = (
                (src if kind == "encoder" else out),
                (out if kind == "decoder" else src),
            )
            self.values[kind], self.rows[kind], self.uniform[kind] = {}, {}, {}
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
        """Record which rows of a batch count, and the values of a head with uniform weights."""
        kind, n, uniform = rows.kind, len(self.pairs), rows.uniform()
        for measure in self.measures[kind]:
            if measure.name not in self.rows[kind]:
                self.rows[kind][measure.name], self.uniform[kind][measure.name] = (
                    np.zeros(n),
                    np.zeros(n),
                )
                self.values[kind][measure.name] = np.full((*self.heads, n), np.nan)
            self.rows[kind][measure.name][numbers] = measure.applicable_rows(rows).sum(axis=-1)
            self.uniform[kind][measure.name][numbers] = np.nan_to_num(measure.means(uniform)[:, 0])

    def keep(self, rows: Rows, layer: int, numbers: list[int]) -> Callable[[Tensor, str], None]:
        """Return the hook of one layer in one batch."""
        kind = rows.kind

        def record(weights: Tensor, name: str) -> None:
            attention = RowWeights(rows, weights.float().cpu().numpy())
            for measure in self.measures[kind]:
                self.values[kind][measure.name][layer][:, numbers] = measure.means(attention).T
            best = weights.argmax(-1).cpu().numpy()
            for row, number in enumerate(numbers):
                start, count = self.starts[kind][number], int(rows.n_query[row])
                self.keys[kind].best[layer, :, start : start + count] = best[row, :, :count]

        return record

    def result(self, corpus: Corpus, tokens: CorpusTokens) -> HeadMeasures:
        chance = {
            kind: {
                name: float((uniform * rows[name]).sum() / rows[name].sum())
                if rows[name].any()
                else float("nan")
                for name, uniform in self.uniform[kind].items()
            }
            for kind, rows in self.rows.items()
        }
        best = {name: best_offset(tokens.within, name) for name in SOURCE_RELATIONS}
        offsets = {name: (offset, share) for name, (offset, share, rows) in best.items() if rows}
        return HeadMeasures(
            corpus, tuple(self.pairs), self.values, self.rows, chance, offsets, self.keys
        )
