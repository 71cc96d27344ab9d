"""Rows, cells, activations and tokens of one sentence changed by hand: `Hooks` for one call.

Each takes the `Trace` of the sentence as it is, to know its tokens and refuse what it has not:

    trace = translator.trace("I am a student.")
    translator.translate(trace.source, hooks=painted(trace, ("cross", 5, 0), 1, [0, 0, 1, 0, 0, 0]))

Queries and keys are positions of the whole sentence. While an output is decoded freely its later
rows are not there yet; a change waits until they are. It never lengthens an output.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from transformer.analysis.interventions.switching import Head, check_heads, site
from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.inference.trace import Array, Trace


def painted(trace: Trace, head: Head, query: int, weights: Sequence[float]) -> Hooks:
    """One row of one head as given, divided by its sum.

    Args:
        weights: one number from 0 a key: of every source token for encoder and cross attention,
            of the positions 0 to `query` for the decoder's own, which sees no later ones.

    Raises:
        ValueError: for a head or a query that is not there, or a row of another length, with
            negative numbers, or without a positive one.
    """
    check_place(trace, head, query)
    kind, layer, number = head
    wanted = query + 1 if kind == "decoder" else len(trace.src_tokens)
    if len(weights) != wanted:
        raise ValueError(f"the row has {len(weights)} weights; query {query} has {wanted} keys")
    total = math.fsum(weights)
    if not (all(w >= 0 for w in weights) and 0 < total < math.inf):
        raise ValueError("a row needs weights that are 0 or more, and one of them above 0")
    row = torch.tensor([w / total for w in weights])

    def paint(old: Tensor) -> Tensor:
        new = torch.zeros_like(old)
        new[..., :wanted] = row.to(old)
        return new

    return _row(kind, layer, number, query, paint, wanted)


def blanked(trace: Trace, head: Head, query: int, key: int, *, renormalise: bool = False) -> Hooks:
    """One weight set to 0; see `blanking.blank_cells` for what the two ways mean. Raises ValueError
    for a head, a query or a key that is not there."""
    check_place(trace, head, query)
    kind, layer, number = head
    n_keys = query + 1 if kind == "decoder" else len(trace.src_tokens)
    if not 0 <= key < n_keys:
        raise ValueError(f"query {query} has no key {key}; its keys are 0 to {n_keys - 1}")

    def blank(old: Tensor) -> Tensor:
        new = old.clone()
        new[..., key] = 0
        return rescaled(new) if renormalise else new

    return _row(kind, layer, number, query, blank, n_keys)


def rescaled(weights: Tensor) -> Tensor:
    """Rows divided by their sums; one that is all 0 stays so."""
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1)


def _row(
    kind: str,
    layer: int,
    head: int,
    query: int,
    change: Callable[[Tensor], Tensor],
    n_keys: int,
) -> Hooks:
    """`change` applied to row `query` of one head, (batch, key), wherever that row is there."""

    def hook(weights: Tensor, name: str) -> Tensor | None:
        if query >= weights.shape[-2] and kind != "encoder":
            return None  # not written yet
        if query >= weights.shape[-2] or (kind != "decoder" and n_keys != weights.shape[-1]):
            raise ValueError(
                f"{name} has {weights.shape[-2]} rows of {weights.shape[-1]} keys here; "
                f"the change is for row {query} of {n_keys} keys, of another sentence"
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
    """Activations of another sentence put into this one.

    Args:
        trace, donor: of this sentence and of the one to take from; both recorded `name`.
        name: any site of the model.
        positions: where to put them; `donor_positions`: where they come from (left out: the same).
        heads: of which heads, at a site that has some; left out: of all.

    Raises:
        ValueError: for a site, a position or a head that is not there, as many positions as there
            are not, or rows of another width (weights over another number of source tokens).
    """
    for which, whose in ((trace, "this"), (donor, "the donor's")):
        if name not in which:
            raise ValueError(f"{whose} trace was recorded without {name!r}")
    here, there = trace[name], torch.tensor(donor[name])
    sources = positions if donor_positions is None else donor_positions
    if not positions or len(positions) != len(sources):
        raise ValueError(
            f"{len(positions)} positions here and {len(sources)} there; "
            "they must be as many, and at least one"
        )
    _check_positions(positions, here.shape[-2])
    _check_positions(sources, there.shape[-2], "the donor's ")
    # Rows of the decoder's own attention are as long as the output so far.
    growing = re.fullmatch(r"decoder.*self_attn\.hook_(scores|weights)", name) is not None
    if here.shape[-1] != there.shape[-1] and not growing:
        raise ValueError(
            f"rows of {name} are {there.shape[-1]} wide there and {here.shape[-1]} here"
        )
    chosen = _heads_of(here, name, heads)
    of_source = re.match(r"encoder|.*cross_attn\.hook_(key|value)", name) is not None
    values = there[..., list(sources), :]

    def put(x: Tensor, _: str) -> Tensor:
        now = [n for n, position in enumerate(positions) if position < x.shape[-2]]
        if of_source and len(now) < len(positions):
            raise ValueError(f"{name} has {x.shape[-2]} positions here, not {max(positions) + 1}")
        rows = values[..., now, :].to(x)
        if growing:
            rows = functional.pad(rows, (0, x.shape[-1] - rows.shape[-1]))  # cuts if negative
        changed, places = x.clone(), torch.tensor([positions[n] for n in now], dtype=torch.long)
        if chosen is None:
            changed[:, places] = rows
        else:
            changed[:, torch.tensor(chosen)[:, None], places] = rows[chosen]
        return changed

    return Hooks({name: put}, causal=True)


def _heads_of(values: Array, name: str, heads: Sequence[int] | None) -> list[int] | None:
    """The heads to change, all if none are named; None at a site that has no heads."""
    if values.ndim == 2:
        if heads is not None:
            raise ValueError(f"{name} has no heads; leave them out")
        return None
    for head in heads or ():
        if not 0 <= head < len(values):
            raise ValueError(f"there is no head {head}; the heads are 0 to {len(values) - 1}")
    return list(range(len(values)) if heads is None else heads)


def hidden(trace: Trace, positions: Iterable[int]) -> Hooks:
    """Source tokens that nobody can look at: their keys masked in every encoder and cross head.

    The others keep their places, which they lose if the token is really taken out of the text
    (`without_pieces`). Raises ValueError for a position outside the source, or if no token would be
    left.
    """
    config = ModelConfig.from_dict(trace.config)
    away = sorted(set(positions))
    _check_positions(away, len(trace.src_tokens))
    if len(away) == len(trace.src_tokens):
        raise ValueError(f"all {len(away)} source tokens would be hidden; leave one")

    def mask(scores: Tensor, name: str) -> Tensor:
        if scores.shape[-1] != len(trace.src_tokens):
            raise ValueError(
                f"{name} has {scores.shape[-1]} keys here; the sentence whose tokens are hidden "
                f"has {len(trace.src_tokens)}"
            )
        changed = scores.clone()
        changed[..., away] = -torch.inf
        return changed

    layers = range(config.n_layers)
    sites = [site(kind, k, "scores") for kind in ("encoder", "cross") for k in layers]
    return Hooks(dict.fromkeys(sites, mask), causal=True)


def without_pieces(translator: Translator, text: str, positions: Iterable[int]) -> str:
    """The text with these source pieces taken out; what follows moves up.

    The rest is a text like any other and is cut into pieces anew: what was left of a word may be
    cut differently. Raises ValueError for a position outside the text (`</s>` is no part of it), or
    nothing left.
    """
    ids = translator.vocabulary.encode(text)[:-1]
    away = set(positions)
    _check_positions(away, len(ids))
    rest = translator.vocabulary.decode([id for n, id in enumerate(ids) if n not in away]).strip()
    if not rest:
        raise ValueError(f"nothing is left of {text!r}; keep a word")
    return rest


def check_place(trace: Trace, head: Head, query: int) -> None:
    """Raises ValueError for a head or a query that the trace has not."""
    check_heads(ModelConfig.from_dict(trace.config), [head])
    _check_positions([query], len(trace.src_tokens if head[0] == "encoder" else trace.tgt_tokens))


def _check_positions(positions: Iterable[int], length: int, whose: str = "") -> None:
    for position in positions:
        if not 0 <= position < length:
            raise ValueError(
                f"there is no position {position}; {whose}positions are 0 to {length - 1}"
            )
