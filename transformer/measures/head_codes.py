"""Short codes of heads, as in URLs: "e3.2" is head 2 of encoder layer 3."""

from __future__ import annotations

from collections.abc import Iterable

from transformer.measures.kinds import AttentionKind, Head

LETTERS: dict[AttentionKind, str] = {"encoder": "e", "decoder": "d", "cross": "c"}
"""Code letter of each kind of attention."""
HEAD_PATTERN = r"[edc]\d{1,3}(\.\d{1,3})?"
HEADS_FORM = (
    rf"({HEAD_PATTERN}(,{HEAD_PATTERN})*)?",
    'e, d or c and layer.head or a layer, with commas, like "e3.2,c5"',
)
"""Regular expression and description of the codes of heads."""


def write_heads(heads: Iterable[Head]) -> str:
    """Return the codes of heads (kind, layer, head), like "c5.1,e3.2"; see `parse_heads`."""
    return ",".join(f"{LETTERS[kind]}{layer}.{head}" for kind, layer, head in sorted(heads))


def parse_heads(codes: str, n_layers: int, n_heads: int) -> tuple[list[Head], list[str]]:
    """Parse codes such as "e3.2,c5": encoder layer 3, head 2, and all cross heads of layer 5.

    Returns:
        The heads without duplicates, and the codes of heads that the model does not have.
    """
    names = {letter: kind for kind, letter in LETTERS.items()}
    found: list[Head] = []
    missing = []
    for code in filter(None, codes.split(",")):
        layer, _, head = code[1:].partition(".")
        heads = [int(head)] if head else list(range(n_heads))
        if int(layer) < n_layers and heads[0] < n_heads:
            found += [(names[code[0]], int(layer), number) for number in heads]
        else:
            missing.append(code)
    return list(dict.fromkeys(found)), missing
