"""The browser views of `figures/` on a Streamlit page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import streamlit as st

from transformer.figures.headgrid import Grid, headgrid_data
from transformer.figures.views import loader
from transformer.measures.kinds import Head, checked_kind
from transformer.ui.base import state
from transformer.ui.base.registry import BY_PATH
from transformer.ui.services import view_scripts


@cache
def component(view: str) -> Callable[..., Any]:
    """Return the function that mounts one of `figures.views.COMPONENTS`.

    A choice in a view is an event (`on_choice_change`): the same choice twice triggers it twice.
    The callback is not called for a view that is no longer on the page: its value is gone.
    """
    return _mounted(view, view_scripts.path(view))


@cache
def training_component(page: str) -> Callable[..., Any]:
    """Return the function that mounts a page that trains in the tab, "trainer" or "clinic"."""
    return _mounted(page, view_scripts.training_path(f"app/{page}/component.js"))


def _mounted(name: str, path: str) -> Callable[..., Any]:
    mount = st.components.v2.component(f"heads_up.{name}", js=loader(path, [*BY_PATH]))

    def mount_view(*, key: str, **options: Any) -> Any:
        if callback := options.pop("on_choice_change", None):
            options["on_choice_change"] = partial(_call_if_drawn, key, callback)
        return mount(key=key, **options)

    return mount_view


def _call_if_drawn(key: str, callback: Callable[[], object]) -> None:
    if key in st.session_state:
        callback()


_head_grid = component("headgrid")


def head_grid(key: str, grids: Sequence[Grid], *, high: float, legend: str, selected: Head) -> None:
    """Draw one grid for each kind of attention (`figures.headgrid`), coloured from 0 to `high`. A
    click on a head selects it in the view, without a row and a column."""
    data = headgrid_data(
        grids, low=0.0, high=high, legend=legend, selected=selected, large=state.is_large()
    )

    def select_head() -> None:
        choice = st.session_state[key]["choice"]
        state.change(
            kind=checked_kind(choice["kind"]),
            layer=int(choice["layer"]),
            head=int(choice["head"]),
            row=-1,
            column=-1,
        )

    _head_grid(key=key, data=data, on_choice_change=select_head)
