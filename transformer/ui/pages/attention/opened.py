"""A trace file that a visitor opened, looked at in place of what the checkpoint computes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import streamlit as st

from transformer.figures import ExplorerData, explorer_page
from transformer.inference.untrusted_trace import MAX_FILE_BYTES, open_trace
from transformer.jobs import services
from transformer.measures.naming import file_name
from transformer.text.visible import is_blank
from transformer.ui import state
from transformer.ui.pages.attention import Attention, explorer
from transformer.ui.services.memory_cache import SizedCache
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame
from transformer.ui.widgets.story import first_look, story
from transformer.ui.widgets.tables import download

ROOM = 192_000_000
"""Bytes of opened traces on this server, of all visitors; the one used last always stays."""
LETTERS = 80
"""Of a file's name, at most."""
_REFUSED = "trace-refused"


class OpenedTraces(SizedCache[CachedTrace]):
    """What visitors opened, by visitor and name: for all tabs of each, and after a reload."""

    def __init__(self) -> None:
        super().__init__(ROOM, lambda reading: reading.size)


def field(label: str, name: str) -> None:
    """Where a trace file is chosen; it becomes the view's `name`, "trace" or "other_trace"."""
    key = f"{name}-file"
    st.file_uploader(
        f"{label}, up to {MAX_FILE_BYTES / 1e6:g} MB",
        type=["npz"],
        max_upload_size=MAX_FILE_BYTES // 1_000_000,
        key=key,
        on_change=_take,
        args=(key, name, visitor.ensure_id()),
    )


def controls() -> None:
    st.caption(
        "Open a file made by **Export all tensors (.npz)** or `Trace.save_npz`, or attention of "
        "another model (`Trace.from_weights`). This page then shows the file instead of the "
        "checkpoint. No other visitor sees it."
    )
    field("Trace file (.npz)", "trace")
    _say_refused()


def show() -> None:
    view = state.view(Attention)
    reading = _of(view.trace)
    with st.container(horizontal=True, vertical_alignment="center"):
        frame.callback_button("Back to the checkpoint", "arrow_back", _turn, "")
        with st.popover("Open another trace"):
            field("Trace file (.npz)", "trace")
        if reading is not None:
            with st.popover("Compare"):
                field("Second trace file (.npz)", "other_trace")
                frame.state_button(
                    "Stop comparing", "", {"other_trace": ""}, disabled=not view.other_trace
                )
    _say_refused()
    if reading is None:
        st.warning(
            "The trace of this link is not available. Links do not contain traces, and the server "
            "keeps one only for the browser that opened it, while there is memory. Open the file "
            "again, or go back to the checkpoint."
        )
        return
    _shown(reading, view.other_trace)


def _shown(reading: CachedTrace, beside: str) -> None:
    trace = reading.trace
    named = f"**{frame.plain(reading.model)}** · {trace.n_layers} layers of {trace.n_heads} heads"
    st.markdown(f"{named}  \n{frame.plain(trace.source)} → **{frame.plain(trace.text)}**")
    st.caption(
        "A trace contains no model, so you cannot force words, switch off heads or translate "
        "another sentence. The other pages still use the checkpoint. Links to this page do not "
        "contain the trace: send the file as well."
    )
    second = _of(beside)
    if beside and second is None:
        st.warning("The second trace is no longer available; open its file again to compare.")
    for problem in state.clamp(trace.n_layers, trace.n_heads):
        st.warning(frame.plain(problem))
    if state.view(Attention).force:
        state.set_fields(force="")
        st.warning("You cannot force another word in a trace: that needs the model.")
    explorer.show(None, reading, second, "other" if second else "")
    download(
        "Export as web page (.html)",
        _page(reading, second),
        f"{file_name('attention', reading.model, trace.source)}.html",
        about="One file with all heads that opens without this app and without a network.",
    )


def _page(reading: CachedTrace, second: CachedTrace | None) -> Callable[[], str]:
    # Of this moment: what is made later runs outside the session.
    shown, told = first_look(reading, state.view(Attention).explorer()), story(reading)

    def made() -> str:
        sides = [ExplorerData(reading.trace, "A" if second else "", reading.model)]
        if second is not None:
            sides.append(ExplorerData(second.trace, "B", second.model))
        return explorer_page(sides, shown, reading.trace.source, told)

    return made


def _of(name: str) -> CachedTrace | None:
    return services.shared_service(OpenedTraces).get((visitor.ensure_id(), name)) if name else None


def _take(key: str, field_name: str, owner: str) -> None:
    """A file was chosen: kept for this visitor and looked at, or refused in one sentence."""
    file = st.session_state[key]
    if file is None:
        return
    content = file.getvalue()
    try:
        reading = opened(content, file.name)
    except ValueError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state.pop(_REFUSED, None)
    name = hashlib.blake2b(content, digest_size=8).hexdigest()
    services.shared_service(OpenedTraces).put((owner, name), reading)
    if field_name == "trace":
        _turn(trace=name)
    else:
        state.change(other_trace=name)


def opened(content: bytes, name: str) -> CachedTrace:
    """A trace file as the explorer takes it; it is called by its own name, without any folder.

    Raises:
        ValueError: as `open_trace`.
    """
    called = PurePosixPath(name.replace("\\", "/")).name.replace("\0", "")[:LETTERS]
    reading = CachedTrace(open_trace(content), "a trace" if is_blank(called) else called)
    _ = reading.side.doc  # so that what cannot be shown is refused now
    return reading


def _turn(trace: str) -> None:
    """To this trace, or to the checkpoint with "": the head of one means nothing in the other."""
    look: dict[str, Any] = {
        "layer": -1,
        "head": -1,
        "heads": "",
        "tokens": "",
        "pin": "",
        "force": "",
    }
    now = replace(state.view(Attention), trace=trace, other_trace="", **look)
    state.replace_view("pages/attention.py", now)


def _say_refused() -> None:
    if refused := st.session_state.pop(_REFUSED, ""):
        st.warning(frame.plain(frame.as_sentence(refused)))
