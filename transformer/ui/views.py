"""The browser views of `figures/` on a Streamlit page."""

from __future__ import annotations

import streamlit as st

from transformer.figures import explorer_data, module, prefixed, steps_data, style, translation_data
from transformer.figures.packing import Part
from transformer.figures.state import DEFAULTS, State, check
from transformer.ui import readings, state
from transformer.ui.comparison import names
from transformer.ui.models import Model
from transformer.ui.readings import Reading

_explorer = st.components.v2.component(
    "heads_up.explorer", css=style("explorer"), js=module("explorer")
)
_translation = st.components.v2.component(
    "heads_up.translation", css=style("translation"), js=module("translation")
)
_moves = st.components.v2.component("heads_up.moves", css=style("moves"), js=module("moves"))


def explorer(
    model: Model, reading: Reading, second: Reading | None = None, versus: str = ""
) -> None:
    """The attention explorer. What is chosen in the browser is drawn there at once; the session
    hears of it afterwards, and sends what is missing.

    Args:
        second: to compare with; `versus` says what it is, as in `figures.explorer_data`.
    """
    now = reading.side.resolved(state.view().explorer())
    both = [reading] if second is None else [reading, second]
    parts = [
        part
        for number, one in enumerate(both)
        for part in prefixed(one.side.layers(_layers(now)), number)
    ]
    if now["view"] == "query-key":
        parts += _vectors(model, reading, now)
    # The state it opens with is not sent again with every later choice: while nothing else changes,
    # the same bytes as before do not travel again.
    if st.session_state.get("opened", (None,))[0] != state.visit():
        st.session_state["opened"] = (state.visit(), now)
    visit, opening = st.session_state["opened"]
    sides = [one.side for one in both]
    data = explorer_data(
        sides, opening, parts, visit=visit, versus=versus, names=names(model, versus)
    )
    _explorer(key="explorer", data=data, on_state_change=_explored)


def head(reading: Reading, kind: str) -> None:
    """The clearest head of a kind alone, as a picture that answers to the pointer."""
    layer, number = reading.side.clearest(kind)
    start: State = {"view": "heatmap", "kind": kind, "layer": layer, "head": number}
    part = reading.side.layer(kind, layer)
    data = explorer_data([reading.side], start, prefixed([part], 0), alone=True)
    _explorer(key="head", data=data, on_state_change=lambda: None)


def translation(reading: Reading) -> None:
    """The translation, large, and the pieces that were read and written."""
    done = reading.trace.translation
    data = translation_data(done.text, done.src_tokens, done.tokens)
    _translation(key="translation", data=data)


def pair(key: str, data: bytes) -> None:
    """Two tables of one head, of `figures.moves.moves_data`. The cell that is chosen in them is the
    view's `row` and `column`."""

    def chosen() -> None:
        told = st.session_state[key]["state"]
        state.change(row=int(told["row"]), column=int(told["column"]))

    _moves(key=key, data=data, on_state_change=chosen)


def steps(reading: Reading) -> None:
    """The table of decoding steps."""
    _translation(key="steps", data=steps_data(reading.trace.translation.steps))


def _layers(now: State) -> list[int]:
    """The layers that are looked at: of the chosen head, and of the heads that are on."""
    on = [head for head in str(now["heads"]).split(",") if "." in head]  # not "" and not "none"
    return [int(now["layer"]), *(int(head.split(".")[0]) for head in on)]


def _vectors(model: Model, reading: Reading, now: State) -> list[Part]:
    layer = min(int(now["layer"]), model.n_layers - 1)
    head = min(int(now["head"]), model.n_heads - 1)
    return prefixed(readings.vectors(model, reading, str(now["kind"]), layer, head), 0)


def _explored() -> None:
    """The browser tells what the user looks at now; what it may not hold is left out."""
    told = st.session_state["explorer"]["state"]
    values: State = {}
    for name in DEFAULTS:
        try:
            values[name] = check(name, told[name])
        except (KeyError, ValueError):
            continue
    state.change(**values)
