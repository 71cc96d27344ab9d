"""The browser views of `figures/` on a Streamlit page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import streamlit as st

from transformer.figures import translation_data
from transformer.figures.contributions import CellValues, contributions_data
from transformer.figures.headgrid import Grid, headgrid_data
from transformer.figures.views import loader
from transformer.inference import Trace
from transformer.measures.kinds import AttentionKind, Head, checked_kind
from transformer.ui.base import state
from transformer.ui.base.registry import BY_PATH
from transformer.ui.services import view_scripts
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import display_names

CALLBACKS = {"on_choice_change", "on_state_change"}


@cache
def component(view: str) -> Callable[..., Any]:
    """Return the function that mounts one of `figures.views.COMPONENTS`.

    A choice in a view is an event (`on_choice_change`): the same choice twice triggers it twice.
    The explorer's view is persistent state (`on_state_change`). Callbacks are not called for a view
    that is no longer on the page: its value is gone.
    """
    return _mounted(view, view_scripts.path(view))


@cache
def training_component(page: str) -> Callable[..., Any]:
    """Return the function that mounts a page that trains in the tab, "trainer" or "clinic"."""
    return _mounted(page, view_scripts.training_path(f"app/{page}/component.js"))


def _mounted(name: str, path: str) -> Callable[..., Any]:
    mount = st.components.v2.component(f"heads_up.{name}", js=loader(path, [*BY_PATH]))

    def mount_view(*, key: str, **options: Any) -> Any:
        for option in CALLBACKS & options.keys():
            options[option] = partial(_call_if_drawn, key, options[option])
        return mount(key=key, **options)

    return mount_view


def _call_if_drawn(key: str, callback: Callable[[], object]) -> None:
    if key in st.session_state:
        callback()


_translation = component("translation")
_contributions = component("contributions")
_head_grid = component("headgrid")


def translation(cached_trace: CachedTrace, language: str = "") -> None:
    """Draw the translation, in the language with this code, and the tokens of both sides."""
    translation = cached_trace.trace.translation
    data = translation_data(
        translation.text, translation.src_tokens, translation.tokens, language=language
    )
    data["words"] = not display_names.is_exact()
    _translation(key="translation", data=data)


def pair(
    key: str,
    quantities: Sequence[CellValues],
    active: tuple[str, str],
    model: Model,
    trace: Trace,
    head: Head,
    cell: tuple[int, int] | None,
) -> None:
    """Draw two tables of one head (`figures.contributions`). Their selected cell is the view's
    `row` and `column`."""
    rows, columns = trace.labels(head[0])
    data = contributions_data(
        quantities,
        active,
        kind=head[0],
        rows=display_names.tokens(rows),
        columns=display_names.tokens(columns),
        writes=None if head[0] == "encoder" else display_names.tokens(trace.predicted_tokens),
        cell=cell,
        head=f"{model.hash} {head} {trace.src_ids} {trace.tgt_ids} {display_names.is_exact()}",
        large=state.is_large(),
    )

    def select_cell() -> None:
        choice = st.session_state[key]["choice"]
        state.change(row=int(choice["row"]), column=int(choice["column"]))

    _contributions(key=key, data=data, on_choice_change=select_cell)


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


def cell_of(trace: Trace, kind: AttentionKind) -> tuple[int, int] | None:
    """Return the selected cell if it exists for this kind of attention."""
    view = state.view()
    rows, columns = trace.labels(kind)
    is_cell = 0 <= view.row < len(rows) and 0 <= view.column < len(columns)
    return (view.row, view.column) if is_cell else None
