"""Verdicts on a page: a badge for each word, and the effect with its interval beside its floor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import streamlit as st

from transformer.analysis.evidence.verdicts import Word
from transformer.figures.interval_chart import interval, interval_line

BADGES: dict[Word, tuple[Literal["green", "violet", "blue", "gray"], str]] = {
    "holds": ("green", ":material/check_circle:"),
    "refuted": ("violet", ":material/cancel:"),
    "not shown": ("blue", ":material/help:"),
    "can't be tested here": ("gray", ":material/block:"),
}


def badge(word: Word) -> None:
    """The word with a sign of its own, so that nobody needs its colour."""
    colour, icon = BADGES[word]
    st.badge(word.capitalize(), color=colour, icon=icon)


def interval_line_only(found: Mapping[str, Any]) -> None:
    """Draw the effect's interval and the side on which the claim holds, without figures.

    Args:
        found: as for `effect`.
    """
    bounds = found["low"], found["value"], found["high"]
    below = found["needs"] == "below"
    line = interval_line(found["unit"], bounds, found["floor"], below=below)
    st.html(f'<div class="hu-effect hu-effect-small">{line}</div>')


def effect(found: Mapping[str, Any]) -> None:
    """What was measured, where its interval lies, and what the claim needs.

    Args:
        found: with the keys of `analysis.evidence.verdicts.Effect.to_dict`.
    """
    st.html(
        interval(
            found["effect"],
            found["unit"],
            (found["low"], found["value"], found["high"]),
            found["floor"],
            below=found["needs"] == "below",
        )
    )
