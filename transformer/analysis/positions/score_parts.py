"""A head's scores in the first layer, split exactly into content and position.

Layer 0 reads x = c + p: content c (embedding × √d_model) plus the position p (section 3.5). The
paper's projections have no bias: q = c·W^Q + p·W^Q and k = c·W^K + p·W^K, so q·k/√d_k is a sum of
four terms (as in Dai et al. 2019, section 3.3, https://arxiv.org/abs/1901.02860). With biases, b^Q
adds two terms that do not depend on the query, b^Q·(c·W^K) and b^Q·(p·W^K) (the u and v of Dai et
al.). What b^K adds is the same for all keys of a query. From layer 1 on no such split exists:
attention and the feed-forward network have mixed content and positions, and LayerNorm has scaled
their sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float

from transformer.analysis.attribution.residual_parts import query_and_key_parts
from transformer.inference import Trace
from transformer.measures.kinds import AttentionKind
from transformer.model import Transformer

PARTS = ("content-content", "content-position", "position-content", "position-position")
"""The query's side first: "content-position" is the score of a query's content with a key's
position."""
PARTS_WITH_BIAS = (*PARTS, "bias-content", "bias-position")
"""The same for a model with biases: "bias-position" does not depend on the query."""


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The parts of every head of one layer 0, before mask and softmax.

    Attributes:
        kind: "encoder" or "decoder", as in `Trace.weights`.
        tokens: of the positions, which are both queries and keys.
        parts: in the order of `names`; with `key_bias_term` they sum to `scores`.
        scores: as computed by the model, `hook_scores`.
        key_bias_term: q·b^K, the same for all keys of a row, so softmax ignores it; 0 without
            biases.
    """

    kind: AttentionKind
    tokens: tuple[str, ...]
    parts: Float[np.ndarray, "parts heads length length"]
    scores: Float[np.ndarray, "heads length length"]
    key_bias_term: Float[np.ndarray, "heads length 1"] | float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """`PARTS`, or `PARTS_WITH_BIAS`."""
        return PARTS_WITH_BIAS[: len(self.parts)]

    @property
    def allowed(self) -> Bool[np.ndarray, "length length"]:
        """Mask of the keys that a query may attend to; in the decoder no later ones."""
        length = len(self.tokens)
        all_pairs = np.ones((length, length), dtype=bool)
        return np.tril(all_pairs) if self.kind == "decoder" else all_pairs

    @property
    def error(self) -> float:
        """Largest difference between the sum of the parts and the model's scores."""
        return float(np.abs(self.parts.sum(axis=0) + self.key_bias_term - self.scores).max())

    def centred(self) -> Float[np.ndarray, "parts heads length length"]:
        """Return the parts without each row's mean over the allowed keys, NaN at masked keys.

        Softmax ignores a number that is added to a whole row.
        """
        visible = np.where(self.allowed, self.parts, np.nan)
        return np.asarray(visible - np.nanmean(visible, axis=-1, keepdims=True))

    def shares(self) -> Float[np.ndarray, "heads parts"]:
        """Return how much each part varies along the rows, as a share of all parts, 0 to 1.

        Variance over the allowed keys about each row's mean, over all rows, divided by the sum of
        all parts. Parts may amplify or cancel one another, which this ignores. All 0 for a head
        whose parts do not vary.
        """
        spread = np.nansum(self.centred() ** 2, axis=(-2, -1)).T
        total = spread.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(spread, total, np.zeros_like(spread), where=total > 0))

    def weights_by_part(self) -> Float[np.ndarray, "parts heads length length"]:
        """Return the attention weights of the softmax of each part alone; rows sum to 1."""
        visible = np.where(self.allowed, self.parts, -np.inf)
        return torch.from_numpy(visible).softmax(dim=-1).numpy()

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each head: the shares of `names`, then "position" and "content".

        These are the sums of the shares that depend on the keys' positions and on the keys'
        content.
        """
        table = pd.DataFrame(self.shares(), columns=list(self.names))
        for column, suffix in (("position", "-position"), ("content", "-content")):
            table[column] = table[[name for name in self.names if name.endswith(suffix)]].sum(
                axis=1
            )
        table.insert(0, "head", range(len(table)))
        return table


def score_parts(model: Transformer, trace: Trace, kind: AttentionKind = "encoder") -> ScoreParts:
    """Split the scores of layer 0's self-attention of the encoder or the decoder.

        parts = score_parts(translator.model, translator.trace("I am a student."), "encoder")
        parts.to_frame().sort_values("position")

    Args:
        trace: of this model, with `hook_tokens`, `hook_positions` and layer 0's `hook_scores` of
            that side recorded.

    Raises:
        ValueError: for another kind (the queries of cross-attention have passed a layer), and for
            additive scores: v·tanh(q + k) does not split into a sum.
        KeyError: for a site that was not recorded.
    """
    if kind not in ("encoder", "decoder"):
        raise ValueError(
            f"kind must be 'encoder' or 'decoder', not {kind!r}: the queries of cross-attention "
            f"do not come directly from embeddings"
        )
    if model.config.score == "additive":
        raise ValueError(
            "Additive scores cannot be split: unlike a dot product, v·tanh(q + k) is not a sum "
            "of parts."
        )
    queries, keys = query_and_key_parts(model, trace, kind, 0)  # embedding, position, bias
    scale = getattr(model, kind).layers[0].self_attn.score.scale
    by_pair = scale * np.einsum("phqd,rhkd->prhqk", queries.vectors, keys.vectors)
    n_queries = 3 if model.config.biases else 2
    return ScoreParts(
        kind=kind,
        tokens=trace.src_tokens if kind == "encoder" else trace.tgt_tokens,
        parts=by_pair[:n_queries, :2].reshape(-1, *by_pair.shape[2:]),
        scores=trace[f"{kind}.layers.0.self_attn.hook_scores"],
        key_bias_term=by_pair[:, 2].sum(axis=0)[..., :1],  # the same for all keys
    )
