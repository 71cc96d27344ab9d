"""The shift by one, explained on the visitor's sentence: a word has two rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.analysis.alignment.leaderboard import By
from transformer.analysis.alignment.sentence_alignment import Aligned
from transformer.figures.alignment import two_rows
from transformer.ui import frame, state
from transformer.ui.kit import exact
from transformer.ui.kit.charts import chart, dark
from transformer.ui.lab import Lab


def show(made: Aligned, by: By, found: Mapping[str, Any] | None) -> None:
    """The row that writes a word against the row that reads it."""
    st.subheader("Shifted by one")
    st.markdown(
        "The decoder is always one word behind itself: the row that **reads** a word is the row "
        "that **writes** the next one. So a word has two rows, and either may know where it comes "
        "from: the one that writes it, looking for what to say next, or the one that has just "
        "read it. Taken from the wrong row, a good aligner looks as if it were off by one word."
    )
    view = state.view(Lab)
    now = made.owners[min(view.step, len(made.owners) - 1)]
    key = "shift-word"
    st.session_state[key] = now

    def take() -> None:
        state.change(step=made.owners.index(st.session_state[key]))

    st.selectbox(
        "Word",
        sorted(set(made.owners)),
        format_func=lambda j: f"{j}: {made.target[j]}",
        width=220,
        key=key,
        on_change=take,
    )
    word = made.target[now]
    before = made.target[now - 1] if now else exact.token("<s>")
    after = made.target[now + 1] if now + 1 < len(made.target) else exact.token("</s>")
    rows = [
        (f"reads {before}, writes {word}", made.scores["output"][now]),
        (f"reads {word}, writes {after}", made.scores["input"][now]),
    ]
    unit = "attention weight" if by == "weights" else "norm of what is moved, ‖α f(x)‖"
    chart(two_rows(made.source, rows, unit, dark=dark()), "shift")
    writes, reads = (made.source[int(values.argmax())] for _, values in rows)
    st.markdown(
        f"For **{frame.plain(word)}** the row that writes it looks most at "
        f"**{frame.plain(writes)}**, the row that has read it at **{frame.plain(reads)}**."
    )
    if found is not None:
        _over_corpus(found)


def _over_corpus(found: Mapping[str, Any]) -> None:
    view = state.view(Lab)
    agreement = {
        line["to"]: 100 * (1 - line["aer"])
        for line in found["table"]
        if (line["aligner"], line["by"], line["layer"], line["head"])
        == ("head", view.by, view.layer, view.head)
    }
    better = max(agreement, key=agreement.__getitem__)
    told = {"output": "what it is about to write", "input": "what it has just read"}
    st.markdown(
        f"Over the whole corpus this head's links agree to **{agreement['output']:.1f} %** read "
        f"off the row that writes a word, **{agreement['input']:.1f} %** off the row that reads "
        f"it: it aligns {told[better]}. Chen et al. (2020, section 3) found low layers better at "
        "the word that came in, and higher ones at the word that goes out."
    )
