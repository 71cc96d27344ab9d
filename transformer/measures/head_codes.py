"""Heads written in a few letters, as in an address: "e3.2" is head 2 of encoder layer 3."""

from __future__ import annotations

LETTERS = {"encoder": "e", "decoder": "d", "cross": "c"}
"""The letter of each kind of attention."""


def parse_heads(
    codes: str, n_layers: int, n_heads: int
) -> tuple[list[tuple[str, int, int]], list[str]]:
    """Heads written as "e3.2,c5": encoder layer 3, head 2, and all of layer 5's cross heads.

    Returns:
        The heads, none twice, and what was named that is not in the model.
    """
    names = {letter: kind for kind, letter in LETTERS.items()}
    found: list[tuple[str, int, int]] = []
    missing = []
    for code in filter(None, codes.split(",")):
        layer, _, head = code[1:].partition(".")
        heads = [int(head)] if head else list(range(n_heads))
        if int(layer) < n_layers and heads[0] < n_heads:
            found += [(names[code[0]], int(layer), number) for number in heads]
        else:
            missing.append(code)
    return list(dict.fromkeys(found)), missing
