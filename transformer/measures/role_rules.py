"""A simple rule for the role of a head at every step of training, for the markers of the film.

The rule, on one sentence:

- *aligned*: in cross-attention, at least half of the weight is on the source words that the
  predicted word is aligned with, on average over at least three rows. Only for sentences with a
  known alignment, such as those of built-in tasks.
- *positional*: at least 90% of the rows have their greatest weight at one offset (Voita et al.
  2019, section 5.1, https://arxiv.org/abs/1905.09418; `measures.positional`).
- *backwards*: the same, counted from the other end of the sentence: row i attends to position
  n - 1 - i, as needed to reverse a sequence. Not for decoder self-attention, where these positions
  are masked.
- *sink*: at least half of the weight is on the first or on the last token, which serves as an
  attention sink (Clark et al. 2019, section 3.2, https://arxiv.org/abs/1906.04341).
- *none* otherwise. The first rule that holds decides.

A few rows may agree by chance, especially before training, so an offset counts only if at least
four rows and half of all rows can reach it, and a sink needs four rows. The decoder's first row has
only one key and does not count for a sink.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer import measures
from transformer.measures.kinds import AttentionKind
from transformer.measures.words import special, word_labels

POSITIONAL, SINK, MIN_SENTENCE_ROWS = 0.9, 0.5, 4
ALIGNED, MIN_ALIGNED_ROWS = 0.5, 3
Links = Collection[tuple[int, int]]
"""Aligned pairs of source and target positions, from 0."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class Role:
    """One head's role; `share` is the number that the rule compares, 0 for the role "none".

    Attributes:
        group: none, aligned, positional, backwards or sink.
        short: two or three characters for small labels.
        text: what the head does: "attends to the previous token".
    """

    group: str
    short: str
    text: str
    share: float


NONE = Role("none", "·", "none", 0.0)


def roles(
    weights: Float[np.ndarray, "*heads query key"],
    kind: AttentionKind,
    keys: Sequence[str],
    links: Links = (),
) -> npt.NDArray[np.object_]:
    """The `Role` of every head, in an array of the leading shape.

    Args:
        weights: each row is a distribution; any float type.
        kind: encoder, decoder or cross.
        keys: the token of every column.
        links: the alignment of the sentence; row j of cross-attention writes target token j.

    Raises:
        ValueError: if weights are not from 0 to 1, or the number of columns is not that of `keys`.
    """
    *heads, queries, columns = weights.shape
    if columns != len(keys):
        raise ValueError(f"There are {columns} columns for {len(keys)} tokens.")
    flat = weights.reshape(-1, queries, columns).astype(np.float32)
    head_roles = [NONE] * len(flat)
    free_rows = flat[:, 1:] if kind == "decoder" else flat
    if columns > 2 and free_rows.shape[1] >= MIN_SENTENCE_ROWS:
        for column, name in ((columns - 1, "last"), (0, "first")):
            shares = measures.share(free_rows, column)
            for head in np.flatnonzero(shares >= SINK):
                text = f"attends mostly to {word_labels([keys[column]])[0]}, the {name} token"
                head_roles[head] = Role("sink", name, text, float(shares[head]))
    min_rows = max(MIN_SENTENCE_ROWS, queries / 2)
    mirrored = kind != "decoder"
    for reversed_keys in (True, False) if mirrored else (False,):
        oriented = flat[:, :, ::-1] if reversed_keys else flat
        offsets, shares = measures.offset(oriented), measures.positional(oriented)
        # Rows that can reach the offset, as measures.positional counts them.
        reach = np.minimum(queries, columns - offsets) - np.maximum(0, -offsets)
        for head in np.flatnonzero((shares >= POSITIONAL) & (reach >= min_rows)):
            role_of = fixed_offset_from_end if reversed_keys else fixed_offset
            head_roles[head] = role_of(int(offsets[head]), float(shares[head]), kind, keys)
    if kind == "cross":
        shares = aligned_share(flat, links)
        text = f"follows the alignment{_shape(links)}"
        for head in np.flatnonzero(shares >= ALIGNED):
            head_roles[head] = Role("aligned", "align", text, float(shares[head]))
    role_array: npt.NDArray[np.object_] = np.empty(len(head_roles), object)
    role_array[:] = head_roles
    return role_array.reshape(heads)


def aligned_share(
    weights: Float[np.ndarray, "heads query key"], links: Links
) -> Float[np.ndarray, " heads"]:
    """Return the mean weight on linked source tokens over the rows that write a linked token; 0 for
    fewer than `MIN_ALIGNED_ROWS` of them."""
    _, queries, columns = weights.shape
    linked = np.zeros((queries, columns), np.float32)
    for source, target in links:
        if source < columns and target < queries:
            linked[target, source] = 1
    rows = linked.any(axis=1)
    if rows.sum() < MIN_ALIGNED_ROWS:
        return np.zeros(len(weights), np.float32)
    return np.asarray((weights * linked)[:, rows].sum(axis=-1).mean(axis=-1))


def _shape(links: Links) -> str:
    """Describe the alignment if it is a diagonal, else ""."""
    if all(source == target for source, target in links):
        return " (the diagonal)"
    if len({source + target for source, target in links}) == 1:
        return " (the reversed diagonal)"
    return ""


def fixed_offset(offset: int, share: float, kind: AttentionKind, keys: Sequence[str]) -> Role:
    """Return the role of a head whose rows attend to one offset."""
    if offset == 0:
        text = "attends to the same position" if kind == "cross" else "attends to its own position"
        return Role("positional", "0", text, share)
    if abs(offset) == 1:
        text = f"attends to the {'previous' if offset < 0 else 'next'} token"
    else:
        text = f"attends {_count(offset)} tokens {'back' if offset < 0 else 'ahead'}"
    return Role("positional", f"{offset:+d}".replace("-", "−"), text, share)


def fixed_offset_from_end(
    offset: int, share: float, kind: AttentionKind, keys: Sequence[str]
) -> Role:
    """Return the role of a head whose rows attend to one offset from the end of the sentence."""
    # The end of the sentence is before its </s>, if it has one.
    end_offset = offset - int(special(keys[-1:])[0])
    if end_offset == 0:
        return Role("backwards", "⇆", "reads backwards", share)
    direction = "nearer the beginning" if end_offset > 0 else "nearer the end"
    return Role("backwards", "⇆", f"reads backwards, {_count(end_offset)} {direction}", share)


def _count(offset: int) -> str:
    return NUMBERS[abs(offset)] if abs(offset) < len(NUMBERS) else str(abs(offset))
