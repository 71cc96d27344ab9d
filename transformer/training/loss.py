"""Training loss: label-smoothed cross-entropy (section 5.4), R-Drop, and penalties on attention."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from transformer.hooks import Hooks, ReadOnly
from transformer.inference.trace import WEIGHTS


def token_logits(
    states: Float[Tensor, "batch tgt d_model"],
    weight: Float[Tensor, "vocab d_model"],
    target: Int[Tensor, "batch tgt"],
    *,
    pad_id: int,
    bias: Float[Tensor, "vocab"] | None = None,
) -> tuple[Float[Tensor, "tokens vocab"], Int[Tensor, "tokens"]]:
    """Return the logits at the target positions that are not padding, in float32 or wider, and the
    ids to predict there.

    Args:
        states: decoder output before the projection.
        weight: the shared embedding matrix.
        target: gold ids.
        bias: bias of the logits, if the model has one.
    """
    is_token = target != pad_id
    logits = functional.linear(states[is_token], weight, bias)
    return logits.to(torch.promote_types(logits.dtype, torch.float32)), target[is_token]


def smoothed_cross_entropy(
    logits: Float[Tensor, "tokens vocab"], gold: Int[Tensor, "tokens"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Return the loss in nats, summed over the tokens.

    The gold token has probability 1 - ε, and ε is spread over the whole vocabulary (Szegedy et
    al. 2016; the same rule as `torch.nn.functional.cross_entropy(label_smoothing=ε)`).

    Returns:
        (smoothed loss, with gradient; negative log-likelihood, without gradient).
    """
    smoothed = functional.cross_entropy(logits, gold, label_smoothing=smoothing, reduction="sum")
    plain = functional.cross_entropy(logits.detach(), gold, reduction="sum")
    return smoothed, plain


def symmetric_divergence(
    first: Float[Tensor, "tokens vocab"], second: Float[Tensor, "tokens vocab"]
) -> Float[Tensor, ""]:
    """Return KL(p‖q) + KL(q‖p) in nats, summed over the tokens, where p and q are the softmax of
    both logits: twice the L_KL of R-Drop (Liang et al. 2021, arXiv 2106.14448, eq. 2)."""
    log_p, log_q = first.log_softmax(-1), second.log_softmax(-1)
    return ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()


class AttentionRegularizer:
    """Differentiable penalties on the attention weights of one forward pass, collected by hooks.

    The heads of a small model trained on little text can stay diffuse, because the translation loss
    does not reward sharp rows. A small penalty on `gini_impurity` does, at little cost in quality
    (for another method see Correia et al. 2019, "Adaptively Sparse Transformers"). Alone, it is
    minimised by heads whose queries all attend to the same key, such as `</s>` or a full stop; a
    penalty on `query_overlap` rewards different keys for different queries. With equal weights, the
    two penalties maximise an analogue of the mutual information between query and key, with Gini
    impurity in place of entropy. Neither determines which key a query attends to, but both change
    the appearance of heads, so the model card mentions them.

    Args:
        n_layers: number of layers of the encoder, and of the decoder.
        src, tgt: True where a position is not padding.
        sharpness_penalty: weight of `gini_impurity`, in nats.
        diversity_penalty: weight of `query_overlap`, in nats.
    """

    def __init__(
        self,
        n_layers: int,
        src: Bool[Tensor, "batch src"],
        tgt: Bool[Tensor, "batch tgt"],
        *,
        sharpness_penalty: float,
        diversity_penalty: float,
    ) -> None:
        self._penalties: dict[str, list[Tensor]] = {kind: [] for kind in WEIGHTS}
        kinds = {WEIGHTS[kind].format(n): kind for kind in WEIGHTS for n in range(n_layers)}

        def add_penalty(weights: Tensor, name: str) -> None:
            queries, penalty = (src if kinds[name] == "encoder" else tgt), weights.new_zeros(())
            if sharpness_penalty:
                penalty = penalty + sharpness_penalty * gini_impurity(weights, queries)
            if diversity_penalty:
                penalty = penalty + diversity_penalty * query_overlap(weights, queries)
            self._penalties[kinds[name]].append(penalty)

        self.hooks = Hooks(dict.fromkeys(kinds, ReadOnly(add_penalty)))

    def mean(self) -> Float[Tensor, ""]:
        """Return the penalty in nats: the mean over layers, then over the kinds of attention."""
        return torch.stack(
            [torch.stack(penalties).mean() for penalties in self._penalties.values()]
        ).mean()


def gini_impurity(
    weights: Float[Tensor, "batch heads query key"], queries: Bool[Tensor, "batch query"]
) -> Float[Tensor, ""]:
    """Return 1 - Σ α², averaged over heads and all True `queries`.

    It is the probability that two keys sampled from a row differ (Simpson 1949): 0 if all weight is
    on one key, 1 - 1/n if n keys have equal weight.
    """
    impurity = 1 - _sum_of_squares(weights)
    return impurity.movedim(1, 2)[queries].mean()


def query_overlap(
    weights: Float[Tensor, "batch heads query key"], queries: Bool[Tensor, "batch query"]
) -> Float[Tensor, ""]:
    """Return Σ ᾱ², with ᾱ a head's mean row over True `queries`, averaged over heads and sentences.

    It is the probability that two queries, sampled with replacement, attend to the same key: 1 if
    all queries attend to one key, 1/n if each of n queries attends to its own key.
    """
    counts = queries.sum(-1).clamp(min=1)[:, None, None]
    mean = (weights * queries[:, None, :, None]).sum(2) / counts  # (batch, heads, key)
    return _sum_of_squares(mean).mean()


def _sum_of_squares(rows: Tensor) -> Tensor:
    """Return Σ α² of each row, in float32 or wider."""
    squares: Tensor = torch.linalg.vector_norm(rows, dim=-1).square()
    return squares.to(torch.promote_types(squares.dtype, torch.float32))
