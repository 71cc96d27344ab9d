"""Shapes of a whole batch: several sentences at once through one attention (section 3.2).

Whoever writes Q as (B, h, L, d_k) means this: B sentences side by side, the shorter ones padded.
Everywhere else in this app B is 1, and left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.model.masks import padding_mask, target_mask
from transformer.text.batching import pad, shift_right


@dataclass(frozen=True)
class ShapeStep:
    """One tensor of the attention: what it is, its axes by name, and what they were."""

    what: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def written(self) -> str:
        """ "(B, h, L, d_k) = (3, 8, 11, 32)"."""
        return f"({', '.join(self.axes)}) = ({', '.join(map(str, self.shape))})"


@dataclass(frozen=True, eq=False)
class Batched:
    """One attention over several sentences.

    Attributes:
        tokens: of each sentence's keys, padding included: B rows of S.
        steps: in the order of equation 1.
        on_padding: greatest weight that any query gives to a key that is padding.
        apart: greatest difference between the attention's output for the first sentence alone
            and in the batch.
        padding: share of all places of the keys that are padding.
    """

    tokens: tuple[tuple[str, ...], ...]
    steps: tuple[ShapeStep, ...]
    on_padding: float
    apart: float
    padding: float


_SITES = ("query", "key", "value", "scores", "weights", "heads", "output")


def batched(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], attention: str
) -> Batched:
    """Run these pairs as training runs them, side by side, and look at one attention's tensors.

    Args:
        attention: "decoder.layers.0.cross_attn".

    Raises:
        ValueError: for no pairs, sides of unequal number, or an attention that there is not.
    """
    if not sources or len(sources) != len(targets):
        raise ValueError(f"there are {len(sources)} sentences and {len(targets)} translations")
    config, encode = translator.model.config, translator.vocabulary.encode
    src = pad([encode(text) for text in sources], config.pad_id)
    # The last piece is only ever a target.
    outputs = [encode(text, target=True) for text in targets]
    tgt = pad(shift_right(outputs, config.bos_id), config.pad_id)
    of_source = attention.startswith("encoder") or attention.endswith("cross_attn")
    rows, keys = tgt if attention.startswith("decoder") else src, src if of_source else tgt
    mask = padding_mask(src, config.pad_id) if of_source else target_mask(tgt, config.pad_id)
    seen = _run(translator, src, tgt, attention)
    first = [int((side[0] != config.pad_id).sum()) for side in (src, tgt, rows)]
    alone = _run(translator, src[:1, : first[0]], tgt[:1, : first[1]], attention)
    empty = keys == config.pad_id
    return Batched(
        tokens=tuple(tuple(translator.vocabulary.tokens(row)) for row in keys.tolist()),
        steps=_steps(seen, mask),
        on_padding=float((seen["weights"] * empty[:, None, None, :]).max()),
        apart=float((seen["output"][:1, : first[2]] - alone["output"]).abs().max()),
        padding=float(empty.float().mean()),
    )


def _run(translator: Translator, src: Tensor, tgt: Tensor, attention: str) -> dict[str, Tensor]:
    """What the hooks of one attention saw."""
    seen: dict[str, Tensor] = {}

    def keep(found: Tensor, name: str) -> None:
        seen[name.rpartition("hook_")[2]] = found.cpu()

    hooks = Hooks({f"{attention}.hook_{site}": keep for site in _SITES})
    with torch.inference_mode():
        translator.model(src.to(translator.device), tgt.to(translator.device), hooks=hooks)
    return seen


def _steps(seen: dict[str, Tensor], mask: Tensor) -> tuple[ShapeStep, ...]:
    """L is the length of the queries' side, S that of the keys'."""
    by_head, scores = ("B", "h", "L", "d_k"), ("B", "h", "L", "S")
    values = ("B", "h", "S", "d_v")
    joined = seen["heads"].transpose(1, 2).flatten(-2)
    found = (
        ("Q, split into heads", by_head, seen["query"]),
        ("Kᵀ, the last two axes changed round", ("B", "h", "d_k", "S"), seen["key"].mT),
        ("QKᵀ / √d_k", scores, seen["scores"]),
        ("the mask, one for all heads", ("B", "1", "1 or L", "S"), mask),
        ("softmax over the last axis", scores, seen["weights"]),
        ("V, split into heads", values, seen["value"]),
        ("weights · V", ("B", "h", "L", "d_v"), seen["heads"]),
        ("Concat: the heads side by side", ("B", "L", "h · d_v"), joined),
        ("times W^O", ("B", "L", "d_model"), seen["output"]),
    )
    return tuple(ShapeStep(what, axes, tuple(tensor.shape)) for what, axes, tensor in found)
