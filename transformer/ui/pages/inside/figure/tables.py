"""The tables of an open box, and the selected number of one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import streamlit as st

from transformer.analysis.inside import (
    OpenedBox,
    Panel,
    boxes,
    program,
    source_code,
    worked_steps,
)
from transformer.figures.tensors import Table, tensor_data
from transformer.measures import naming
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.figure import stops
from transformer.ui.pages.inside.figure.stops import Stop
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame
from transformer.ui.widgets.views import component

_tensors = component("tensors")

Cell = tuple[int, int]


def show(model: Model, stop: Stop, opened: OpenedBox) -> None:
    """Draw every table, and below the active one the computation of the selected number."""
    display_names.token_caption()
    name = state.view(Inside).panel  # an unknown name selects the box's result
    selected = next((panel for panel in opened.panels if panel.name == name), opened.result)
    cell = _cell(selected)
    for panel in opened.panels:
        with st.container(key=f"inside-panel-{panel.name}"):
            _heading(model, panel)
            if panel.collapsed and panel is not selected:
                _expand_button(panel)
                continue
            _table(stop, panel, selected, cell)
            if panel is selected:
                _selected_number(model, opened, panel, cell)


def _heading(model: Model, panel: Panel) -> None:
    rows, columns = panel.values.shape
    size = f"{rows} × {columns}" if panel.values.size > 1 else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        title, symbol = display_names.display_text(panel.title), naming.display_latex(panel.symbol)
        st.markdown(f"**{stops.with_formulas(title)}** &emsp; ${symbol}$ :small[:gray[{size}]]")
        by_name = {box.name: box for box in boxes(model.translator.model.config)}
        if origin := by_name.get(panel.origin):
            st.button(
                f"from {origin.title}",
                key=f"inside-from-{panel.name}",
                type="tertiary",
                icon=":material/arrow_outward:",
                on_click=stops.open_box,
                args=(origin.stop, origin.layer),
            )
        elif panel.origin:
            st.caption(_parameter(panel.origin))
    if panel.note:
        st.caption(frame.plain(display_names.display_text(panel.note)))


def _parameter(name: str) -> str:
    """Return a caption with the name of a learned parameter, which counts layers from 0."""
    counted = " (its name counts from 0)" if ".layers." in name else ""
    return f"learned: `{name}`{counted}"


def _names(labels: Sequence[str]) -> list[str]:
    """Return row or column labels as the session shows them: tokens, heads or numbers."""
    if _is_numbered(labels):
        return [display_names.number(index) for index in range(len(labels))]
    return list(map(_name, labels))


def _name(label: str) -> str:
    if match := re.fullmatch(r"head (\d+), (\d+)", label):
        return f"head {display_names.number(int(match[1]))}, {display_names.number(int(match[2]))}"
    return display_names.token(label) if label else ""


def _cell_name(label: str) -> str:
    """Return the label of one cell: a token or a hidden unit."""
    match = re.fullmatch(r"unit (\d+)", label)
    return f"unit {display_names.number(int(match[1]))}" if match else display_names.piece(label)


def _is_numbered(labels: Sequence[str]) -> bool:
    return labels[0] == "0" and all(label == str(index) for index, label in enumerate(labels))


def _expand_button(panel: Panel) -> None:
    st.button(
        f"Show {panel.values.size:,} numbers",
        key=f"inside-show-{panel.name}",
        on_click=state.change,
        kwargs={"panel": panel.name, "row": -1, "column": -1},
    )


def _table(stop: Stop, panel: Panel, selected: Panel, cell: Cell) -> None:
    is_selected = panel is selected
    same_axes = is_selected or (
        panel.values.shape == selected.values.shape and panel.column_axis == selected.column_axis
    )
    table = Table(
        id=f"{stop.box.stop} {panel.name} {display_names.is_exact()}",
        title=display_names.display_text(panel.title),
        values=panel.values,
        rows=_names(panel.rows),
        columns=() if _is_numbered(panel.columns) else _names(panel.columns),
        row_axis=display_names.display_text(panel.row_axis),
        column_axis=display_names.display_text(panel.column_axis),
        kind=panel.kind,
        cells=[list(map(_cell_name, row)) for row in panel.cells],
        first=1,
    )
    data = tensor_data(
        table, cell if same_axes else None, in_this_table=is_selected, size=state.view(Inside).size
    )
    key = f"tensor-{stop.box.stop}-{panel.name}"

    def select_cell() -> None:
        choice = st.session_state[key]["choice"]
        state.change(panel=panel.name, row=int(choice["row"]), column=int(choice["column"]))

    _tensors(key=key, data=data, on_choice_change=select_cell)


def _selected_number(model: Model, opened: OpenedBox, panel: Panel, cell: Cell) -> None:
    """Draw the computation of the selected number, its Python functions, and a program."""
    row, column = cell
    value = f"{panel.values[cell]:.6g}".replace("-", "−").replace("inf", "∞")
    names = {"row": _names(panel.rows)[row], "column": _names(panel.columns)[column]}
    parts = [f"{axis} {name}" for axis, name in names.items() if name]
    if panel.cells:
        parts.append(_cell_name(panel.cells[row][column]))
    labels = " · ".join(map(frame.plain, parts))
    with st.container(border=True, key="inside-number"):
        st.markdown(f"**This number: {value}** &nbsp; :gray[{labels}]")
        st.latex(_aligned(list(map(naming.display_latex, worked_steps(panel, row, column)))))
        if panel.role in ("step", "result"):
            with st.expander("Python functions that compute this table"):
                st.code(source_code(opened, panel.name), language="python")
        display_names.python_code(
            "Python program that prints this number",
            program(opened, str(models.public_path(model.name)), panel.name, row, column),
        )


def _aligned(lines: list[str]) -> str:
    """Return LaTeX lines, aligned at their equals signs."""
    parts = []
    for line in lines:
        first, *rest = _split_sum(line)
        parts.append(f"&{first}" if first.startswith("=") else first.replace(" = ", " &= ", 1))
        parts += [rf"&\quad {part}" for part in rest]
    return r"\begin{aligned}" + r"\\[4pt]".join(parts) + r"\end{aligned}"


def _split_sum(line: str) -> list[str]:
    """Split a long sum into lines of two summands."""
    start = r"= \underbrace"
    if not line.startswith(start):
        return [line]
    parts = line.split(r" + \underbrace")
    pairs = [r" + \underbrace".join(parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return [pairs[0], *(rf"+ \underbrace{pair}" for pair in pairs[1:])]


def _cell(panel: Panel) -> Cell:
    """Return the selected row and column; by default those of the largest absolute value."""
    rows, columns = panel.values.shape
    view = state.view(Inside)
    row = view.row if 0 <= view.row < rows else -1
    if row >= 0 and 0 <= view.column < columns:
        return row, view.column
    size = np.where(np.isfinite(panel.values), np.abs(panel.values), -1.0)
    if row < 0:
        return divmod(int(size.argmax()), int(columns))
    return row, int(size[row].argmax())
