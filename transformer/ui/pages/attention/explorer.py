"""The attention explorer on its page: what is chosen is drawn at once, and can be taken away."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from transformer.figures import ExplorerData, explorer_data, explorer_page, prefixed
from transformer.figures.explorer_sides import vectors_of
from transformer.figures.packing import Part
from transformer.figures.state import FIELDS, State
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.attention import Attention, comparison
from transformer.ui.pages.attention.comparison import names
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import views
from transformer.ui.widgets.story import first_look, story
from transformer.ui.widgets.tables import download


def show(
    model: Model | None, reading: CachedTrace, second: CachedTrace | None = None, versus: str = ""
) -> None:
    """The explorer. The session hears of a choice afterwards, and sends what is missing.

    Args:
        model: that the reading is of; None where it is a file's, with all there will be.
        second: to compare with; `versus` says what it is, as in `figures.explorer_data`.
    """
    aligner = model.aligner if model else None
    now = first_look(reading, state.view(Attention).explorer(), aligner)
    both = [reading] if second is None else [reading, second]
    parts = [
        part
        for number, one in enumerate(both)
        for part in prefixed(one.side.layers(_layers(now, reading)), number)
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
        sides,
        opening,
        parts,
        visit=visit,
        versus=versus,
        names=names(model, versus) if model else (),
        # In a lesson it would tell what is to be guessed or found.
        story=[] if state.view().lesson else story(reading, aligner),
        exact=int(now["exact"]),
    )
    views.explorer(key="explorer", data=data, on_state_change=_explored)


def _layers(now: State, reading: CachedTrace) -> list[int]:
    """The layers that are looked at: of the chosen head, of the heads that are on, and where the
    translation is written step by step of the clearest head of each kind."""
    found = reading.side.doc["clearest"].values() if now["view"] == "decoding" else ()
    clearest = [layer for layer, _ in found]
    on = [head for head in str(now["heads"]).split(",") if "." in head]  # not "" and not "none"
    return [int(now["layer"]), *clearest, *(int(head.split(".")[0]) for head in on)]


def _vectors(model: Model | None, reading: CachedTrace, now: State) -> list[Part]:
    layer = min(int(now["layer"]), reading.trace.n_layers - 1)
    head = min(int(now["head"]), reading.trace.n_heads - 1)
    kind = str(now["kind"])
    if model is None:
        return prefixed(vectors_of(reading.trace, kind, layer, head), 0)
    return prefixed(trace_cache.vectors(model, reading, kind, layer, head), 0)


def _explored() -> None:
    """The browser tells what the user looks at now; what it may not hold is left out."""
    if "explorer" not in st.session_state:
        return  # the visitor has left the page since
    told = st.session_state["explorer"]["state"]
    values: State = {}
    for name, field in FIELDS.items():
        try:
            values[name] = field.read(told[name])
        except (KeyError, ValueError):
            continue
    state.change(**values)


def buttons(
    model: Model, reading: CachedTrace, second: CachedTrace | None = None, versus: str = ""
) -> None:
    """Made when they are clicked, not before; `second` and `versus` as `explorer.show` has them."""
    name = file_name("attention", model.name, reading.trace.source)
    with st.container(horizontal=True, vertical_alignment="center"):
        download(
            "Export as web page (.html)",
            _page(model, reading, second, versus),
            f"{name}.html",
            about="One file with all heads that opens without this app and without a network.",
        )
        download(
            "Export all tensors (.npz)",
            _npz(model, reading),
            f"{name}.npz",
            about="For Python: open it with `Trace.load_npz(file)`, or with NumPy alone.",
        )


def _page(
    model: Model, reading: CachedTrace, second: CachedTrace | None, versus: str
) -> Callable[[], str]:
    # Of this moment: what is made later runs outside the session.
    shown = first_look(reading, state.view(Attention).explorer(), model.aligner)
    told = story(reading, model.aligner)
    names = ("",) if second is None else comparison.names(model, versus) or ("A", "B")

    def made() -> str:
        sides = [ExplorerData(trace_cache.full_trace(model, reading), names[0], model.name)]
        if second is not None:
            sides.append(ExplorerData(second.trace, names[1]))
        return explorer_page(sides, shown, reading.trace.source, told)

    return made


def _npz(model: Model, reading: CachedTrace) -> Callable[[], bytes]:
    def made() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.npz"
            trace_cache.full_trace(model, reading).save_npz(path)
            return path.read_bytes()

    return made
