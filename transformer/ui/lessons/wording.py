"""Tokens, words and shares as the lessons write them."""

from __future__ import annotations

from collections.abc import Sequence


def pieces(tokens: Sequence[str]) -> str:
    """As code, so that Markdown leaves them as they are."""
    return " ".join(f"`{token.replace('`', 'ˋ')}`" for token in tokens)


def word(text: str) -> str:
    """A word of a sentence, bold; what Markdown would read otherwise is left as it is written."""
    return f"**{escaped(text)}**"


def escaped(text: str) -> str:
    """`text` so that Markdown shows it as it stands."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-.!|$~:" else sign for sign in text)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def about(share: float) -> str:
    """A share that somebody may guess, in whole percent; never all of what is not quite that."""
    return "more than 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"
