"""Hooks that change attention rows, single weights, activations or tokens of one sentence.

Each function takes the `Trace` of the unchanged sentence, against which it checks positions and
lengths:

    trace = translator.trace("I am a student.")
    translator.translate(trace.source, hooks=replaced_row(trace, ("cross", 5, 0), 1, [0, 0, 1]))

Queries and keys are positions of the whole sentence. During decoding, a change of a later row
applies once the output has reached that row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from transformer.analysis.interventions.switching import check_heads, site
from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.inference.trace import Array, Trace
from transformer.measures.kinds import AttentionKind, Head


def replaced_row(trace: Trace, head: Head, query: int, weights: Sequence[float]) -> Hooks:
    """Replace one row of one head by the given weights, divided by their sum.

    Args:
        weights: one number, at least 0, for each key: every source token for encoder and
            cross-attention, the positions 0 to `query` for decoder self-attention, which does not
            see later ones.

    Raises:
        ValueError: for a head or a query that does not exist, or a row of another length, with
            negative numbers, or without a positive one.
    """
    check_query(trace, head, query)
    kind, layer, number = head
    n_keys = query + 1 if kind == "decoder" else len(trace.src_tokens)
    if len(weights) != n_keys:
        raise ValueError(f"the row has {len(weights)} weights; query {query} has {n_keys} keys")
    total = math.fsum(weights)
    if not (all(w >= 0 for w in weights) and 0 < total < math.inf):
        raise ValueError("a row needs weights that are 0 or more, and one of them above 0")
    row = torch.tensor([w / total for w in weights])

    def replace(old: Tensor) -> Tensor:
        new = torch.zeros_like(old)
        new[..., :n_keys] = row.to(old)
        return new

    return _row_hook(kind, layer, number, query, replace, n_keys)


def blanked(trace: Trace, head: Head, query: int, key: int, *, renormalise: bool = False) -> Hooks:
    """Set one weight to 0; see `blanking.blank_cells` for `renormalise`.

    Raises:
        ValueError: for a head, a query or a key that does not exist.
    """
    check_query(trace, head, query)
    kind, layer, number = head
    n_keys = query + 1 if kind == "decoder" else len(trace.src_tokens)
    if not 0 <= key < n_keys:
        raise ValueError(f"query {query} has no key {key}; its keys are 0 to {n_keys - 1}")

    def blank(old: Tensor) -> Tensor:
        new = old.clone()
        new[..., key] = 0
        return rescaled(new) if renormalise else new

    return _row_hook(kind, layer, number, query, blank, n_keys)


def rescaled(weights: Tensor) -> Tensor:
    """Return rows divided by their sums; a row of zeros stays zero."""
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1)


def _row_hook(
    kind: AttentionKind,
    layer: int,
    head: int,
    query: int,
    change: Callable[[Tensor], Tensor],
    n_keys: int,
) -> Hooks:
    """Apply `change` to row `query` of one head, (batch, key), wherever that row exists."""

    def hook(weights: Tensor, name: str) -> Tensor | None:
        if query >= weights.shape[-2] and kind != "encoder":
            return None  # not written yet
        if query >= weights.shape[-2] or (kind != "decoder" and n_keys != weights.shape[-1]):
            raise ValueError(
                f"{name} has {weights.shape[-2]} rows of {weights.shape[-1]} keys here; "
                f"the change is for row {query} of {n_keys} keys of another sentence"
            )
        changed = weights.clone()
        changed[:, head, query] = change(weights[:, head, query])
        return changed

    return Hooks({site(kind, layer, "weights"): hook}, causal=True)


def patched(
    trace: Trace,
    donor: Trace,
    name: str,
    positions: Sequence[int],
    *,
    heads: Sequence[int] | None = None,
    donor_positions: Sequence[int] | None = None,
) -> Hooks:
    """Patch activations of another sentence into this one.

    Args:
        trace, donor: of this sentence and of the one to copy from; both recorded `name`.
        name: any site of the model.
        positions: where to write the activations.
        heads: the heads to patch, at a site that has heads; default: all.
        donor_positions: where they are copied from; default: `positions`.

    Raises:
        ValueError: for a site, a position or a head that does not exist, different numbers of
            positions, or rows of another width (weights over another number of source tokens).
    """
    for recorded, owner in ((trace, "this"), (donor, "the donor's")):
        if name not in recorded:
            raise ValueError(f"{owner} trace was recorded without {name!r}")
    current_values, donor_values = trace[name], torch.tensor(donor[name], device="cpu")
    sources = positions if donor_positions is None else donor_positions
    if not positions or len(positions) != len(sources):
        raise ValueError(
            f"{len(positions)} positions but {len(sources)} donor positions; "
            "their numbers must be equal and at least one"
        )
    _check_positions(positions, current_values.shape[-2])
    _check_positions(sources, donor_values.shape[-2], "the donor's ")
    # Rows of decoder self-attention are as long as the output so far.
    grows = re.fullmatch(r"decoder.*self_attn\.hook_(scores|weights)", name) is not None
    if current_values.shape[-1] != donor_values.shape[-1] and not grows:
        raise ValueError(
            f"rows of {name} have width {donor_values.shape[-1]} in the donor's trace and "
            f"{current_values.shape[-1]} in this one; they must have the same width"
        )
    selected_heads = _heads_of(current_values, name, heads)
    of_source = re.match(r"encoder|.*cross_attn\.hook_(key|value)", name) is not None
    values = donor_values[..., list(sources), :]

    def patch(x: Tensor, _: str) -> Tensor:
        present = [n for n, position in enumerate(positions) if position < x.shape[-2]]
        if of_source and len(present) < len(positions):
            raise ValueError(f"{name} has {x.shape[-2]} positions here, not {max(positions) + 1}")
        rows = values[..., present, :].to(x)
        if grows:
            rows = functional.pad(rows, (0, x.shape[-1] - rows.shape[-1]))  # cuts if negative
        changed, indices = x.clone(), [positions[n] for n in present]
        if selected_heads is None:
            changed[:, indices] = rows
        else:
            heads_column = torch.tensor(selected_heads, device=x.device)[:, None]
            changed[:, heads_column, indices] = rows[selected_heads]
        return changed

    return Hooks({name: patch}, causal=True)


def _heads_of(values: Array, name: str, heads: Sequence[int] | None) -> list[int] | None:
    """Return the heads to change, all if none are given; None at a site that has no heads."""
    if values.ndim == 2:
        if heads is not None:
            raise ValueError(f"{name} has no heads; omit `heads`")
        return None
    for head in heads or ():
        if not 0 <= head < len(values):
            raise ValueError(f"there is no head {head}; the heads are 0 to {len(values) - 1}")
    return list(range(len(values)) if heads is None else heads)


def masked_tokens(trace: Trace, positions: Iterable[int]) -> Hooks:
    """Mask source tokens: no encoder or cross-attention head can attend to them.

    The others keep their positions, which they would lose if the token were removed from the text.
    Raises ValueError for a position outside the source, or if no token would be left.
    """
    config = ModelConfig.from_dict(trace.config)
    masked_positions = sorted(set(positions))
    _check_positions(masked_positions, len(trace.src_tokens))
    if len(masked_positions) == len(trace.src_tokens):
        raise ValueError(
            f"all {len(masked_positions)} source tokens would be masked; leave one unmasked"
        )

    def mask(scores: Tensor, name: str) -> Tensor:
        if scores.shape[-1] != len(trace.src_tokens):
            raise ValueError(
                f"{name} has {scores.shape[-1]} keys here; the sentence whose tokens are masked "
                f"has {len(trace.src_tokens)}"
            )
        changed = scores.clone()
        changed[..., masked_positions] = -torch.inf
        return changed

    layers = range(config.n_layers)
    sites = [site(kind, k, "scores") for kind in ("encoder", "cross") for k in layers]
    return Hooks(dict.fromkeys(sites, mask), causal=True)


def check_query(trace: Trace, head: Head, query: int) -> None:
    """Raise ValueError for a head or a query that the trace does not have."""
    check_heads(ModelConfig.from_dict(trace.config), [head])
    _check_positions([query], len(trace.src_tokens if head[0] == "encoder" else trace.tgt_tokens))


def _check_positions(positions: Iterable[int], length: int, whose: str = "") -> None:
    for position in positions:
        if not 0 <= position < length:
            raise ValueError(
                f"there is no position {position}; {whose}positions are 0 to {length - 1}"
            )
