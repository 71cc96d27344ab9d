"""Training loss: label-smoothed cross-entropy (section 5.4), and penalties on attention.

The logits of a batch (positions × vocabulary) are the largest tensor of a training step. They are
computed in slices, and the gradient of each slice is computed while the slice is still in the
cache, so the step stores only the gradients of the states and of the embedding.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS

SLICE_ROWS = (
    512  # 8 MB of bf16 logits for 8,000 pieces; the fastest of 128 to 2,048 in measurements
)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Loss summed over positions; the gradients are computed in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        target: Tensor,
        smoothing: float,
        wants_gradient: bool,
    ) -> tuple[Tensor, Tensor]:
        vocab = weight.shape[0]
        sum_dtype = torch.promote_types(states.dtype, torch.float32)
        smoothed_sum = states.new_zeros((), dtype=sum_dtype)
        nll_sum = smoothed_sum.clone()
        grad_states = torch.empty_like(states) if wants_gradient else None
        grad_weight = torch.zeros_like(weight) if wants_gradient else None
        grad_bias = torch.zeros_like(bias) if wants_gradient and bias is not None else None
        mean_row = weight.to(sum_dtype).mean(0)  # mean logit = mean_row · state
        mean_bias = 0.0 if bias is None else bias.to(sum_dtype).mean()
        for start in range(0, states.shape[0], SLICE_ROWS):
            part, gold = states[start : start + SLICE_ROWS], target[start : start + SLICE_ROWS]
            logits, gold = functional.linear(part, weight, bias), gold[:, None]
            gold_logit = logits.gather(1, gold).to(sum_dtype)
            mean_logit = (part.to(sum_dtype) @ mean_row)[:, None] + mean_bias
            # In bf16 the softmax is summed in fp32 and rounded once, so -log p needs no log Z.
            probability = logits.softmax(-1)
            smallest = torch.finfo(probability.dtype).tiny
            gold_probability = probability.gather(1, gold).to(sum_dtype)
            nll = -gold_probability.clamp_min(smallest).log()
            underflowed = (gold_probability < smallest)[:, 0]
            if underflowed.any():
                log_z = logits[underflowed].to(sum_dtype).logsumexp(1, keepdim=True)
                nll[underflowed] = log_z - gold_logit[underflowed]
            nll_sum += nll.sum()
            smoothed_sum += (nll + smoothing * (gold_logit - mean_logit)).sum()
            if grad_states is not None and grad_weight is not None:
                # d loss / d logit = softmax - smoothed target
                grad = probability.sub_(smoothing / vocab)
                # Indexing changes one entry per row; scatter_add_ would copy the slice.
                row = torch.arange(len(gold), device=gold.device)
                grad[row, gold[:, 0]] += smoothing - 1
                torch.mm(grad, weight, out=grad_states[start : start + SLICE_ROWS])
                grad_weight += grad.t() @ part
                if grad_bias is not None:
                    grad_bias += grad.sum(0)
        ctx.save_for_backward(grad_states, grad_weight, grad_bias)
        ctx.weight_dtype = weight.dtype
        ctx.mark_non_differentiable(nll_sum)
        return smoothed_sum, nll_sum

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        grad_states, grad_weight, grad_bias = ctx.saved_tensors
        scale = grad_outputs[0]
        return (
            (grad_states * scale).to(grad_states.dtype),
            (grad_weight * scale).to(ctx.weight_dtype),
            None if grad_bias is None else (grad_bias * scale).to(ctx.weight_dtype),
            None,
            None,
            None,
        )


def smoothed_cross_entropy(
    states: Float[Tensor, "batch tgt d_model"],
    weight: Float[Tensor, "vocab d_model"],
    target: Int[Tensor, "batch tgt"],
    *,
    smoothing: float,
    pad_id: int,
    bias: Float[Tensor, "vocab"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Return the loss in nats, summed over the target positions that are not padding.

    The gold token has probability 1 - ε, and ε is spread over the whole vocabulary (Szegedy et
    al. 2016; the same rule as `torch.nn.functional.cross_entropy(label_smoothing=ε)`).

    Args:
        states: decoder output before the projection.
        weight: the shared embedding matrix.
        target: gold ids.
        bias: bias of the logits, if the model has one.

    Returns:
        (smoothed loss, with gradient; negative log-likelihood, without gradient).
    """
    is_token = (target != pad_id).flatten()
    flat_states, gold = states.flatten(0, 1)[is_token], target.flatten()[is_token]
    # Inside forward, autograd is off and `needs_input_grad` is true even under no_grad.
    wants_gradient = torch.is_grad_enabled() and (flat_states.requires_grad or weight.requires_grad)
    smoothed, plain = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        flat_states, weight, bias, gold, smoothing, wants_gradient
    )
    return smoothed, plain


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

        self.hooks = Hooks(dict.fromkeys(kinds, add_penalty))

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
