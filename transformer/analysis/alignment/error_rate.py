"""Alignment error rate: how well attention aligns words with their translations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer.analysis.corpora.gold import Link
from transformer.analysis.evidence.bootstrap import BootstrapSamples

Weights = npt.NDArray[np.floating]


def alignment_error(
    predicted: Iterable[Link], sure: Iterable[Link], possible: Iterable[Link] | None = None
) -> float:
    """AER(S, P; A) = 1 - (|A∩S| + |A∩P|) / (|A| + |S|) (Och and Ney 2003, section 6).

    0 is best. `possible` links include the sure ones; by default they are the sure ones, and the
    rate is 1 - F₁. Raises ValueError if there is neither a predicted nor a sure link.
    """
    a, s = set(predicted), set(sure)
    p = s | set(possible or ())
    if not a and not s:
        raise ValueError("the error rate needs at least one link, predicted or sure")
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))


def links(weights: Weights, n_src: int, n_tgt: int) -> set[Link]:
    """Link each target word to the source word with the largest weight in the row that predicts it.

    Args:
        weights: (target, source) of cross-attention; row i is the position that predicts target
            word i (its input is `<s>` and i words). Rows and columns after the words, `</s>` and
            padding, are ignored.
    """
    best = weights[:n_tgt, :n_src].argmax(axis=-1)
    return {(int(source), target) for target, source in enumerate(best)}


@dataclass(frozen=True)
class AttentionErrors:
    """Alignment error rates of a corpus.

    Attributes:
        layers: error of each layer's mean over its heads.
        heads: (layers, heads), error of each single head.
    """

    layers: list[float]
    heads: npt.NDArray[np.float64]

    def to_dict(self) -> dict[str, object]:
        """Return a row for metrics.jsonl: `aer` is that of the best layer, `aer_head` that of the
        best head."""
        layer, head = np.unravel_index(int(self.heads.argmin()), self.heads.shape)
        return {
            "aer": min(self.layers),
            "aer_layer": int(np.argmin(self.layers)),
            "aer_layers": self.layers,
            "aer_head": {
                "layer": int(layer),
                "head": int(head),
                "aer": float(self.heads[layer, head]),
            },
        }


def attention_errors(
    weights: Sequence[Weights], gold: Sequence[Collection[Link]], lengths: Sequence[tuple[int, int]]
) -> AttentionErrors:
    """Return the error rates of every layer and head over a corpus, pooled over all sentences.

    Args:
        weights: for each sentence (layers, heads, target, source); see `links`.
        gold: for each sentence its sure links.
        lengths: for each sentence its numbers of source and target words.

    Raises:
        ValueError: if the three have different lengths, or there is no sentence.
    """
    if not weights or not len(weights) == len(gold) == len(lengths):
        raise ValueError(
            f"{len(weights)} sentences, {len(gold)} alignments and {len(lengths)} lengths; they "
            "must have the same length, at least one"
        )
    n_layers, n_heads = weights[0].shape[:2]

    def rate(head_weights: object) -> float:
        """Return the AER for one (target, source) matrix per sentence."""
        hits = n_predicted = n_sure = 0
        for sentence, sure, (n_src, n_tgt) in zip(weights, gold, lengths, strict=True):
            predicted = links(head_weights(sentence), n_src, n_tgt)  # type: ignore[operator]
            hits += len(predicted & set(sure))
            n_predicted, n_sure = n_predicted + len(predicted), n_sure + len(set(sure))
        return 1 - 2 * hits / (n_predicted + n_sure) if n_predicted + n_sure else 1.0

    layers = [rate(lambda w, k=k: w[k].mean(axis=0)) for k in range(n_layers)]
    heads = [[rate(lambda w, k=k, h=h: w[k, h]) for h in range(n_heads)] for k in range(n_layers)]
    return AttentionErrors(layers, np.array(heads))


Counts = Float[np.ndarray, "3 sentence"]
"""Rows: predicted links that are sure, that are possible, and all predicted links; a column for
each sentence."""


@dataclass(frozen=True, eq=False)
class AlignmentCounts:
    """Counts of correct links of every aligner.

    Attributes:
        heads: by method, for example ("weights", "output"); the last "head" is the sum over all
            heads of the layer.
        diagonal: counts of the links between words at the same relative position.
        n_sure: number of sure links of each sentence.
    """

    heads: Mapping[tuple[str, str], Float[np.ndarray, "3 layer head sentence"]]
    diagonal: Counts
    n_sure: Float[np.ndarray, "sentence"]

    def error_rate(self, counts: Counts) -> float:
        """Return the AER over all sentences (Och and Ney 2003, section 6); NaN without links."""
        (sure, possible, predicted), n_sure = counts.sum(axis=1), self.n_sure.sum()
        n_links = predicted + n_sure
        return float(1 - (sure + possible) / n_links) if n_links else np.nan

    def bootstrap_samples(self, aligners: Sequence[Counts]) -> BootstrapSamples:
        """Return 1 − AER of some aligners, for this corpus and its resamples; the largest is the
        best."""
        counts = np.stack(aligners)
        return BootstrapSamples.from_ratios(counts[:, :2].sum(axis=1), counts[:, 2] + self.n_sure)
