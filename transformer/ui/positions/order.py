"""The picture before the formula: two sentences of the same words, with positions and without."""

from __future__ import annotations

import streamlit as st

from transformer.analysis import positions
from transformer.figures.clocks import STYLE, bars, turning
from transformer.ui import frame, state, trace_cache
from transformer.ui.kit import exact, tables
from transformer.ui.kit.charts import chart, dark
from transformer.ui.kit.remembered import remembered
from transformer.ui.models import Model
from transformer.ui.positions import Positions

CLOCKS = (0.0, 0.1, 0.2, 0.35, 0.6)
"""Which pairs turn, as shares of all of them: from the fastest on."""
MOST_WORDS = 12


def order(model: Model) -> None:
    """Who bites whom, as the whole model reads it and as one that is not told places does."""
    pair = _pair(model)
    frame.lead(
        "The same words in another order mean something else. Attention by itself cannot see that: "
        "it weighs words, wherever they stand. So every **place** gets a vector that is added to "
        "its word. Take these vectors away, and see."
    )
    found = _reordered(model, *pair)
    tables.show(
        "What the model writes",
        ["It reads", "With positions", "Without positions of the source"],
        [
            [text, found.written["with"][at], found.written["without"][at]]
            for at, text in enumerate(pair)
        ],
    )
    same = found.written["without"][0] == found.written["without"][1]
    st.markdown(
        "**Without positions both sentences are one to it**: it writes the same for both."
        if same
        else "Without positions it writes nearly the same for both: what differs is rounding."
    )
    pieces = exact.tokens(found.pieces)
    groups = {"with positions": found.alike["with"], "without": found.alike["without"]}
    across, down = "piece", "how alike in both sentences"
    chart(bars(groups, pieces, across=across, down=down, dark=dark()), "positions-order")
    st.caption(
        "What to see: each bar compares a piece's vector after the encoder in the one sentence "
        "with its vector in the other, by their cosine: 1 is the same direction. Without positions "
        "all are 1: in no number do the vectors differ by more than "
        f"{found.apart['without']:.1g}, with them by up to {found.apart['with']:.1f}."
    )


def clocks(model: Model) -> None:
    """The pairs of the sinusoids as clocks that turn over the visitor's sentence."""
    trace = trace_cache.read(model, state.view(Positions)).trace
    words = exact.tokens(trace.src_tokens[:MOST_WORDS])
    lengths = positions.wavelengths(model.translator.model.config.d_model)
    shown = [float(lengths[int(share * (len(lengths) - 1))]) for share in CLOCKS]
    st.markdown(
        "A place is told as a row of **clocks**. From word to word each hand turns by its own "
        "angle: the first tells neighbours apart, the last ones early from late. No two places "
        "show the same."
    )
    turn = st.session_state.get("positions-turn", 0)
    st.button("Turn them again", icon=":material/replay:", on_click=_again)
    st.html(f"<style>{STYLE}</style>")
    with st.container(key=f"positions-clocks-{turn % 2}"):  # another place on the page begins anew
        st.html(turning(words, shown, turn))
    st.caption(
        "A hand's height is a cosine, its way to the right a sine: these are the numbers that are "
        f"added (section 3.5), {len(lengths)} clocks in all. The next picture has all of them."
        + ("" if len(trace.src_tokens) <= MOST_WORDS else f" The first {MOST_WORDS} pieces turn.")
    )


def _again() -> None:
    st.session_state["positions-turn"] = st.session_state.get("positions-turn", 0) + 1


def _pair(model: Model) -> tuple[str, str]:
    """Dog and man where the model reads English, else the visitor's sentence and its words back to
    front."""
    if not model.about.kind:
        return positions.ORDER_PAIR
    words = state.view().text.split()
    return " ".join(words), " ".join(reversed(words))


@remembered("Reading both sentences …")
def _reordered(model: Model, first: str, second: str) -> positions.Reordered:
    return positions.reordered(model.translator, first, second)
