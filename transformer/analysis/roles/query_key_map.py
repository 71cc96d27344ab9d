"""Queries and keys of one head over many sentences, as points of one plane.

    result = query_key_map(translator, corpus, "encoder", 2, 5)
    result.points       # of all queries, then of all keys: (point, 2)
    result.weights(0)   # of the first sentence, from the vectors that are drawn: (query, key)

After AttentionViz (Yeh et al. 2023, arXiv:2305.03210): a query should be near the keys it attends
to. Two changes to the vectors do not change the weights: adding the same vector to all keys adds
the same number to a whole row of scores, which softmax ignores; and queries can be multiplied by a
factor if keys are divided by it. Here the keys are shifted so that both clouds have the same
centre, and the factor gives both the same spread. That minimizes the first two terms of the squared
distances, which are not part of the scores: |q - k|² = |q|² + |k|² - 2 q·k. (The paper searches for
the factor; here it has a closed form.) Then both are projected onto their first two principal
components; the paper uses t-SNE and UMAP.
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
    encode_corpus,
    no_progress,
    run_with_hooks,
)
from transformer.analysis.interventions.switching import check_heads, site
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.translator import load_unchanged

MAX_POINTS = 3000
"""Maximum number of points of one map: more points are slow to draw and overlap."""
Vectors = Float[np.ndarray, "point d_k"]
Queries = Float[np.ndarray, "query d_k"]
Keys = Float[np.ndarray, "key d_k"]


@dataclass(frozen=True, eq=False)
class QueryKeyMap:
    """The map of one head over several sentences.

    Attributes:
        kind, layer, head: of the head.
        query_tokens, key_tokens: of each sentence, the rows and columns of its weights.
        queries, keys: the vectors after scaling and shifting, sentence after sentence.
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
        """Points of all queries, then of all keys, on the two axes of largest variance."""
        return self._plane[0]

    @property
    def explained(self) -> Float[np.ndarray, "2"]:
        """Share of the vectors' variance along each axis."""
        return self._plane[1]

    def weights(self, sentence: int) -> Float[np.ndarray, "query key"]:
        """Return the head's attention weights, recomputed from `queries` and `keys`."""
        queries, keys = self._sentence_vectors(sentence, self.queries, self.keys)
        scores = self.score_scale * queries @ keys.T
        if self.kind == "decoder":  # later keys are masked (section 3.2.3)
            scores[np.triu_indices(len(scores), 1)] = -np.inf
        exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))

    def agreement(self) -> tuple[float, float]:
        """Return how well distance reflects attention, for the full vectors and on the plane.

        It is the correlation of the scores with the negative squared distances, both minus their
        row means. NaN if all scores of each row are equal.
        """
        points_by_side = self.points[: len(self.queries)], self.points[len(self.queries) :]
        pairs: list[list[npt.NDArray[np.float64]]] = [[], [], []]
        for sentence in range(len(self.query_tokens)):
            queries, keys = self._sentence_vectors(sentence, self.queries, self.keys)
            visible = np.ones((len(queries), len(keys)), bool)
            if self.kind == "decoder":
                visible = np.tril(visible)
            for index, numbers in enumerate(
                (queries @ keys.T, *(-_squared_distances(*vectors) for vectors in (
                    (queries, keys), self._sentence_vectors(sentence, *points_by_side),
                )))
            ):  # fmt: skip
                means = numbers.mean(axis=1, where=visible, keepdims=True)
                pairs[index].append((numbers - means)[visible])
        scores, distances, plane = (np.concatenate(parts) for parts in pairs)
        return _correlation(scores, distances), _correlation(scores, plane)

    def _sentence_vectors(
        self,
        sentence: int,
        queries: Float[np.ndarray, "queries d_k"],
        keys: Float[np.ndarray, "keys d_k"],
    ) -> tuple[Queries, Keys]:
        """Return a sentence's part of the queries and keys."""
        starts = [
            sum(map(len, tokens[:sentence])) for tokens in (self.query_tokens, self.key_tokens)
        ]
        n_query, n_key = len(self.query_tokens[sentence]), len(self.key_tokens[sentence])
        return (queries[starts[0] : starts[0] + n_query], keys[starts[1] : starts[1] + n_key])

    def to_dict(self) -> dict[str, Any]:
        """Return the data of the figure as a dictionary for JSON.

        Keys: "points", "explained", "agreement", "sentences" with "queries", "keys" (their tokens)
        and "weights".
        """
        sentences = [
            {"queries": rows, "keys": columns, "weights": self.weights(sentence).round(4).tolist()}
            for sentence, (rows, columns) in enumerate(
                zip(self.query_tokens, self.key_tokens, strict=True)
            )
        ]
        return {
            "points": self.points.round(4).tolist(),
            "explained": self.explained.tolist(),
            "agreement": [None if np.isnan(value) else value for value in self.agreement()],
            "sentences": sentences,
        }


def query_key_map(
    translator: Translator,
    corpus: Corpus,
    kind: str,
    layer: int,
    head: int,
    *,
    progress: Progress = no_progress,
) -> QueryKeyMap:
    """Map one head over as many first sentences of `corpus` as have at most `MAX_POINTS` points.

    Raises:
        ValueError: for a head that does not exist, or a model whose scores are not dot products.
    """
    config = translator.model.config
    check_heads(config, [(kind, layer, head)])
    if config.score == "additive":
        raise ValueError(
            "the scores of this model are v·tanh(q + k); a map needs dot products (scaled_dot "
            "or dot)"
        )
    pairs = _pairs_that_fit(encode_corpus(translator, corpus, progress), kind)
    vectors_by_sentence: dict[int, dict[str, Vectors]] = {}
    names = {site(kind, layer, side): side for side in ("query", "key")}

    def hooks(batch: NumberedBatch) -> Hooks:
        def record(x: Tensor, name: str) -> None:
            of_source = kind == "encoder" or (kind == "cross" and names[name] == "key")
            lengths = (batch.n_src if of_source else batch.n_tgt).tolist()
            for row, (number, length) in enumerate(zip(batch.numbers, lengths, strict=True)):
                vectors = x[row, head, :length].double().cpu().numpy()
                vectors_by_sentence.setdefault(number, {})[names[name]] = vectors

        return Hooks(dict.fromkeys(names, record))

    run_with_hooks(translator, pairs, hooks, progress)
    ordered = [vectors_by_sentence[number] for number in range(len(pairs))]
    queries, keys = (
        np.concatenate([vectors[side] for vectors in ordered]).astype(np.float64)
        for side in ("query", "key")
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


def compute(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return `QueryKeyMap.to_dict` for a page.

    Args:
        request: "checkpoint", its folder; "hash"; "corpus", as `Corpus.to_dict`; "kind"; "layer";
            "head".

    Raises:
        ValueError, OSError: for a checkpoint that has changed, and as `query_key_map`.
    """
    progress(0.0, "loading the model")
    translator = load_unchanged(request["checkpoint"], request["hash"])
    corpus = Corpus.from_dict(request["corpus"])
    head = request["kind"], request["layer"], request["head"]
    return query_key_map(translator, corpus, *head, progress=progress).to_dict()


def principal_plane(
    vectors: Vectors,
) -> tuple[Float[np.ndarray, "point 2"], Float[np.ndarray, "2"]]:
    """Project vectors onto their first two principal components; return also the explained
    variance.

    Pearson 1901. The sign of each axis makes its largest component positive.
    """
    centred = vectors - vectors.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))  # rising
    axes, variances = axes[:, ::-1][:, :2], np.clip(variances[::-1], 0, None)
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    missing = 2 - axes.shape[1]  # vectors of one number
    total = float(variances.sum()) or 1.0
    points = np.pad(centred @ axes, ((0, 0), (0, missing)))
    return points, np.pad(variances[:2] / total, (0, missing))


def _pairs_that_fit(pairs: list[Pair], kind: str) -> list[Pair]:
    """Return as many pairs as fit `MAX_POINTS`, at least one."""
    sizes = {"encoder": (2, 0), "decoder": (0, 2), "cross": (1, 1)}[kind]
    counts = np.cumsum([sizes[0] * len(pair.src) + sizes[1] * len(pair.out) for pair in pairs])
    return pairs[: max(1, int((counts <= MAX_POINTS).sum()))]


def _factor(queries: Queries, keys: Keys) -> float:
    """Return the factor for queries, and divisor for keys, that gives both the same spread."""
    variances = [float(vectors.var(axis=0).sum()) for vectors in (queries, keys)]
    return float((variances[1] / variances[0]) ** 0.25) if min(variances) > 0 else 1.0


def _tokens(
    translator: Translator, pairs: list[Pair]
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """Return the input tokens of encoder and decoder for each sentence."""
    pieces, bos = translator.vocabulary.tokens, translator.model.config.bos_id
    sources = tuple(tuple(pieces(pair.src)) for pair in pairs)
    return sources, tuple(tuple(pieces([bos, *pair.out[:-1]])) for pair in pairs)


def _squared_distances(queries: Queries, keys: Keys) -> Float[np.ndarray, "query key"]:
    return np.asarray(np.square(queries[:, None] - keys[None]).sum(axis=-1))


def _correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    if min(a.std(), b.std()) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
