"""The three kinds of attention of the paper's section 3.2.3, by name."""

from __future__ import annotations

from typing import Literal, get_args

from transformer.config import did_you_mean

AttentionKind = Literal["encoder", "decoder", "cross"]
"""Self-attention of the encoder, masked self-attention of the decoder, encoder–decoder
attention."""

KINDS: tuple[AttentionKind, ...] = get_args(AttentionKind)

Head = tuple[AttentionKind, int, int]
"""A head: its kind of attention, its layer and its number in the layer, counted from 0."""


def checked_kind(kind: object) -> AttentionKind:
    """Return `kind`. Raises ValueError, with a similar name, if it is not one of `KINDS`."""
    for known in KINDS:
        if kind == known:
            return known
    names = ", ".join(map(repr, KINDS))
    raise ValueError(f"kind must be one of {names}, not {kind!r}{did_you_mean(str(kind), KINDS)}")
