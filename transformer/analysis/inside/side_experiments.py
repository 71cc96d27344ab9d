"""Experiments on the boxes: a batch with padding, the FFN as convolutions, a common misprint.

Shapes such as (B, h, L, d_k) for Q have a batch of B sentences, the shorter ones padded (section
3.2). Everywhere else in this app B is 1 and omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transformer.analysis.inside.open_box import Array
from transformer.hooks import Hooks
from transformer.inference import Trace, Translator
from transformer.model import Transformer
from transformer.model.attention import MultiHeadAttention, padding_mask, target_mask
from transformer.model.layers import FeedForward
from transformer.text.batching import pad, shift_right


@dataclass(frozen=True)
class ShapeStep:
    """One tensor of the attention: its description, its axes by name, and their sizes."""

    description: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def text(self) -> str:
        """The axes and sizes as text: "(B, h, L, d_k) = (3, 8, 11, 32)"."""
        return f"({', '.join(self.axes)}) = ({', '.join(map(str, self.shape))})"


@dataclass(frozen=True, eq=False)
class BatchedAttention:
    """One attention over several sentences.

    Attributes:
        tokens: of each sentence's keys, padding included: B rows of S.
        steps: in the order of equation 1.
        on_padding: largest weight that any query gives to a padding key.
        max_difference: largest difference between the attention's output for the first sentence
            alone and in the batch.
        padding: share of all key positions that are padding.
    """

    tokens: tuple[tuple[str, ...], ...]
    steps: tuple[ShapeStep, ...]
    on_padding: float
    max_difference: float
    padding: float


_SITES = ("query", "key", "value", "scores", "weights", "heads", "output")


def batched_attention(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], attention: str
) -> BatchedAttention:
    """Run these pairs in one batch, as in training, and return one attention's tensors.

    Args:
        attention: for example "decoder.layers.0.cross_attn".

    Raises:
        ValueError: for no pairs, different numbers of sources and targets, or an unknown attention.
    """
    if not sources or len(sources) != len(targets):
        raise ValueError(
            f"there are {len(sources)} sentences and {len(targets)} translations; their numbers "
            "must be equal and at least one"
        )
    config, encode = translator.model.config, translator.vocabulary.encode
    src = pad([encode(text) for text in sources], config.pad_id)
    # The last piece is only a target, never an input.
    outputs = [encode(text, target=True) for text in targets]
    tgt = pad(shift_right(outputs, config.bos_id), config.pad_id)
    keys_from_source = attention.startswith("encoder") or attention.endswith("cross_attn")
    rows, keys = tgt if attention.startswith("decoder") else src, src if keys_from_source else tgt
    mask = padding_mask(src, config.pad_id) if keys_from_source else target_mask(tgt, config.pad_id)
    activations = _run(translator, src, tgt, attention)
    first_lengths = [int((side[0] != config.pad_id).sum()) for side in (src, tgt, rows)]
    alone = _run(translator, src[:1, : first_lengths[0]], tgt[:1, : first_lengths[1]], attention)
    is_padding = keys == config.pad_id
    return BatchedAttention(
        tokens=tuple(tuple(translator.vocabulary.tokens(row)) for row in keys.tolist()),
        steps=_steps(activations, mask),
        on_padding=float((activations["weights"] * is_padding[:, None, None, :]).max()),
        max_difference=float(
            (activations["output"][:1, : first_lengths[2]] - alone["output"]).abs().max()
        ),
        padding=float(is_padding.float().mean()),
    )


def _run(translator: Translator, src: Tensor, tgt: Tensor, attention: str) -> dict[str, Tensor]:
    """Return the tensors at the hooks of one attention."""
    activations: dict[str, Tensor] = {}

    def record(tensor: Tensor, name: str) -> None:
        activations[name.rpartition("hook_")[2]] = tensor.cpu()

    hooks = Hooks({f"{attention}.hook_{site}": record for site in _SITES})
    with torch.inference_mode():
        translator.model(src.to(translator.device), tgt.to(translator.device), hooks=hooks)
    return activations


def _steps(activations: dict[str, Tensor], mask: Tensor) -> tuple[ShapeStep, ...]:
    """Return the steps; L is the length of the queries' side, S that of the keys'."""
    by_head, scores = ("B", "h", "L", "d_k"), ("B", "h", "L", "S")
    values = ("B", "h", "S", "d_v")
    joined = activations["heads"].transpose(1, 2).flatten(-2)
    steps = (
        ("Q, split into heads", by_head, activations["query"]),
        ("Kᵀ, the last two axes swapped", ("B", "h", "d_k", "S"), activations["key"].mT),
        ("QKᵀ / √d_k", scores, activations["scores"]),
        ("the mask, one for all heads", ("B", "1", "1 or L", "S"), mask),
        ("softmax over the last axis", scores, activations["weights"]),
        ("V, split into heads", values, activations["value"]),
        ("weights · V", ("B", "h", "L", "d_v"), activations["heads"]),
        ("Concat: the heads concatenated", ("B", "L", "h · d_v"), joined),
        ("times W^O", ("B", "L", "d_model"), activations["output"]),
    )
    return tuple(
        ShapeStep(description, axes, tuple(tensor.shape)) for description, axes, tensor in steps
    )


Rows = Float[Tensor, "length d_model"]


@dataclass(frozen=True, eq=False)
class FfnAsConvolution:
    """One feed-forward network over one sentence, as two matrix products and as two convolutions.

    The convolutions have kernel size 1 (section 3.3).

    Attributes:
        linear: (length, d_model), max(0, x W_1 + b_1) W_2 + b_2, from the model (with its own
            activation instead of max).
        convolved: the same by two `conv1d` with the same weights.
        kernels: shapes of the two kernels, (out, in, 1).
        max_difference: largest difference between the two.
        max_row_change: largest change of a row when it is convolved without the other rows.
    """

    linear: Array
    convolved: Array
    kernels: tuple[tuple[int, ...], tuple[int, ...]]
    max_difference: float
    max_row_change: float


def ffn_as_convolution(model: Transformer, trace: Trace, block: str) -> FfnAsConvolution:
    """Apply two convolutions to the input of a feed-forward network, to all rows at once and row by
    row.

    Args:
        trace: of this model, with the norms and the network's output of that layer.
        block: for example "encoder.layers.0.ffn".

    Raises:
        KeyError: if the trace was recorded without them.
        ValueError: for a block that is not a feed-forward network.
    """
    ffn = model.get_submodule(block)
    if not isinstance(ffn, FeedForward):
        raise ValueError(f"{block} is a {type(ffn).__name__}; it must be a feed-forward network")
    previous_sublayer = "cross_attn" if block.startswith("decoder") else "self_attn"
    site = block.removesuffix("ffn") + f"{previous_sublayer}_norm.hook_output"
    x = torch.tensor(trace[site], device=ffn.w_1.weight.device)
    with torch.no_grad():
        all_rows = _by_convolution(ffn, x)
        row_by_row = torch.cat([_by_convolution(ffn, row[None]) for row in x])
    linear = trace[f"{block}.hook_output"].astype("float64")
    convolved = all_rows.cpu().double().numpy()
    return FfnAsConvolution(
        linear=linear,
        convolved=convolved,
        kernels=(tuple(_kernel(ffn.w_1).shape), tuple(_kernel(ffn.w_2).shape)),
        max_difference=float(abs(linear - convolved).max()),
        max_row_change=float((all_rows - row_by_row).abs().max()),
    )


def _by_convolution(ffn: FeedForward, x: Rows) -> Rows:
    """Apply conv1d, activation, conv1d: channels are the dimensions, and the kernel covers one
    position."""
    hidden = ffn.activation(functional.conv1d(x.T[None], _kernel(ffn.w_1), ffn.w_1.bias))
    return functional.conv1d(hidden, _kernel(ffn.w_2), ffn.w_2.bias)[0].T


def _kernel(linear: torch.nn.Linear) -> Float[Tensor, "out in 1"]:
    """Return a weight matrix as a kernel of size 1: the same numbers with one more axis."""
    return linear.weight[:, :, None]


@dataclass(frozen=True, eq=False)
class KeyMatrixComparison:
    """An encoder layer whose keys are computed with W^Q, a common misprint, compared with the real
    layer.

    Attributes:
        with_w_k, with_w_q: weights (n_heads, query, key) if the keys are x W^K or x W^Q.
        asymmetry_with_w_k, asymmetry_with_w_q: the largest difference between the score of two
            positions and that of the same two with query and key swapped.
    """

    with_w_k: Array
    with_w_q: Array
    asymmetry_with_w_k: float
    asymmetry_with_w_q: float

    @property
    def moved_weight(self) -> float:
        """Mean over heads and rows of the weight that has moved to other keys."""
        return float(np.abs(self.with_w_k - self.with_w_q).sum(-1).mean() / 2)

    @property
    def own_position_weight(self) -> tuple[float, float]:
        """Mean weight of a position on itself, with W^K and with W^Q."""
        with_w_k, with_w_q = (
            float(np.diagonal(weights, axis1=1, axis2=2).mean())
            for weights in (self.with_w_k, self.with_w_q)
        )
        return with_w_k, with_w_q


def keys_by_the_query_matrix(model: Transformer, trace: Trace, layer: int) -> KeyMatrixComparison:
    """Compute head_i = Attention(Q W_i^Q, K W_i^Q, V W_i^V), where section 3.2.2 has K W_i^K.

    In self-attention Q and K are the same rows, so every key equals its query: the scores are then
    symmetric for any learned weights.

    Args:
        trace: of this model, with queries and scores of the encoder's layer.

    Raises:
        KeyError: if they were not recorded.
    """
    site = f"encoder.layers.{layer}.self_attn."
    query = torch.tensor(trace[f"{site}hook_query"], device=model.embedding.weight.device)[None]
    attention: MultiHeadAttention = model.get_submodule(site[:-1])  # type: ignore[assignment]
    with torch.no_grad():
        scores_with_w_q = attention.score(query, query)[0].cpu().double()
    scores_with_w_k = torch.tensor(trace[f"{site}hook_scores"]).double()
    return KeyMatrixComparison(
        with_w_k=scores_with_w_k.softmax(-1).numpy(),
        with_w_q=scores_with_w_q.softmax(-1).numpy(),
        asymmetry_with_w_k=_asymmetry(scores_with_w_k),
        asymmetry_with_w_q=_asymmetry(scores_with_w_q),
    )


def _asymmetry(scores: torch.Tensor) -> float:
    return float((scores - scores.transpose(-1, -2)).abs().max())
