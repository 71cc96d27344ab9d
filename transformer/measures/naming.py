"""What tokens, layers and heads are called: exactly as the model has them, or as people read them.

Exactly: pieces with "▁" where a word begins, `<s>` and `</s>`, numbers from 0 as in
`trace.weights(kind, layer)[head]`. Else no signs, and numbers from 1. `browser/naming.js` does
alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from transformer.measures.pieces import BEGIN, BYTE
from transformer.measures.words import words

SIGNS = {"<s>": "start", "</s>": "end", "<unk>": "▯"}
"""What stands for the control tokens where people read."""

BLANK = "␣"
"""A piece that begins a word and has no letter yet."""

GOES_ON = "…"
"""Before a piece that goes on with a word."""


def token_name(token: str, exact: bool = False) -> str:
    """A piece or a word where nothing is said of what stands before it. A piece that is one byte of
    a character is called by the byte, in hexadecimal digits."""
    if exact:
        return token
    if byte := BYTE.fullmatch(token):
        return f"byte {byte[1]}"
    return SIGNS.get(token, token.removeprefix(BEGIN) or BLANK)


def token_names(tokens: Sequence[str], exact: bool = False) -> list[str]:
    """The pieces of a sentence, each by itself: one that goes on with a word says so."""
    if exact:
        return list(tokens)
    numbers = words(tokens)
    found = []
    for place, token in enumerate(tokens):
        begins = place == 0 or numbers[place] != numbers[place - 1]
        name = token_name(token)
        found.append(name if begins or token in SIGNS or _only_signs(name) else GOES_ON + name)
    return found


def _only_signs(name: str) -> bool:
    return all(unicodedata.category(letter)[0] in "PS" for letter in name)


def counted(number: int, exact: bool = False) -> int:
    """The number of a layer or a head as it is shown."""
    return number if exact else number + 1


def layer_name(layer: int, exact: bool = False) -> str:
    return f"layer {counted(layer, exact)}"


def head_name(layer: int, head: int, exact: bool = False) -> str:
    """Such as "layer 4, head 2"."""
    return f"{layer_name(layer, exact)}, head {counted(head, exact)}"


def short_name(layer: int, head: int, exact: bool = False) -> str:
    """Such as "L4·H2", out of which nobody reads a number."""
    return f"L{counted(layer, exact)}·H{counted(head, exact)}"


def file_name(what: str, model: str = "", text: str = "", *more: str) -> str:
    """What a file that is taken away is called, without its ending: what it holds, of which model,
    on which sentence, and what else there is to say; in letters that every file system takes."""
    return "-".join(part for part in (what, _bare(model), _bare(text), *more) if part)


def _bare(text: str) -> str:
    """Its first words, without accents."""
    apart = unicodedata.normalize("NFKD", text)
    letters = "".join(one for one in apart if unicodedata.category(one)[0] != "M").lower()
    return "-".join(re.findall(r"[a-z0-9]+", letters)[:6])[:50]


def retold(text: str, exact: bool = False) -> str:
    """Rewrite a text with exact names, "layer 3, head 1", "L3·H1" and `</s>`, for display."""
    if exact:
        return text
    for sign, name in SIGNS.items():
        text = text.replace(sign, f"“{name}”")
    text = re.sub(r"L(\d+)·H(\d+)", lambda m: short_name(int(m[1]), int(m[2])), text)
    return re.sub(r"\b([Ll]ayer|[Hh]ead) (\d+)", lambda m: f"{m[1]} {counted(int(m[2]))}", text)


_SUBSCRIPT = re.compile(r"(\w*)_\{((?:\d+|[a-z]|[a-z]=\d+)(?:,(?:\d+|[a-z]))*)\}")
_CONCATENATED = re.compile(r"\\quad (\d+) = (\d+) (\\cdot \d+) \+ (\d+)")


def retold_latex(text: str, exact: bool = False) -> str:
    """Rewrite a formula of `analysis.inside`, whose subscripts count from 0, for display.

    Ids of the vocabulary (v) stay, as in E_{264,5}, and so does P(y_{3}), which is the third output
    in the paper's numbering.
    """
    if exact:
        return text

    def subscript(match: re.Match[str]) -> str:
        letter, indices = match[1], match[2].split(",")
        if letter == "y" and text[: match.start()].endswith("P("):
            return match[0]
        kept = 1 if letter == "E" else 0  # the id of a token
        return f"{letter}_{{{','.join([*indices[:kept], *map(_index, indices[kept:])])}}}"

    text = _SUBSCRIPT.sub(subscript, text)
    text = re.sub(r"\^\{\((\d+)\)\}", lambda m: f"^{{({counted(int(m[1]))})}}", text)
    text = re.sub(r"\\quad u = (\d+)", lambda m: rf"\quad u = {counted(int(m[1]))}", text)
    return _CONCATENATED.sub(
        lambda m: (
            rf"\quad {counted(int(m[1]))} = ({counted(int(m[2]))} - 1) {m[3]} "
            rf"+ {counted(int(m[4]))}"
        ),
        text,
    )


def _index(index: str) -> str:
    """One subscript counted from 1: "5" is "6", "i=5" is "i=6"; a letter stays."""
    letter, equals, number = index.rpartition("=")
    if not number.isdigit() or letter == "v":
        return index
    return f"{letter}{equals}{counted(int(number))}"
