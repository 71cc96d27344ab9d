"""Queries and keys of one head over many sentences, as points of one plane.

    found = query_key_map(translator, corpus, "encoder", 2, 5)
    found.points       # of all queries, then of all keys: (point, 2)
    found.weights(0)   # of the first sentence, from the vectors that are drawn: (query, key)

After AttentionViz (Yeh et al. 2023, arXiv:2305.03210): a query that attends to a key is
to lie near it. Two things may be done to the vectors that leave every weight as it is: the same
vector added to all keys adds the same number to a whole row of scores, which softmax does not see;
and queries may be multiplied by what keys are divided by. So the keys are moved until both clouds
have one centre, and the factor is the one that gives both the same spread, which makes the part of
the squared distances least that is not attention: |q - k|² = |q|² + |k|² - 2 q·k. (They search for
their factor; this one needs no search.) Then both together are laid onto the two axes along which
they are spread most (principal component analysis), where they use t-SNE and UMAP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import (
    NumberedBatch,
    Pair,
    Progress,
    encoded,
    silent,
    watch,
)
from transformer.analysis.interventions.switching import check_heads, site
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.translator import load_unchanged

POINTS = 3000
"""Most points of one map: more are slow to draw and hide each other."""
Vectors = Float[np.ndarray, "point d_k"]
Queries = Float[np.ndarray, "query d_k"]
Keys = Float[np.ndarray, "key d_k"]


@dataclass(frozen=True, eq=False)
class QueryKeyMap:
    """One head over several sentences.

    Attributes:
        kind, layer, head: which.
        query_tokens, key_tokens: of each sentence, the rows and columns of its weights.
        queries, keys: the vectors after scaling and moving, sentence after sentence.
        factor: what queries are multiplied and keys divided by.
        score_scale: what the head's scores multiply q·k by, 1/√d_k or 1.
    """

    kind: str
    layer: int
    head: int
    query_tokens: tuple[tuple[str, ...], ...]
    key_tokens: tuple[tuple[str, ...], ...]
    queries: Queries
    keys: Keys
    factor: float
    score_scale: float

    @cached_property
    def _plane(self) -> tuple[Float[np.ndarray, "point 2"], Float[np.ndarray, "2"]]:
        return principal_plane(np.concatenate([self.queries, self.keys]))

    @property
    def points(self) -> Float[np.ndarray, "point 2"]:
        """Of all queries, then of all keys, on the two axes of their greatest spread."""
        return self._plane[0]

    @property
    def explained(self) -> Float[np.ndarray, "2"]:
        """The share of the vectors' variance that lies along each axis."""
        return self._plane[1]

    def weights(self, sentence: int) -> Float[np.ndarray, "query key"]:
        """The head's attention, recomputed from the vectors that are drawn."""
        queries, keys = self._of(sentence, self.queries, self.keys)
        scores = self.score_scale * queries @ keys.T
        if self.kind == "decoder":  # nobody sees what comes later (section 3.2.3)
            scores[np.triu_indices(len(scores), 1)] = -np.inf
        grown = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(grown / grown.sum(axis=1, keepdims=True))

    def agreement(self) -> tuple[float, float]:
        """How well nearness tells attention: the correlation of scores with minus the squared
        distances, both as differences within their rows; of the whole vectors, and on the plane.

        1 if a row's nearest keys are those with its greatest scores, in proportion; NaN where all
        scores of each row are alike.
        """
        flat = self.points[: len(self.queries)], self.points[len(self.queries) :]
        pairs: list[list[npt.NDArray[np.float64]]] = [[], [], []]
        for sentence in range(len(self.query_tokens)):
            queries, keys = self._of(sentence, self.queries, self.keys)
            seen = np.ones((len(queries), len(keys)), bool)
            if self.kind == "decoder":
                seen = np.tril(seen)
            for at, numbers in enumerate(
                (queries @ keys.T, *(-_squares(*some) for some in (
                    (queries, keys), self._of(sentence, *flat),
                )))
            ):  # fmt: skip
                means = numbers.mean(axis=1, where=seen, keepdims=True)
                pairs[at].append((numbers - means)[seen])
        scores, whole, plane = (np.concatenate(some) for some in pairs)
        return _correlation(scores, whole), _correlation(scores, plane)

    def _of(
        self,
        sentence: int,
        queries: Float[np.ndarray, "queries d_k"],
        keys: Float[np.ndarray, "keys d_k"],
    ) -> tuple[Queries, Keys]:
        """A sentence's part of both."""
        starts = [
            sum(map(len, tokens[:sentence])) for tokens in (self.query_tokens, self.key_tokens)
        ]
        n_query, n_key = len(self.query_tokens[sentence]), len(self.key_tokens[sentence])
        return (queries[starts[0] : starts[0] + n_query], keys[starts[1] : starts[1] + n_key])

    def to_dict(self) -> dict[str, Any]:
        """What is drawn, as JSON can hold it: "points", "explained", "agreement", "sentences" with
        "queries", "keys" (their tokens) and "weights"."""
        sentences = [
            {"queries": rows, "keys": columns, "weights": self.weights(at).round(4).tolist()}
            for at, (rows, columns) in enumerate(
                zip(self.query_tokens, self.key_tokens, strict=True)
            )
        ]
        return {
            "points": self.points.round(4).tolist(),
            "explained": self.explained.tolist(),
            "agreement": [None if np.isnan(one) else one for one in self.agreement()],
            "sentences": sentences,
        }


def query_key_map(
    translator: Translator,
    corpus: Corpus,
    kind: str,
    layer: int,
    head: int,
    *,
    progress: Progress = silent,
) -> QueryKeyMap:
    """Map one head over the first sentences of `corpus`, whole ones, up to `POINTS` points. Raises
    ValueError for a head that is not there, or a model whose scores are no dot products."""
    config = translator.model.config
    check_heads(config, [(kind, layer, head)])
    if config.score == "additive":
        raise ValueError(
            "this model scores by v·tanh(q + k), which no distance tells; a map needs scores that "
            "are dot products (scaled_dot or dot)"
        )
    pairs = _first(encoded(translator, corpus, progress), kind)
    found: dict[int, dict[str, Vectors]] = {}
    names = {site(kind, layer, what): what for what in ("query", "key")}

    def hooks(batch: NumberedBatch) -> Hooks:
        def keep(x: Tensor, name: str) -> None:
            of_source = kind == "encoder" or (kind == "cross" and names[name] == "key")
            lengths = (batch.n_src if of_source else batch.n_tgt).tolist()
            for row, (number, length) in enumerate(zip(batch.numbers, lengths, strict=True)):
                vectors = x[row, head, :length].double().cpu().numpy()
                found.setdefault(number, {})[names[name]] = vectors

        return Hooks(dict.fromkeys(names, keep))

    watch(translator, pairs, hooks, progress)
    ordered = [found[number] for number in range(len(pairs))]
    queries, keys = (
        np.concatenate([one[what] for one in ordered]).astype(np.float64)
        for what in ("query", "key")
    )
    factor = _factor(queries, keys)
    queries, keys = queries * factor, keys / factor
    keys += queries.mean(axis=0) - keys.mean(axis=0)
    sources, targets = _tokens(translator, pairs)
    attention = translator.model.get_submodule(site(kind, layer, "weights").rpartition(".")[0])
    return QueryKeyMap(
        kind,
        layer,
        head,
        sources if kind == "encoder" else targets,
        targets if kind == "decoder" else sources,
        queries,
        keys,
        factor,
        float(attention.score.scale),  # type: ignore[union-attr, arg-type]
    )


def compute(given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """`QueryKeyMap.to_dict`, as a page asks for it.

    Args:
        given: "checkpoint", its folder; "hash"; "corpus", as `Corpus.to_dict`; "kind"; "layer";
            "head".

    Raises:
        ValueError, OSError: for a checkpoint that is another by now, and as `query_key_map`.
    """
    progress(0.0, "loading the model")
    translator = load_unchanged(given["checkpoint"], given["hash"])
    corpus = Corpus.from_dict(given["corpus"])
    which = given["kind"], given["layer"], given["head"]
    return query_key_map(translator, corpus, *which, progress=progress).to_dict()


def principal_plane(
    vectors: Vectors,
) -> tuple[Float[np.ndarray, "point 2"], Float[np.ndarray, "2"]]:
    """Vectors on the two axes of their greatest variance, and its share along each (Pearson 1901).
    Of each axis's two directions the one is taken whose largest component is above 0."""
    centred = vectors - vectors.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))  # rising
    axes, variances = axes[:, ::-1][:, :2], np.clip(variances[::-1], 0, None)
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    missing = 2 - axes.shape[1]  # vectors of one number
    total = float(variances.sum()) or 1.0
    points = np.pad(centred @ axes, ((0, 0), (0, missing)))
    return points, np.pad(variances[:2] / total, (0, missing))


def _first(pairs: list[Pair], kind: str) -> list[Pair]:
    """As many as there is room for, one at least."""
    sizes = {"encoder": (2, 0), "decoder": (0, 2), "cross": (1, 1)}[kind]
    counts = np.cumsum([sizes[0] * len(one.src) + sizes[1] * len(one.out) for one in pairs])
    return pairs[: max(1, int((counts <= POINTS).sum()))]


def _factor(queries: Queries, keys: Keys) -> float:
    """By which queries grow and keys shrink so that both are spread alike."""
    spreads = [float(one.var(axis=0).sum()) for one in (queries, keys)]
    return float((spreads[1] / spreads[0]) ** 0.25) if min(spreads) > 0 else 1.0


def _tokens(
    translator: Translator, pairs: list[Pair]
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """What the encoder and the decoder read in each sentence."""
    pieces, bos = translator.vocabulary.tokens, translator.model.config.bos_id
    sources = tuple(tuple(pieces(pair.src)) for pair in pairs)
    return sources, tuple(tuple(pieces([bos, *pair.out[:-1]])) for pair in pairs)


def _squares(queries: Queries, keys: Keys) -> Float[np.ndarray, "query key"]:
    return np.asarray(np.square(queries[:, None] - keys[None]).sum(axis=-1))


def _correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    if min(a.std(), b.std()) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
