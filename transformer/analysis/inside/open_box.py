"""Open a box: tables of its variables for one trace, and the derivation of each number."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transformer.analysis.inside.figure_boxes import box_named
from transformer.analysis.inside.formulas import HEAD_NUMBER, Values, at, number
from transformer.analysis.inside.variables import Box, Kind, Variable, written_shape
from transformer.config import ModelConfig, did_you_mean
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator

Array = npt.NDArray[np.float64]
Role = Literal["input", "weight", "step", "result"]


@dataclass(frozen=True, eq=False)
class Panel:
    """One table of an opened box.

    Attributes:
        name: of the variable that it shows; unique in its box.
        title: in words.
        symbol: LaTeX of the whole table, such as q = x W^Q.
        values: (rows, columns); a masked score is −∞.
        rows: a label for each row: tokens, or names of dimensions.
        row_axis: title of the rows.
        columns: a label for each column.
        column_axis: title of the columns.
        kind: "signed" (around 0), "positive" (from 0 up), "share" (0 to 1), "mask" (0 or 1) or
            "count" (whole numbers).
        role: "input" was computed in another box, "weight" was learned, "step" is intermediate,
            "result" is the output of the box.
        origin: the box that computes it, or the name of a weight; "" if it is computed here.
        note: an explanation, or "".
        cells: a label for each cell where columns are ranks: the tokens; else ().
        collapsed: whether the table is first a button, as large matrices of weights are.
        variable: that it shows.
        tensors: of the box by name, from which `worked_steps` reads the numbers.
    """

    name: str
    title: str
    symbol: str
    values: Array
    rows: tuple[str, ...]
    row_axis: str
    columns: tuple[str, ...]
    column_axis: str
    kind: Kind
    role: Role
    origin: str
    note: str
    cells: tuple[tuple[str, ...], ...]
    collapsed: bool
    variable: Variable = field(repr=False)
    tensors: Values = field(repr=False)

    def check(self, row: int, column: int) -> None:
        """Raise ValueError for a cell that does not exist."""
        rows, columns = self.values.shape
        if not (0 <= row < rows and 0 <= column < columns):
            raise ValueError(
                f"{self.title} has rows 0 to {rows - 1} and columns 0 to {columns - 1}; "
                f"there is no cell {row}, {column}."
            )


@dataclass(frozen=True, eq=False)
class OpenedBox:
    """A box with its numbers.

    Attributes:
        head: the head that the panels show, from 0; None for a box without heads.
        shape: of the box's output, in symbols and numbers, such as "n_heads × tgt × d_k = 8 × 6 ×
            32".
        panels: inputs first, the output of the box last.
        trace: the trace that they are computed from.
    """

    box: Box
    head: int | None
    shape: str
    panels: tuple[Panel, ...]
    trace: Trace = field(repr=False)

    def panel(self, name: str) -> Panel:
        """Return a panel by name. Raises ValueError for an unknown name, listing the known ones."""
        for panel in self.panels:
            if panel.name == name:
                return panel
        names = [panel.name for panel in self.panels]
        raise ValueError(
            f"{self.box.name} has no panel {name!r}; it has "
            f"{', '.join(names)}{did_you_mean(name, names)}"
        )

    @property
    def result(self) -> Panel:
        """The output of the box."""
        return self.panels[-1]


def opened_box(
    trace: Trace, translator: Translator, box: str, head: int | None = None
) -> OpenedBox:
    """Return the panels of one box.

    Every variable is computed by its function from the trace and the weights. One that a hook
    records is compared with the recording, and shown as recorded.

    Args:
        trace: of this translator, with every site and without interventions.
        box: its name; see `boxes`.
        head: the head that the box shows, from 0; None is head 0. Ignored by a box without heads.

    Raises:
        ValueError: for a box or head that does not exist, or a trace that does not follow from the
            model's weights.
        KeyError: for a trace that was recorded without a site that the box needs.
    """
    config = translator.model.config
    selected = box_named(config, box)
    if trace.config != config.to_dict():
        raise ValueError(
            "the trace is of a model with another configuration; use a trace of this model"
        )
    if head is not None and not 0 <= head < config.n_heads:
        raise ValueError(f"there is no head {head}; the heads are 0 to {config.n_heads - 1}")
    shown = _shown(selected)
    tensors = _tensors(selected, shown, trace, translator, head or 0)
    panels = [_panel(selected, variable, trace, translator, tensors) for variable in shown]
    lengths = {"src": len(trace.src_tokens), "tgt": len(trace.tgt_tokens)}
    return OpenedBox(
        box=selected,
        head=(head or 0) if selected.by_head else None,
        shape=written_shape(selected.axes, config, **lengths),
        panels=(*panels[:-1], replace(panels[-1], role="result")),
        trace=trace,
    )


def worked_steps(panel: Panel, row: int, column: int) -> list[str]:
    """Return the computation of the number in this cell: a line with symbols, then lines with
    numbers.

    The last line ends with the number itself. Lines are LaTeX without dollar signs. Raises
    ValueError for a cell that does not exist.
    """
    panel.check(row, column)
    value, variable = float(panel.values[row, column]), panel.variable
    with torch.no_grad():
        lines = (
            variable.steps(panel.tensors, row, column)
            if panel.role in ("step", "result") and variable.steps
            else [_cell_symbol(variable, row, column)]
        )
    return [
        *(_with_head(line, panel.tensors) for line in lines),
        f"= {number(int(value) if panel.kind == 'count' else value)}",
    ]


def source_code(opened: OpenedBox, panel: str) -> str:
    """Return the Python functions that compute a table from the results of earlier boxes, and
    before them, as comments, the calls. They are functions of `analysis.inside.computations`.

    Raises ValueError for a panel that does not exist.
    """
    box = opened.box
    calls = _calls(box, box.variables[opened.panel(panel).name])
    lines = [
        f"# {name} = {variable.compute.__name__}({', '.join(map(str, variable.inputs))})"
        for name, variable in calls.items()
        if variable.compute
    ]
    functions = dict.fromkeys(call.compute for call in calls.values() if call.compute)
    return "\n\n\n".join(["\n".join(lines), *map(_source, functions)])


def program(opened: OpenedBox, checkpoint: str, panel: str, row: int, column: int) -> str:
    """Return a program that opens the same box and prints the number in this cell.

    Args:
        checkpoint: the folder that the program loads.

    Raises:
        ValueError: for a panel or cell that does not exist.
    """
    opened.panel(panel).check(row, column)
    trace, head = opened.trace, "" if opened.head is None else f", head={opened.head}"
    # repr() makes any user text a safe string literal.
    return f"""from transformer import Translator
from transformer.analysis.inside import opened_box

translator = Translator.load({checkpoint!r})
trace = translator.trace({trace.source!r}, {list(trace.predicted_ids)})
box = opened_box(trace, translator, {opened.box.name!r}{head})
print(box.panel({panel!r}).values[{row}, {column}])
"""


def _source(function: object) -> str:
    return inspect.getsource(function).strip()  # type: ignore[arg-type]


def _is_recorded(box: Box, variable: Variable) -> bool:
    """Return whether the box reads a variable from a recording, because another box computes it."""
    return bool(variable.site) and (variable.box != box.name or variable.compute is None)


def _calls(box: Box, variable: Variable) -> dict[str, Variable]:
    """Return the variables from which one is computed in this box, and itself, in order."""
    if _is_recorded(box, variable):
        return {}
    calls: dict[str, Variable] = {}
    for name in variable.inputs:
        if name in box.variables:
            calls |= _calls(box, box.variables[str(name)])
    return {**calls, variable.name: variable}


def _shown(box: Box) -> list[Variable]:
    """Return the variables that the box shows: its inputs, then its own."""
    own = [variable for variable in box.variables.values() if variable.box == box.name]
    used = [box.variables[str(n)] for v in own for n in v.inputs if n in box.variables]
    inputs = [variable for variable in used if variable.box != box.name]
    return [variable for variable in dict.fromkeys((*inputs, *own)) if variable.title]


def _tensors(
    box: Box, shown: list[Variable], trace: Trace, translator: Translator, head: int
) -> Values:
    """Return the values of these variables and of all that they use, by name."""
    model = translator.model
    weight = model.embedding.weight
    tensors: dict[str, Any] = {
        "src": torch.tensor(trace.src_ids, device=weight.device),
        "tgt": torch.tensor(trace.tgt_ids, device=weight.device),
        "chosen": torch.tensor(trace.predicted_ids, device=weight.device)[:, None],
        "head": head,
        "n_heads": model.config.n_heads,
    }

    def recorded(variable: Variable) -> Tensor:
        tensor = torch.tensor(trace[variable.site], device=weight.device, dtype=weight.dtype)
        return tensor[head] if variable.by_head else tensor

    def value(name: str | int) -> Any:
        """Return an input of a function: a number, a variable, or a parameter of the model."""
        if isinstance(name, int):
            return name
        if name not in tensors:
            if name in box.variables:
                tensors[name] = computed(box.variables[name])
            else:
                tensors[name] = reduce(getattr, name.split("."), model)
        return tensors[name]

    def computed(variable: Variable) -> Tensor:
        if _is_recorded(box, variable) or variable.compute is None:
            return recorded(variable)
        result = variable.compute(*map(value, variable.inputs))
        return _verified(result, recorded(variable), variable.site) if variable.site else result

    with torch.no_grad(), weight.device:
        for variable in shown:
            value(variable.name)
            if variable.labels:
                value(variable.labels)
    return tensors


def _verified(computed: Tensor, recorded: Tensor, site: str) -> Tensor:
    """Return a recorded tensor after comparing it with the one computed from the weights.

    Raises:
        ValueError: if the two differ.
    """
    tolerance = 1e-3 * (1 + float(recorded.abs().max()))
    if computed.shape != recorded.shape or not (computed - recorded).abs().max() <= tolerance:
        raise ValueError(
            f"{site} of this trace does not follow from this model: the trace must be one of the "
            "same checkpoint, recorded without interventions."
        )
    return recorded


def _panel(
    box: Box, variable: Variable, trace: Trace, translator: Translator, tensors: Values
) -> Panel:
    is_own = variable.box == box.name
    role: Role = "step" if is_own else "input"
    if variable.origin and not variable.site:
        role = "weight"
    array = tensors[variable.name].detach().cpu().double().numpy()
    rows, columns = (
        _axis(axis, box, trace, translator.model.config, tensors["head"], count)
        for axis, count in zip(variable.axes, array.shape, strict=True)
    )
    names = ("query: ", "key: ") if variable.axes == ("L", "K") else ("", "")
    return Panel(
        name=variable.name,
        title=_with_head(variable.title, tensors),
        symbol=_with_head(variable.symbol, tensors),
        values=array,
        rows=rows[0],
        row_axis=names[0] + rows[1],
        columns=columns[0],
        column_axis=names[1] + columns[1],
        kind=variable.kind,
        role=role,
        origin=variable.origin if is_own or not variable.box else variable.box,
        note=variable.note if is_own else "",
        cells=_cells(variable, translator, tensors),
        collapsed=variable.collapsed or (role == "weight" and min(array.shape) > 1),
        variable=variable,
        tensors=tensors,
    )


def _cells(
    variable: Variable, translator: Translator, tensors: Values
) -> tuple[tuple[str, ...], ...]:
    """Return the token or the hidden unit of each cell, where columns are ranks."""
    if not variable.labels:
        return ()
    ids = tensors[variable.labels].tolist()
    if variable.labels == "units":
        return tuple(tuple(f"unit {unit}" for unit in row) for row in ids)
    return tuple(tuple(translator.vocabulary.tokens(row)) for row in ids)


def _with_head(text: str, tensors: Values) -> str:
    return text.replace(HEAD_NUMBER, str(tensors["head"]))


def _cell_symbol(variable: Variable, row: int, column: int) -> str:
    """Return the symbol of one number that this box does not compute."""
    symbol, (rows, columns) = variable.symbol.split(" = ")[0], variable.axes
    grouped = rf"\left({symbol}\right)" if "_" in symbol else symbol
    if columns == "rank":  # of tokens of the vocabulary
        return at(grouped, row, "v")
    if not rows:
        return at(grouped, column)
    return at(grouped, row, column) if columns else at(grouped, row)


def _axis(
    axis: str, box: Box, trace: Trace, config: ModelConfig, head: int, count: int
) -> tuple[tuple[str, ...], str]:
    """Return the labels and the title of rows or columns; see `Variable.axes`."""
    if axis in ("L", "K"):
        if box.stack == "encoder" or (axis == "K" and box.block == "cross_attn"):
            return trace.src_tokens, "source token"
        return trace.tgt_tokens, "decoder input token"
    if axis == "heads":
        labels = (f"head {h}, {i}" for h in range(config.n_heads) for i in range(config.d_k))
        return tuple(labels), "head, and dimension of its output"
    if axis == "rank":
        return tuple(str(rank + 1) for rank in range(count)), "rank"
    titles = {
        "d_model": "dimension of d_model",
        "d_k": f"dimension of head {head}",
        "d_ff": "hidden unit",
    }
    return (tuple(map(str, range(count))), titles[axis]) if axis else (("",), "")
