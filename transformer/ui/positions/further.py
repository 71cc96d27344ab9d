"""The same sentences at far places: what a model of a language makes of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import streamlit as st

from transformer.analysis.positions import apart, joined, moved, sentences
from transformer.figures.positions import Curve, lines
from transformer.inference import Translator
from transformer.training.live import MAX_PIECES
from transformer.ui import frame
from transformer.ui.charts import chart, dark
from transformer.ui.models import Model
from transformer.ui.positions.measuring import measured
from transformer.ui.remembered import remembered

STARTS = (0, 1, 2, 3, 5, 8, 12, 20, 32, 64, 128, 256, 512)
MOVED = 16
"""Sentences that are moved."""
COUNTS = (1, 2, 3, 4, 6, 9, 13, 18, 26, 38, 52)
"""Sentences that are joined to one text."""


def further(model: Model) -> None:
    """Sentences moved along, and sentences joined."""
    st.subheader("The same sentences, further on")
    st.markdown(
        "Two ways to reach far places. **Moved**: single sentences whose places begin at a later "
        "number; nothing else changes. **Joined**: more and more sentences as one long text. How "
        "probable does the model find the right translation?"
    )
    translator, pairs = model.translator, _pairs(model)
    if model.about.writes != "fr":
        st.caption(
            "Our sentences have French translations, and this model does not write French: its own "
            "translations stand in for right ones."
        )
    tried: dict[Hashable, Callable[[], Any]] = {
        ("moved", at): partial(moved, translator, pairs[:MOVED], at) for at in STARTS
    }
    for count in COUNTS:
        tried["joined", count] = partial(joined, translator, pairs[:count])
    tried["apart"] = partial(apart, translator, pairs, COUNTS)
    found = measured(
        "Measure far places",
        "language",
        [((model.hash, name), partial(_told, work)) for name, work in tried.items()],
    )
    if found:
        _draw(dict(zip(tried, found, strict=True)))


def _pairs(model: Model) -> tuple[tuple[str, str], ...]:
    """Our sentences with a translation into what the model writes."""
    pairs = sentences(max(COUNTS))
    return pairs if model.about.writes == "fr" else _translated(model.hash, pairs, model.translator)


@remembered("Translating …")
def _translated(
    digest: str, pairs: tuple[tuple[str, str], ...], _translator: Translator
) -> tuple[tuple[str, str], ...]:
    """The model's own translations in place of ours."""
    sources = [source for source, _ in pairs]
    found = _translator.translate_batch(sources, method="greedy", candidates=1)
    return tuple((one.source, one.text or one.source) for one in found)  # some text there must be


def _told(work: Callable[[], Any]) -> Any:
    """What was measured, or the sentence of the error that says why nothing was."""
    try:
        return work()
    except ValueError as error:
        return str(error)


def _draw(found: dict[Any, Any]) -> None:
    away = {at: found["moved", at] for at in STARTS if not isinstance(found["moved", at], str)}
    long = [
        (*found["joined", count], alone)
        for count, alone in zip(COUNTS, found["apart"], strict=True)
        if not isinstance(found["joined", count], str)
    ]
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
    for refused in dict.fromkeys(one for one in found.values() if isinstance(one, str)):
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
