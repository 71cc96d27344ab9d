"""The same sentences at far places: what a model of a language makes of them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.figures.positions import Curve, lines
from transformer.jobs import Computation
from transformer.run_config import MAX_PIECES
from transformer.ui import frame, models
from transformer.ui.kit.charts import chart, dark
from transformer.ui.kit.computed import computed
from transformer.ui.models import Model

STARTS = (0, 1, 2, 3, 5, 8, 12, 20, 32, 64, 128, 256, 512)
MOVED = 16
"""Sentences that are moved."""
COUNTS = (1, 2, 3, 4, 6, 9, 13, 18, 26, 38, 52)
"""Sentences that are joined to one text."""


def show(model: Model) -> None:
    """Sentences moved along, and sentences joined."""
    st.subheader("The same sentences, further on")
    st.markdown(
        "Two ways to reach far places. **Moved**: single sentences whose places begin at a later "
        "number; nothing else changes. **Joined**: more and more sentences as one long text. How "
        "probable does the model find the right translation?"
    )
    if model.about.writes != "fr":
        st.caption(
            "Our sentences have French translations, and this model does not write French: its own "
            "translations stand in for right ones."
        )
    if found := computed(_question(model), button="Measure far places"):
        _draw(found)


def _question(model: Model) -> Computation:
    given = {
        "starts": list(STARTS),
        "moved": MOVED,
        "counts": list(COUNTS),
        "french": model.about.writes == "fr",
    }
    folder = str(models.checkpoints()[model.name].resolve())
    return Computation(
        "transformer.analysis.positions.extrapolation:places",
        {**given, "checkpoint": folder, "hash": model.hash},
        known_by=(model.hash, given),
    )


def _draw(found: dict[str, Any]) -> None:
    moved = zip(STARTS, found["moved"], strict=True)
    away = {at: one for at, one in moved if not isinstance(one, str)}
    both = zip(found["joined"], found["apart"], strict=True)
    long = [(*one, alone) for one, alone in both if not isinstance(one, str)]
    chart(
        lines(
            [
                Curve("moved", [at + 1 for at in away], list(away.values())),
                Curve("joined", [one[0] for one in long], [one[1] for one in long]),
                Curve(
                    "the joined ones, one by one",
                    [one[0] for one in long],
                    [one[2] for one in long],
                ),
            ],
            across="moved: first place, from 1. Joined: pieces of the source",
            down="log-probability a piece (nats)",
            log="x",
            dark=dark(),
        ),
        "positions-far-language",
    )
    every = [*found["moved"], *found["joined"]]
    for refused in dict.fromkeys(one for one in every if isinstance(one, str)):
        st.markdown(f"Further on it says: “{frame.plain(refused)}”")
    if len(away) < 2 or not long:
        return
    last = max(away)
    st.markdown(
        f"In its own place a piece costs **{-away[0]:.2f}** nats, moved on by {last} places "
        f"**{-away[last]:.2f}**. Joined to {long[-1][0]} pieces it costs **{-long[-1][1]:.2f}**, "
        f"and the same sentences one by one {-long[-1][2]:.2f}."
    )
    st.caption(
        "A model that went by distances alone would draw a level line when it is moved. Joined "
        "texts are new to it for a second reason: it learned from single sentences. Training "
        f"leaves out pairs of more than {MAX_PIECES} pieces, and most have far fewer: the places "
        "behind are hardly ever met. The sentences are of our own grammar."
    )
