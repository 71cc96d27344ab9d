"""Files to take away: what is looked at as a page of its own, and the whole trace."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from transformer.figures import ExplorerData, explorer_page
from transformer.figures.naming import file_name
from transformer.ui import state, trace_cache
from transformer.ui.attention import Attention, comparison
from transformer.ui.kit.downloads import download
from transformer.ui.kit.story import first_look, story
from transformer.ui.models import Model
from transformer.ui.trace_cache import Reading


def buttons(
    model: Model, reading: Reading, second: Reading | None = None, versus: str = ""
) -> None:
    """Made when they are clicked, not before; `second` and `versus` as `explorer.show` has them."""
    name = file_name("attention", model.name, reading.trace.source)
    with st.container(horizontal=True, vertical_alignment="center"):
        download(
            "This view as a page (.html)",
            _page(model, reading, second, versus),
            f"{name}.html",
            about="One file that opens without this app and without a network; all heads are in "
            "it.",
        )
        download(
            "Every number (.npz)",
            _npz(model, reading),
            f"{name}.npz",
            about="For Python: `Trace.load_npz(file)`, or numpy alone.",
        )


def _page(model: Model, reading: Reading, second: Reading | None, versus: str) -> Callable[[], str]:
    # Of this moment: what is made later runs outside the session.
    shown, told = first_look(reading, state.view(Attention).explorer()), story(reading)
    names = ("",) if second is None else comparison.names(model, versus) or ("A", "B")

    def made() -> str:
        sides = [ExplorerData(trace_cache.whole(model, reading), names[0], model.name)]
        if second is not None:
            sides.append(ExplorerData(second.trace, names[1]))
        return explorer_page(sides, shown, reading.trace.source, told)

    return made


def _npz(model: Model, reading: Reading) -> Callable[[], bytes]:
    def made() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.npz"
            trace_cache.whole(model, reading).save_npz(path)
            return path.read_bytes()

    return made
