"""How well attention lines words up with their translations: alignment error rate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer.analysis.corpora.gold import Link
from transformer.analysis.evidence.bootstrap import Drawn

Weights = npt.NDArray[np.floating]


def alignment_error(
    found: Iterable[Link], sure: Iterable[Link], possible: Iterable[Link] | None = None
) -> float:
    """AER(S, P; A) = 1 - (|A∩S| + |A∩P|) / (|A| + |S|) (Och and Ney 2003, section 6).

    0 is best. `possible` links hold the sure ones too; left out, they are the sure ones, and the
    rate is 1 - F₁. Raises ValueError if there is neither a link found nor a sure one.
    """
    a, s = set(found), set(sure)
    p = s | set(possible or ())
    if not a and not s:
        raise ValueError("the error rate needs at least one link, found or sure")
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))


def links(weights: Weights, n_src: int, n_tgt: int) -> set[Link]:
    """Each target word with the source word that it looks at most when it is written.

    Args:
        weights: (target, source) of cross-attention; row i is the position that writes target
            word i (the decoder has read `<s>` and i words there). Rows and columns past the words,
            `</s>` and padding, are left out: there is nothing to line up there.
    """
    best = weights[:n_tgt, :n_src].argmax(axis=-1)
    return {(int(source), target) for target, source in enumerate(best)}


@dataclass(frozen=True)
class Errors:
    """Alignment error rates of a corpus.

    Attributes:
        layers: of each layer's mean over its heads.
        heads: (layers, heads), of each head alone.
    """

    layers: list[float]
    heads: npt.NDArray[np.float64]

    def to_dict(self) -> dict[str, object]:
        """For metrics.jsonl: `aer` is the best layer's, `aer_head` the best head's."""
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
) -> Errors:
    """The rates of every layer and head over a corpus, links of all sentences counted together.

    Args:
        weights: for each sentence (layers, heads, target, source); see `links`.
        gold: for each sentence its sure links.
        lengths: for each sentence its numbers of source and target words.

    Raises:
        ValueError: if the three are not as many, or there is no sentence.
    """
    if not weights or not len(weights) == len(gold) == len(lengths):
        raise ValueError(
            f"{len(weights)} sentences, {len(gold)} alignments and {len(lengths)} lengths; they "
            "must be as many, and at least one"
        )
    n_layers, n_heads = weights[0].shape[:2]

    def rate(pick: object) -> float:
        """AER of one (target, source) matrix a sentence; links are kept apart by sentence."""
        hits = n_found = n_sure = 0
        for sentence, sure, (n_src, n_tgt) in zip(weights, gold, lengths, strict=True):
            found = links(pick(sentence), n_src, n_tgt)  # type: ignore[operator]
            hits += len(found & set(sure))
            n_found, n_sure = n_found + len(found), n_sure + len(set(sure))
        return 1 - 2 * hits / (n_found + n_sure) if n_found + n_sure else 1.0

    layers = [rate(lambda w, k=k: w[k].mean(axis=0)) for k in range(n_layers)]
    heads = [[rate(lambda w, k=k, h=h: w[k, h]) for h in range(n_heads)] for k in range(n_layers)]
    return Errors(layers, np.array(heads))


Counts = Float[np.ndarray, "3 sentence"]
"""A row each: links found that are sure, that are possible, and all found; a column a sentence."""


@dataclass(frozen=True, eq=False)
class AlignmentCounts:
    """Hits of every aligner.

    Attributes:
        heads: by way, as ("weights", "output"): the last of the heads is all of a layer together.
        rivals: of those that need no model, by name: "diagonal"; "chance", what it gives on
            average; "model 1" and "statistical".
        n_sure: how many links are sure.
    """

    heads: Mapping[tuple[str, str], Float[np.ndarray, "3 layer head sentence"]]
    rivals: Mapping[str, Counts]
    n_sure: Float[np.ndarray, "sentence"]

    def rates(self, counts: Counts) -> dict[str, float]:
        """AER, precision and recall over all sentences (Och and Ney 2003, section 6)."""
        (sure, possible, found), n_sure = counts.sum(axis=1), self.n_sure.sum()
        return {
            "aer": float(1 - (sure + possible) / (found + n_sure)) if found + n_sure else np.nan,
            "precision": float(possible / found) if found else np.nan,
            "recall": float(sure / n_sure) if n_sure else np.nan,
        }

    def drawn(self, aligners: Sequence[Counts]) -> Drawn:
        """1 − AER of some aligners, of this corpus and of drawn ones: the greatest is the best."""
        counts = np.stack(aligners)
        return Drawn.rates(counts[:, :2].sum(axis=1), counts[:, 2] + self.n_sure)
