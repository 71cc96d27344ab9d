"""All heads of a translation in the explorer, side by side with a second one, and the exports."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from transformer.figures import PackedTrace, explorer_data, explorer_page, prefixed
from transformer.figures.packing import Part
from transformer.figures.state import FIELDS, State
from transformer.measures.kinds import checked_kind
from transformer.measures.naming import file_name
from transformer.ui.base import state
from transformer.ui.pages.home import Home, comparison
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import frame, views
from transformer.ui.widgets.tables import download


def show(model: Model) -> None:
    """Draw the explorer with the translation, the controls of a comparison, and the exports."""
    view = state.view(Home)
    cached_trace = trace_cache.read(model, view)
    if view.more or view.view == "compare" or comparison.is_requested(view):
        with st.container(horizontal=True, key="depth-tools"), st.popover("Compare"):
            comparison.controls(model)
    second, second_kind = comparison.load_second(model, cached_trace)
    _explorer(model, cached_trace, second, second_kind)
    st.markdown(f"{model.description.target}: **{frame.plain(cached_trace.trace.text)}**")
    _export_buttons(model, cached_trace, second, second_kind)


def _explorer(
    model: Model, cached_trace: CachedTrace, second: CachedTrace | None, second_kind: str
) -> None:
    """Draw the explorer. The browser shows a new selection at once; the rerun sends missing
    vectors.

    Args:
        second: the trace to compare with.
        second_kind: what the second trace is, as in `figures.explorer_data`.
    """
    requested = state.view(Home).explorer()
    vectors = []
    if (
        requested["view"] == "query-key"
        and min(int(requested["layer"]), int(requested["head"])) >= 0
    ):
        vectors = _vector_parts(model, cached_trace, requested)
    # Always send the state with which the page was opened: Streamlit does not resend equal data.
    if st.session_state.get("opened", (None,))[0] != state.visit_count():
        st.session_state["opened"] = (state.visit_count(), requested)
    visit, opening = st.session_state["opened"]
    data = explorer_data(
        [cached_trace.packed, *([] if second is None else [second.packed])],
        opening,
        vectors,
        visit=visit,
        second_kind=second_kind,
        names=comparison.side_names(model, second_kind),
        aligner=model.aligner,
        # In a lesson, the lines about notable heads would give the answer away.
        has_notices=not state.view().lesson,
        page_settings={name: requested[name] for name in ("exact", "size")},
    )
    views.explorer(key="explorer", data=data, on_state_change=_save_explorer_state)


def _vector_parts(model: Model, cached_trace: CachedTrace, explorer_state: State) -> list[Part]:
    layer = min(int(explorer_state["layer"]), cached_trace.trace.n_layers - 1)
    head = min(int(explorer_state["head"]), cached_trace.trace.n_heads - 1)
    kind = checked_kind(explorer_state["kind"])
    return prefixed(trace_cache.vectors(model, cached_trace, kind, layer, head), 0)


def _save_explorer_state() -> None:
    """Callback: store the state that the browser reports, without invalid values."""
    if "explorer" not in st.session_state:
        return  # the visitor has left the page
    message = st.session_state["explorer"]["state"]
    values: State = {}
    for name, field in FIELDS.items():
        try:
            values[name] = field.read(message[name])
        except (KeyError, ValueError):
            continue
    state.change(**values)


def _export_buttons(
    model: Model, cached_trace: CachedTrace, second: CachedTrace | None, second_kind: str
) -> None:
    """Draw the export buttons; a click builds the file."""
    name = file_name("attention", model.name, cached_trace.trace.source)
    with st.container(horizontal=True, vertical_alignment="center"):
        download(
            "Export as web page (.html)",
            _page_builder(model, cached_trace, second, second_kind),
            f"{name}.html",
            help="One file with all heads that opens without this app and without a network.",
        )
        download(
            "Export all tensors (.npz)",
            _npz_builder(model, cached_trace),
            f"{name}.npz",
            help="For Python: open it with `Trace.load_npz(file)`, or with NumPy alone.",
        )


def _page_builder(
    model: Model, cached_trace: CachedTrace, second: CachedTrace | None, second_kind: str
) -> Callable[[], str]:
    # Read the session now: `build_page` runs outside of it.
    explorer_state, aligner = state.view(Home).explorer(), model.aligner
    titles = ("",) if second is None else comparison.side_names(model, second_kind) or ("A", "B")

    def build_page() -> str:
        sides = [PackedTrace(trace_cache.full_trace(model, cached_trace), titles[0], model.name)]
        if second is not None:
            sides.append(PackedTrace(second.trace, titles[1]))
        title = cached_trace.trace.source
        return explorer_page(sides, explorer_state, title, aligner, has_notices=True)

    return build_page


def _npz_builder(model: Model, cached_trace: CachedTrace) -> Callable[[], bytes]:
    def build_file() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.npz"
            trace_cache.full_trace(model, cached_trace).save_npz(path)
            return path.read_bytes()

    return build_file
