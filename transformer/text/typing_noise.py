"""Sentence pairs with typical typing errors: no final punctuation, another case, stray spaces.

A model trained on edited text depends on final punctuation and capital letters. Each function
changes the source as a careless writer would; the target stays as edited, except that final
punctuation is removed from both sides or from neither.
"""

from __future__ import annotations

import re

import numpy as np

_FINAL_MARK = re.compile(r"(?<=[^\s.!?…])\s?(?:[.!?…]|\.\.\.)$")
_INNER_MARK = re.compile(r"(\w)([,;])\s")


def typing_variant(src: str, tgt: str, random: np.random.Generator) -> tuple[str, str]:
    """Return the pair with one to three random changes.

    Half of the variants lose the final punctuation on both sides (if both have it), 70% change
    case, and one in eight changes its spacing.
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
    """Return both sides without their final full stop, exclamation or question mark; both stay
    unchanged if a side has no such mark or consists of it."""
    shorter = _FINAL_MARK.sub("", src), _FINAL_MARK.sub("", tgt)
    return (src, tgt) if shorter[0] == src or shorter[1] == tgt else shorter


def _respaced(src: str, random: np.random.Generator) -> str:
    """Add a space before the final punctuation, or remove the space after a comma."""
    if random.random() < 0.5:
        return re.sub(r"(?<=\w)([.!?…])$", r" \1", src)
    return _INNER_MARK.sub(r"\1\2", src)
