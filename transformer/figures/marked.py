"""A line of Markdown as HTML: bold, italics, code and short formulas, all else escaped."""

from __future__ import annotations

import re
from html import escape

_PARTS = re.compile(
    r"\\(?P<sign>[^\w\s])|`(?P<code>[^`]*)`|\$(?P<math>[^$]*)\$|(?P<bold>\*\*)|(?P<lean>\*)"
)
_NAMES = {
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
"""What is written for a command of a formula; of the last ones only what they enclose."""
_OVER = {"hat": "\u0302", "sqrt": "√"}
_TOKEN = re.compile(
    r"\\(?P<command>[a-zA-Z]+|,)\s*|(?P<raise>[_^])|(?P<open>\{)|(?P<close>\})|.", re.S
)


def html_of(markdown: str) -> str:
    """One paragraph of our Markdown; nothing in it becomes a tag that is not written here.

    Raises:
        ValueError: for a formula with a command or braces that are not known here.
    """
    found, at, still_open = [], 0, {"bold": False, "lean": False}
    tags = {"bold": "b", "lean": "i"}
    for part in _PARTS.finditer(markdown):
        found.append(escape(markdown[at : part.start()]))
        at = part.end()
        kind = part.lastgroup or ""
        if kind in tags:
            found.append(f"<{'/' if still_open[kind] else ''}{tags[kind]}>")
            still_open[kind] = not still_open[kind]
        elif kind == "code":
            found.append(f"<code>{escape(part['code'])}</code>")
        elif kind == "math":
            found.append(f'<span class="math">{_formula(part["math"])}</span>')
        else:
            found.append(escape(part["sign"]))
    found.append(escape(markdown[at:]))
    found += [f"</{tags[kind]}>" for kind in ("lean", "bold") if still_open[kind]]
    return "".join(found)


def _formula(latex: str) -> str:
    """A formula in letters, with what is raised or lowered."""
    tokens = list(_TOKEN.finditer(latex))
    written, end = _group(tokens, 0, latex)
    if end != len(tokens):
        raise ValueError(f"The formula {latex!r} closes a brace that it never opened.")
    return written


def _group(tokens: list[re.Match[str]], at: int, latex: str) -> tuple[str, int]:
    """What stands from `at` to the brace that closes it, and where that is."""
    found = []
    while at < len(tokens) and not tokens[at]["close"]:
        one, at = _one(tokens, at, latex)
        found.append(one)
    return "".join(found), at


def _one(tokens: list[re.Match[str]], at: int, latex: str) -> tuple[str, int]:
    """A sign, a command with what it takes, or a group."""
    if at >= len(tokens):
        raise ValueError(f"The formula {latex!r} ends before it is whole.")
    token = tokens[at]
    if token["open"]:
        inner, end = _group(tokens, at + 1, latex)
        if end >= len(tokens):
            raise ValueError(f"The formula {latex!r} leaves a brace open.")
        return inner, end + 1
    if token["raise"]:
        inner, end = _one(tokens, at + 1, latex)
        tag = "sub" if token["raise"] == "_" else "sup"
        return f"<{tag}>{inner}</{tag}>", end
    name = token["command"]
    if name in _OVER:
        inner, end = _one(tokens, at + 1, latex)
        return (f"√({inner})" if name == "sqrt" else inner + _OVER[name]), end
    if name is not None:
        if name not in _NAMES:
            raise ValueError(f"The formula {latex!r} has \\{name}, which is not known here.")
        return _NAMES[name], at + 1
    return escape(token[0]), at + 1
