"""The tables of an open box, and the selected number of one of them."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.inside import Opened, Panel, boxes, snippet, worked
from transformer.figures.tensors import Table, tensor_data
from transformer.ui import state
from transformer.ui.pages.inside import Inside, stops
from transformer.ui.pages.inside.stops import Stop
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.widgets import exact, frame
from transformer.ui.widgets.views import component

_tensors = component("tensors")

Cell = tuple[int, int]


def show(model: Model, stop: Stop, found: Opened) -> None:
    """Draw every table, and below the active one the computation of the selected number."""
    exact.about_pieces()
    name = state.view(Inside).panel  # without one that there is, what the box hands on
    chosen = next((panel for panel in found.panels if panel.name == name), found.result)
    cell = _cell(chosen)
    for panel in found.panels:
        with st.container(key=f"inside-panel-{panel.name}"):
            _heading(model, panel)
            if _folded(panel) and panel is not chosen:
                _unfold(panel)
                continue
            _table(stop, panel, chosen, cell)
            if panel is chosen:
                _number(model, found, panel, cell)


def _heading(model: Model, panel: Panel) -> None:
    rows, columns = panel.values.shape
    size = f"{rows} × {columns}" if panel.values.size > 1 else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{frame.plain(exact.retold(panel.title))}**  ${panel.symbol}$  :small[:gray[{size}]]"
        )
        titles = {box.name: box.title for box in boxes(model.translator.model.config)}
        if panel.origin in titles:
            place, layer = stops.placed(panel.origin)
            st.button(
                f"from {titles[panel.origin]}",
                key=f"inside-from-{panel.name}",
                type="tertiary",
                icon=":material/arrow_outward:",
                on_click=stops.go,
                args=(place, layer),
            )
        elif panel.origin:
            st.caption(f"learned: `{panel.origin}`")
    if panel.note:
        st.caption(frame.plain(exact.retold(panel.note)))


def _name(label: str) -> str:
    """A row or column label; the tokens and heads in it as the session names them."""
    return exact.retold(label) if label.startswith("head ") else exact.token(label)


def _folded(panel: Panel) -> bool:
    """Whether it is collapsed at first: weight matrices are large."""
    return panel.role == "weight" and min(panel.values.shape) > 1


def _unfold(panel: Panel) -> None:
    st.button(
        f"Show {panel.values.size:,} weights".replace(",", " "),
        key=f"inside-show-{panel.name}",
        on_click=state.change,
        kwargs={"panel": panel.name, "row": -1, "column": -1},
    )


def _table(stop: Stop, panel: Panel, chosen: Panel, cell: Cell) -> None:
    here = panel is chosen
    same = here or (
        panel.values.shape == chosen.values.shape and panel.column_axis == chosen.column_axis
    )
    numbered = all(label == str(number) for number, label in enumerate(panel.columns))
    table = Table(
        id=f"{stop.place} {panel.name} {exact.on()}",
        title=exact.retold(panel.title),
        values=panel.values,
        rows=tuple(map(_name, panel.rows)),
        columns=() if numbered else tuple(map(_name, panel.columns)),
        row_axis=exact.retold(panel.row_axis),
        column_axis=exact.retold(panel.column_axis),
        kind=panel.kind,
        cells=panel.cells,
    )
    data = tensor_data(table, cell if same else None, here=here, size=state.view(Inside).size)
    key = f"tensor-{stop.place}-{panel.name}"

    def taken() -> None:
        told = st.session_state[key]["choice"]
        state.change(panel=panel.name, row=int(told["row"]), column=int(told["column"]))

    _tensors(key=key, data=data, on_choice_change=taken)


def _number(model: Model, found: Opened, panel: Panel, cell: Cell) -> None:
    """The computation of the selected number, and a program that prints it."""
    row, column = cell
    value = f"{panel.values[cell]:.6g}".replace("-", "−").replace("inf", "∞")
    names = (_name(panel.rows[row]), _name(panel.columns[column]))
    label = panel.cells[row][column] if panel.cells else ""
    told = " · ".join(frame.plain(name) for name in (*names, label) if name)
    with st.container(border=True, key="inside-number"):
        st.markdown(f"**This number: {value}** &nbsp; :gray[{told}]")
        st.latex(_aligned(worked(panel, row, column)))
        exact.program(
            "Python code that prints this number",
            snippet(found, str(models.written(model.name)), panel.name, row, column),
        )


def _aligned(lines: list[str]) -> str:
    """LaTeX lines, aligned at their equals signs."""
    parts = []
    for line in lines:
        first, *rest = _broken(line)
        parts.append(f"&{first}" if first.startswith("=") else first.replace(" = ", " &= ", 1))
        parts += [rf"&\quad {one}" for one in rest]
    return r"\begin{aligned}" + r"\\[4pt]".join(parts) + r"\end{aligned}"


def _broken(line: str) -> list[str]:
    """Split a long sum into lines of two summands."""
    start = r"= \underbrace"
    if not line.startswith(start):
        return [line]
    parts = line.split(r" + \underbrace")
    pairs = [r" + \underbrace".join(parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return [pairs[0], *(rf"+ \underbrace{pair}" for pair in pairs[1:])]


def _cell(panel: Panel) -> Cell:
    """The selected row and column; by default those of the largest absolute value."""
    rows, columns = panel.values.shape
    view = state.view(Inside)
    row = view.row if 0 <= view.row < rows else -1
    if row >= 0 and 0 <= view.column < columns:
        return row, view.column
    size = np.where(np.isfinite(panel.values), np.abs(panel.values), -1.0)
    if row < 0:
        return divmod(int(size.argmax()), int(columns))
    return row, int(size[row].argmax())
