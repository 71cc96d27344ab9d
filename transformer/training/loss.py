"""What training minimises: label-smoothed cross-entropy (section 5.4), and prices on attention.

The logits of a batch (positions × vocabulary) are the largest tensor of a training step. Here they
are made in slices, and each slice's gradient is taken while it is still in the processor's cache,
so the step stores one gradient for the states and one for the embedding, nothing else.
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

SLICE_ROWS = 512  # with 8,000 entries 8 MB of bf16 logits: measured fastest of 128 to 2,048


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Sum over the real positions; the backward pass only hands on what forward computed."""

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
        wide = torch.promote_types(states.dtype, torch.float32)
        smoothed = states.new_zeros((), dtype=wide)
        plain = smoothed.clone()
        grad_states = torch.empty_like(states) if wants_gradient else None
        grad_weight = torch.zeros_like(weight) if wants_gradient else None
        grad_bias = torch.zeros_like(bias) if wants_gradient and bias is not None else None
        mean_row = weight.to(wide).mean(0)  # the mean logit is its product with a state
        mean_bias = 0.0 if bias is None else bias.to(wide).mean()
        for start in range(0, states.shape[0], SLICE_ROWS):
            part, gold = states[start : start + SLICE_ROWS], target[start : start + SLICE_ROWS]
            logits, gold = functional.linear(part, weight, bias), gold[:, None]
            gold_logit = logits.gather(1, gold).to(wide)
            mean_logit = (part.to(wide) @ mean_row)[:, None] + mean_bias
            # In bf16 the softmax is summed in fp32 and rounded once; log Z follows from one entry.
            probability = logits.softmax(-1)
            smallest = torch.finfo(probability.dtype).tiny
            gold_probability = probability.gather(1, gold).to(wide)
            nll = -gold_probability.clamp_min(smallest).log()
            underflowed = (gold_probability < smallest)[:, 0]
            if underflowed.any():
                log_z = logits[underflowed].to(wide).logsumexp(1, keepdim=True)
                nll[underflowed] = log_z - gold_logit[underflowed]
            plain += nll.sum()
            smoothed += (nll + smoothing * (gold_logit - mean_logit)).sum()
            if grad_states is not None and grad_weight is not None:
                # d loss / d logit = softmax - smoothed target
                grad = probability.sub_(smoothing / vocab)
                # One entry a row by index: scatter_add_ would copy the whole slice.
                row = torch.arange(len(gold), device=gold.device)
                grad[row, gold[:, 0]] += smoothing - 1
                torch.mm(grad, weight, out=grad_states[start : start + SLICE_ROWS])
                grad_weight += grad.t() @ part
                if grad_bias is not None:
                    grad_bias += grad.sum(0)
        ctx.save_for_backward(grad_states, grad_weight, grad_bias)
        ctx.weight_dtype = weight.dtype
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

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
    """Summed loss in nats over the target positions that are not padding.

    The gold token has probability 1 - ε, and ε is spread over the whole vocabulary (Szegedy et
    al. 2016; the same rule as `torch.nn.functional.cross_entropy(label_smoothing=ε)`).

    Args:
        states: decoder output before the projection.
        weight: the shared embedding matrix.
        target: gold ids.
        bias: of the logits, where the model has one.

    Returns:
        (the smoothed loss, with gradient; the plain negative log-likelihood, without).
    """
    real = (target != pad_id).flatten()
    flat, gold = states.flatten(0, 1)[real], target.flatten()[real]
    # Asked here: inside forward, autograd is off and `needs_input_grad` is true under no_grad too.
    wants_gradient = torch.is_grad_enabled() and (flat.requires_grad or weight.requires_grad)
    smoothed, plain = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        flat, weight, bias, gold, smoothing, wants_gradient
    )
    return smoothed, plain


class AttentionPrice:
    """Sees all attention of one forward pass through hooks; gradients flow back.

    A small model on little text can leave its heads wide: nothing in the translation loss asks them
    to choose. A small price on spread does, at little cost in quality (for sparser attention by
    other means see Correia et al. 2019, "Adaptively Sparse Transformers"). Alone it is paid most
    cheaply by heads in which every query rests on the same key, an end mark or a full stop; a price
    on likeness sends different queries to different keys. Both at one price reward what a key tells
    of its query: the sharpness of rows less that of their mean, Gini's index in place of the
    entropies of mutual information. Neither says where to look, and both change what the heads look
    like: a card of a model trained with them says so.

    Args:
        n_layers: of the encoder and of the decoder.
        src, tgt: which places are no padding.
        blur: the price of `spread`, in nats.
        likeness: the price of `likeness`, in nats.
    """

    def __init__(
        self,
        n_layers: int,
        src: Bool[Tensor, "batch src"],
        tgt: Bool[Tensor, "batch tgt"],
        *,
        blur: float,
        likeness: float,
    ) -> None:
        self._prices: dict[str, list[Tensor]] = {kind: [] for kind in WEIGHTS}
        kinds = {WEIGHTS[kind].format(n): kind for kind in WEIGHTS for n in range(n_layers)}

        def keep(weights: Tensor, name: str) -> None:
            queries, price = (src if kinds[name] == "encoder" else tgt), weights.new_zeros(())
            if blur:
                price = price + blur * spread(weights, queries)
            if likeness:
                price = price + likeness * alike(weights, queries)
            self._prices[kinds[name]].append(price)

        self.hooks = Hooks(dict.fromkeys(kinds, keep))

    def mean(self) -> Float[Tensor, ""]:
        """Over the heads of all layers, then over the three kinds; nats."""
        return torch.stack([torch.stack(each).mean() for each in self._prices.values()]).mean()


def spread(
    weights: Float[Tensor, "batch heads query key"], queries: Bool[Tensor, "batch query"]
) -> Float[Tensor, ""]:
    """1 - Σ α² of a row: the chance that two keys drawn from it differ (Simpson 1949). 0 for a row
    at rest on one key, 1 - 1/n for an even row of n. The mean over heads and all true `queries`."""
    rows = 1 - _squares(weights)
    return rows.movedim(1, 2)[queries].mean()


def alike(
    weights: Float[Tensor, "batch heads query key"], queries: Bool[Tensor, "batch query"]
) -> Float[Tensor, ""]:
    """Σ ᾱ² of the mean row ᾱ: the chance that two queries drawn with replacement look at one key.

    1 where all queries rest on one key, 1/n where each of n rests on its own. The mean over heads
    and sentences, each over its true `queries`.
    """
    counts = queries.sum(-1).clamp(min=1)[:, None, None]
    mean = (weights * queries[:, None, :, None]).sum(2) / counts  # (batch, heads, key)
    return _squares(mean).mean()


def _squares(rows: Tensor) -> Tensor:
    """Σ α² of each, in float32 at least."""
    found: Tensor = torch.linalg.vector_norm(rows, dim=-1).square()
    return found.to(torch.promote_types(found.dtype, torch.float32))
