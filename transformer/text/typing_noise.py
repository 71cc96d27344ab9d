"""Variants of a sentence pair as visitors type it: no final mark, any case, stray spaces.

A model that has only read edited sentences depends on their final mark and their capital letter.
Each function changes the source the way a careless writer would; the target stays the edited
sentence, except that a final mark left out on one side is left out on the other.
"""

from __future__ import annotations

import re

import numpy as np

_FINAL_MARK = re.compile(r"(?<=[^\s.!?…])\s?(?:[.!?…]|\.\.\.)$")
_INNER_MARK = re.compile(r"(\w)([,;])\s")


def typing_variant(src: str, tgt: str, random: np.random.Generator) -> tuple[str, str]:
    """Return the pair with one to three random changes.

    Half of the variants lose the final mark on both sides (none if only one side has one), 70 %
    change case, and one in eight changes its spacing.
    """
    if random.random() < 0.5:
        src, tgt = without_final_mark(src, tgt)
    draw = random.random()
    if draw < 0.3:
        src = src[:1].lower() + src[1:]
    elif draw < 0.55:
        src = src.lower()
    elif draw < 0.7:
        src = src.upper()
    if random.random() < 0.125:
        src = _respaced(src, random)
    return src, tgt


def without_final_mark(src: str, tgt: str) -> tuple[str, str]:
    """Return both sides without their final full stop, exclamation or question mark; unchanged if
    one side has no such mark, or nothing else."""
    shorter = _FINAL_MARK.sub("", src), _FINAL_MARK.sub("", tgt)
    return (src, tgt) if shorter[0] == src or shorter[1] == tgt else shorter


def _respaced(src: str, random: np.random.Generator) -> str:
    """A space before the final mark, or none after a comma."""
    if random.random() < 0.5:
        return re.sub(r"(?<=\w)([.!?…])$", r" \1", src)
    return _INNER_MARK.sub(r"\1\2", src)
