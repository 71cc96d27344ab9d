"""Inline Markdown to HTML: bold, italics, code and short formulas; everything else is escaped."""

from __future__ import annotations

import re
from html import escape

_PARTS = re.compile(
    r"\\(?P<sign>[^\w\s])|`(?P<code>[^`]*)`|\$(?P<math>[^$]*)\$|(?P<bold>\*\*)|(?P<italic>\*)"
)
_COMMANDS = {
    "cos": "cos",
    "max": "max",
    "infty": "∞",
    "in": "∈",
    "cdot": "·",
    "times": "×",
    "theta": "θ",
    "alpha": "α",
    "epsilon": "ε",
    "left": "",
    "right": "",
    "mathbb": "",
    "text": "",
    ",": " ",
}
"""Replacement of each LaTeX command; an empty one keeps only the argument."""
_ACCENTS = {"hat": "\u0302", "sqrt": "√"}
_TOKEN = re.compile(
    r"\\(?P<command>[a-zA-Z]+|,)\s*|(?P<raise>[_^])|(?P<open>\{)|(?P<close>\})|.", re.S
)


def html_of(markdown: str) -> str:
    """Return one paragraph as HTML; the only tags in it are those written here.

    Raises:
        ValueError: if a formula has an unknown command or unbalanced braces.
    """
    parts, end, still_open = [], 0, {"bold": False, "italic": False}
    tags = {"bold": "b", "italic": "i"}
    for part in _PARTS.finditer(markdown):
        parts.append(escape(markdown[end : part.start()]))
        end = part.end()
        kind = part.lastgroup or ""
        if kind in tags:
            parts.append(f"<{'/' if still_open[kind] else ''}{tags[kind]}>")
            still_open[kind] = not still_open[kind]
        elif kind == "code":
            parts.append(f"<code>{escape(part['code'])}</code>")
        elif kind == "math":
            parts.append(f'<span class="math">{_formula(part["math"])}</span>')
        else:
            parts.append(escape(part["sign"]))
    parts.append(escape(markdown[end:]))
    parts += [f"</{tags[kind]}>" for kind in ("italic", "bold") if still_open[kind]]
    return "".join(parts)


def _formula(latex: str) -> str:
    """Return a formula as HTML with subscripts and superscripts."""
    tokens = list(_TOKEN.finditer(latex))
    html, end = _parse_group(tokens, 0, latex)
    if end != len(tokens):
        raise ValueError(f"The formula {latex!r} closes a brace that was not opened.")
    return html


def _parse_group(tokens: list[re.Match[str]], index: int, latex: str) -> tuple[str, int]:
    """Parse from token `at` to the closing brace; return the HTML and the index of the brace."""
    parts = []
    while index < len(tokens) and not tokens[index]["close"]:
        part, index = _parse_item(tokens, index, latex)
        parts.append(part)
    return "".join(parts), index


def _parse_item(tokens: list[re.Match[str]], index: int, latex: str) -> tuple[str, int]:
    """Parse a character, a command with its argument, or a group; return it and the next index."""
    if index >= len(tokens):
        raise ValueError(f"The formula {latex!r} is incomplete.")
    token = tokens[index]
    if token["open"]:
        inner, end = _parse_group(tokens, index + 1, latex)
        if end >= len(tokens):
            raise ValueError(f"The formula {latex!r} leaves a brace open.")
        return inner, end + 1
    if token["raise"]:
        inner, end = _parse_item(tokens, index + 1, latex)
        tag = "sub" if token["raise"] == "_" else "sup"
        return f"<{tag}>{inner}</{tag}>", end
    name = token["command"]
    if name in _ACCENTS:
        inner, end = _parse_item(tokens, index + 1, latex)
        return (f"√({inner})" if name == "sqrt" else inner + _ACCENTS[name]), end
    if name is not None:
        if name not in _COMMANDS:
            raise ValueError(f"The formula {latex!r} has the unknown command \\{name}.")
        return _COMMANDS[name], index + 1
    return escape(token[0]), index + 1
