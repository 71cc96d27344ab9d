"""Trace files that a visitor opens instead of a trace of the checkpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import streamlit as st

from transformer.figures import PackedTrace, explorer_page
from transformer.inference.untrusted_trace import MAX_FILE_BYTES, open_trace
from transformer.measures.naming import file_name
from transformer.text.visible import is_blank
from transformer.ui.base import state, visitor
from transformer.ui.base.registry import HOME
from transformer.ui.pages.home import Home, explorer
from transformer.ui.services import shared
from transformer.ui.services.memory_cache import SizedCache
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import frame
from transformer.ui.widgets.tables import download

MAX_CACHE_BYTES = 192_000_000
"""Memory for the opened traces of all visitors; the latest one is kept even if it is larger."""
MAX_NAME_CHARACTERS = 80
"""Maximum length of a trace's name; the rest is cut."""
_ERROR_KEY = "trace-refused"


class OpenedTraces(SizedCache[CachedTrace]):
    """Opened traces by visitor and trace id, so that they survive a reload and work in all tabs."""

    def __init__(self) -> None:
        super().__init__(MAX_CACHE_BYTES, lambda cached_trace: cached_trace.size)


def file_field(label: str, name: str) -> None:
    """Draw an upload field that sets the view's field `name`, "trace" or "other_trace"."""
    key = f"{name}-file"
    st.file_uploader(
        f"{label}, up to {MAX_FILE_BYTES / 1e6:g} MB",
        type=["npz"],
        max_upload_size=MAX_FILE_BYTES // 1_000_000,
        key=key,
        on_change=_open_file,
        args=(key, name, visitor.ensure_id()),
    )


def controls() -> None:
    st.caption(
        "Open a file made by **Export all tensors (.npz)** or `Trace.save_npz`, or attention of "
        "another model (`Trace.from_weights`). This page then shows the file instead of the "
        "checkpoint. No other visitor sees it."
    )
    file_field("Trace file (.npz)", "trace")
    _show_error()


def show() -> None:
    view = state.view(Home)
    cached_trace = _find_trace(view.trace)
    with st.container(horizontal=True, vertical_alignment="center"):
        frame.callback_button("Back to the checkpoint", "arrow_back", _switch_trace, "")
        with st.popover("Open another trace"):
            file_field("Trace file (.npz)", "trace")
        if cached_trace is not None:
            with st.popover("Compare"):
                file_field("Second trace file (.npz)", "other_trace")
                frame.state_button(
                    "Stop comparing", "", {"other_trace": ""}, disabled=not view.other_trace
                )
    _show_error()
    if cached_trace is None:
        st.warning(
            "The trace of this link is not available. Links do not contain traces, and the server "
            "keeps one only for the browser that opened it, and only for a time. Open the file "
            "again, or go back to the checkpoint."
        )
        return
    _show_trace(cached_trace, view.other_trace)


def _show_trace(cached_trace: CachedTrace, second_id: str) -> None:
    trace = cached_trace.trace
    title = (
        f"**{frame.plain(cached_trace.model)}** · {trace.n_layers} layers of {trace.n_heads} heads"
    )
    st.markdown(f"{title}  \n{frame.plain(trace.source)} → **{frame.plain(trace.text)}**")
    st.caption(
        "A trace contains no model, so you cannot force words, switch off heads or translate "
        "another sentence. The other pages still use the checkpoint. Links to this page do not "
        "contain the trace: send the file as well."
    )
    second = _find_trace(second_id)
    if second_id and second is None:
        st.warning("The second trace is no longer available; open its file again to compare.")
    for problem in state.clamp(trace.n_layers, trace.n_heads):
        st.warning(frame.plain(problem))
    if state.view(Home).force:
        state.set_fields(force="")
        st.warning("You cannot force another word in a trace: that needs the model.")
    explorer.show(None, cached_trace, second, "other" if second else "")
    download(
        "Export as web page (.html)",
        _page_builder(cached_trace, second),
        f"{file_name('attention', cached_trace.model, trace.source)}.html",
        help="One file with all heads that opens without this app and without a network.",
    )


def _page_builder(cached_trace: CachedTrace, second: CachedTrace | None) -> Callable[[], str]:
    # Read the session now: `build_page` runs outside of it.
    explorer_state = state.view(Home).explorer()

    def build_page() -> str:
        sides = [PackedTrace(cached_trace.trace, "A" if second else "", cached_trace.model)]
        if second is not None:
            sides.append(PackedTrace(second.trace, "B", second.model))
        title = cached_trace.trace.source
        return explorer_page(sides, explorer_state, title, has_notices=True)

    return build_page


def _find_trace(trace_id: str) -> CachedTrace | None:
    return (
        shared.shared_service(OpenedTraces).get((visitor.ensure_id(), trace_id))
        if trace_id
        else None
    )


def _open_file(key: str, field_name: str, owner: str) -> None:
    """Store the uploaded trace for this visitor and show it, or keep the error; a callback."""
    file = st.session_state[key]
    if file is None:
        return
    content = file.getvalue()
    try:
        cached_trace = read_trace_file(content, file.name)
    except ValueError as error:
        st.session_state[_ERROR_KEY] = str(error)
        return
    st.session_state.pop(_ERROR_KEY, None)
    trace_id = hashlib.blake2b(content, digest_size=8).hexdigest()
    shared.shared_service(OpenedTraces).put((owner, trace_id), cached_trace)
    if field_name == "trace":
        _switch_trace(trace=trace_id)
    else:
        state.change(other_trace=trace_id)


def read_trace_file(content: bytes, upload_name: str) -> CachedTrace:
    """Return the trace in a file's bytes, named after the file without its folder.

    Raises:
        ValueError: see `open_trace`.
    """
    display_name = PurePosixPath(upload_name.replace("\\", "/")).name.replace("\0", "")[
        :MAX_NAME_CHARACTERS
    ]
    cached_trace = CachedTrace(
        open_trace(content), "a trace" if is_blank(display_name) else display_name
    )
    _ = cached_trace.packed.description  # raises here if the explorer cannot show it
    return cached_trace


def _switch_trace(trace: str) -> None:
    """Show this trace, or the checkpoint for "", with no head selected, as heads differ."""
    cleared: dict[str, Any] = {
        "layer": -1,
        "head": -1,
        "heads": "",
        "tokens": "",
        "pin": "",
        "force": "",
    }
    view = replace(state.view(Home), depth="heads", trace=trace, other_trace="", **cleared)
    state.replace_view(HOME, view)


def _show_error() -> None:
    if error := st.session_state.pop(_ERROR_KEY, ""):
        st.warning(frame.plain(frame.as_sentence(error)))
