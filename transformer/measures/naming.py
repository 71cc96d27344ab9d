"""Display names of tokens, layers and heads.

Names of tokens are exact, as in the model, with "▁" at the beginning of words, `<s>` and `</s>`, or
readable, without these symbols. Layers and heads are counted from 1; addresses and the Python API,
as in `trace.weights(kind, layer)[head]`, count from 0. `common/naming.js` does the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from transformer.measures.pieces import BEGIN, BYTE
from transformer.measures.words import words

CONTROL_NAMES = {"<s>": "start", "</s>": "end", "<unk>": "▯"}
"""Readable names of the control tokens."""

BLANK = "␣"
"""Name of the piece "▁" alone."""

CONTINUATION = "…"
"""Prefix of a piece that continues a word."""


def token_name(token: str, exact: bool = False) -> str:
    """Return the name of a single token; a byte piece is named by its hexadecimal value."""
    if exact:
        return token
    if byte := BYTE.fullmatch(token):
        return f"byte {byte[1]}"
    return CONTROL_NAMES.get(token, token.removeprefix(BEGIN) or BLANK)


def token_names(tokens: Sequence[str], exact: bool = False) -> list[str]:
    """Return the names of a sentence's tokens; pieces that continue a word begin with "…"."""
    if exact:
        return list(tokens)
    numbers = words(tokens)
    names = []
    for position, token in enumerate(tokens):
        begins = position == 0 or numbers[position] != numbers[position - 1]
        name = token_name(token)
        names.append(
            name
            if begins or token in CONTROL_NAMES or _only_punctuation(name)
            else CONTINUATION + name
        )
    return names


def piece_name(token: str, exact: bool = False) -> str:
    """Return the name of a token outside of its sentence; a piece that continues a word begins
    with "…"."""
    return token_names(("▁a", token), exact)[1]


def _only_punctuation(name: str) -> bool:
    return all(unicodedata.category(letter)[0] in "PS" for letter in name)


def display_number(index: int) -> int:
    """Return the displayed number of a layer, head or position, from 1."""
    return index + 1


def layer_name(layer: int) -> str:
    return f"layer {display_number(layer)}"


def head_name(layer: int, head: int) -> str:
    """Return a name such as "layer 4, head 2"."""
    return f"{layer_name(layer)}, head {display_number(head)}"


def short_name(layer: int, head: int) -> str:
    """Return a short name such as "L4·H2"."""
    return f"L{display_number(layer)}·H{display_number(head)}"


def index_name(layer: int, head: int) -> str:
    """Return a short name with the indices from 0, such as "L3·H1", for numbers that are read by a
    program; `display_text` rewrites it."""
    return f"L{layer}·H{head}"


def file_name(content: str, model: str = "", text: str = "", *parts: str) -> str:
    """Return the name of a downloaded file without extension: content, model, sentence and more, in
    characters that are valid in every file system."""
    return "-".join(part for part in (content, _slug(model), _slug(text), *parts) if part)


def _slug(text: str) -> str:
    """Return the first words in ASCII, joined by hyphens."""
    decomposed = unicodedata.normalize("NFKD", text)
    letters = "".join(
        letter for letter in decomposed if unicodedata.category(letter)[0] != "M"
    ).lower()
    return "-".join(re.findall(r"[a-z0-9]+", letters)[:6])[:50]


def display_text(text: str, exact: bool = False) -> str:
    """Rewrite a text with indices from 0, "layer 3, head 1" and "L3·H1", for display, and with
    readable names of `</s>` and the other control tokens unless `exact`."""
    if not exact:
        text = text.replace("<unk>", "the unknown token")
        for token, name in CONTROL_NAMES.items():
            text = text.replace(token, f"“{name}”")
    text = re.sub(r"L(\d+)·H(\d+)", lambda m: short_name(int(m[1]), int(m[2])), text)
    return re.sub(
        r"\b([Ll]ayer|[Hh]ead) (\d+)", lambda m: f"{m[1]} {display_number(int(m[2]))}", text
    )


_SUBSCRIPT = re.compile(r"(\w*)_\{((?:\d+|[a-z]|[a-z]=\d+)(?:,(?:\d+|[a-z]))*)\}")
_CONCATENATED = re.compile(r"\\quad (\d+) = (\d+) (\\cdot \d+) \+ (\d+)")


def display_latex(text: str) -> str:
    """Rewrite a formula of `analysis.inside`, whose subscripts count from 0, for display.

    Ids of the vocabulary (v) stay, as in E_{264,5}, and so does P(y_{3}), which is the third output
    in the paper's numbering.
    """

    def subscript(match: re.Match[str]) -> str:
        letter, indices = match[1], match[2].split(",")
        if letter == "y" and text[: match.start()].endswith("P("):
            return match[0]
        n_unchanged = 1 if letter == "E" else 0  # the id of a token
        counted = [*indices[:n_unchanged], *map(_index, indices[n_unchanged:])]
        return f"{letter}_{{{','.join(counted)}}}"

    text = _SUBSCRIPT.sub(subscript, text)
    text = re.sub(r"\^\{\((\d+)\)\}", lambda m: f"^{{({display_number(int(m[1]))})}}", text)
    text = re.sub(r"\\quad u = (\d+)", lambda m: rf"\quad u = {display_number(int(m[1]))}", text)
    return _CONCATENATED.sub(
        lambda m: (
            rf"\quad {display_number(int(m[1]))} = ({display_number(int(m[2]))} - 1) {m[3]} "
            rf"+ {display_number(int(m[4]))}"
        ),
        text,
    )


def _index(index: str) -> str:
    """Return one subscript counted from 1: "5" becomes "6", "i=5" "i=6"; a letter stays."""
    letter, equals, number = index.rpartition("=")
    if not number.isdigit() or letter == "v":
        return index
    return f"{letter}{equals}{display_number(int(number))}"
