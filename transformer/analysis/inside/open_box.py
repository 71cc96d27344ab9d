"""Open a box: tables of its variables for one trace, and a program for each number."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transformer.analysis.inside.figure_boxes import box_named
from transformer.analysis.inside.formulas import fill, number
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
        steps: templates of the computation of one number; see `worked_steps`.
        variables: that these templates read.
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
    steps: tuple[str, ...] = field(repr=False)
    variables: Mapping[str, Any] = field(repr=False)

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

    Every variable is computed by its torch expression from the trace and the weights. One that a
    hook records is compared with the recording, and shown as recorded.

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
    values = _evaluated(selected, shown, trace, translator, head or 0)
    panels = [_panel(selected, variable, trace, config, values) for variable in shown]
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
    value = float(panel.values[row, column])
    return [
        *(fill(step, row, column, panel.variables) for step in panel.steps),
        f"= {number(int(value) if panel.kind == 'count' else value)}",
    ]


def snippet(opened: OpenedBox, checkpoint: str, panel: str, row: int, column: int) -> str:
    """Return a PyTorch program of about ten lines that prints the number in this cell.

    It computes the number from the results of earlier boxes, or from the weights alone.

    Args:
        checkpoint: the folder that the program loads.

    Raises:
        ValueError: for a panel or cell that does not exist.
    """
    opened.panel(panel).check(row, column)
    box, trace = opened.box, opened.trace
    program = _program(box, [panel])
    hooks = [box.variables[name].site for name in program if _is_recorded(box, box.variables[name])]
    lines = [f"{name} = {code}" for name, code in program.items()]
    used = {*_names("\n".join(lines)), *(("src", "tgt") if hooks else ())}
    inputs = {
        # repr() makes any user text a safe string literal.
        "src": f"torch.tensor([vocabulary.encode({trace.source!r})])",
        "tgt": f"torch.tensor([{list(trace.tgt_ids)}])  # <s> and what follows",
        "chosen": f"torch.tensor({[[id] for id in trace.predicted_ids]})",
        "head": str(opened.head),
    }
    assigned = [f"{name} = {code}" for name, code in inputs.items() if name in used]
    imports = ["from transformer.checkpoint import load_checkpoint"]
    recording = []
    if hooks:
        imports.append("from transformer.hooks import Hooks")
        recording = [
            "cache = {}",
            f"names = [{', '.join(map(repr, hooks))}]",
            "hooks = {name: lambda x, name: cache.update({name: x[0]}) for name in names}",
            "model(src, tgt, hooks=Hooks(hooks))",
        ]
    parts = (
        ["import torch"] if "torch." in "\n".join((*assigned, *lines)) else [],
        imports,
        [f"model, vocabulary = load_checkpoint({checkpoint!r})", *assigned],
        recording,
        [*lines, f"print(float({panel}[{row}, {column}]))"],
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _names(code: str) -> list[str]:
    """Return the variables in Python code, in their order."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    return [node.id for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset))]


def _is_recorded(box: Box, variable: Variable) -> bool:
    """Return whether the box reads a variable from a recording, because another box computes it."""
    return bool(variable.site) and (variable.box != box.name or not variable.code)


def _program(box: Box, names: Iterable[str]) -> dict[str, str]:
    """Return the expressions of these variables and of all that they use, in the order of
    computation."""
    program: dict[str, str] = {}
    for name in names:
        if name in box.variables:
            variable = box.variables[name]
            code = variable.code
            if _is_recorded(box, variable):
                code = f"cache[{variable.site!r}]{'[head]' if variable.by_head else ''}"
            program |= {**_program(box, _names(code)), name: code}
    return program


def _shown(box: Box) -> list[Variable]:
    """Return the variables that the box shows: its inputs, then its own."""
    own = [variable for variable in box.variables.values() if variable.box == box.name]
    used = [
        box.variables[name]
        for variable in own
        for name in _names(variable.code)
        if name in box.variables
    ]
    inputs = [variable for variable in used if variable.box != box.name]
    return [variable for variable in dict.fromkeys((*inputs, *own)) if variable.title]


def _evaluated(
    box: Box, shown: Iterable[Variable], trace: Trace, translator: Translator, head: int
) -> dict[str, Any]:
    """Return the values of these variables and of all that they use.

    The evaluated code is that of this package's tables; it contains no text of a user.
    """
    model, vocabulary = translator.model, translator.vocabulary
    weight = model.embedding.weight

    def recorded(variable: Variable) -> Tensor:
        tensor = torch.tensor(trace[variable.site], device=weight.device, dtype=weight.dtype)
        return tensor[head] if variable.by_head else tensor

    values: dict[str, Any] = {
        "torch": torch,
        "model": model,
        "src": torch.tensor([trace.src_ids], device=weight.device),
        "tgt": torch.tensor([trace.tgt_ids], device=weight.device),
        "chosen": torch.tensor(trace.predicted_ids, device=weight.device)[:, None],
        "head": head,
        "token_labels": lambda ids: [vocabulary.tokens(row) for row in ids.tolist()],
        "unit_labels": lambda ids: [[f"unit {unit}" for unit in row] for row in ids.tolist()],
    }
    with torch.no_grad(), weight.device:
        for name, code in _program(box, [variable.name for variable in shown]).items():
            variable = box.variables[name]
            if _is_recorded(box, variable):
                values[name] = recorded(variable)
                continue
            values[name] = eval(code, values)
            if variable.site:
                values[name] = _verified(values[name], recorded(variable), variable.site)
    return values


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
    box: Box, variable: Variable, trace: Trace, config: ModelConfig, values: Mapping[str, Any]
) -> Panel:
    is_own = variable.box == box.name
    role: Role = "step" if is_own else "input"
    if variable.origin and not variable.site:
        role = "weight"
    steps = variable.steps if is_own and variable.steps else (_left_side(variable),)
    array = values[variable.name].detach().cpu().double().numpy()
    rows, columns = (
        _axis(axis, box, trace, config, values["head"], count)
        for axis, count in zip(variable.axes, array.shape, strict=True)
    )
    names = ("query: ", "key: ") if variable.axes == ("L", "K") else ("", "")
    cells = eval(variable.labels, dict(values)) if variable.labels else ()
    return Panel(
        name=variable.name,
        title=fill(variable.title, 0, 0, values),
        symbol=fill(variable.symbol, 0, 0, values),
        values=array,
        rows=rows[0],
        row_axis=names[0] + rows[1],
        columns=columns[0],
        column_axis=names[1] + columns[1],
        kind=variable.kind,
        role=role,
        origin=variable.origin if is_own or not variable.box else variable.box,
        note=variable.note if is_own else "",
        cells=tuple(map(tuple, cells)),
        collapsed=variable.collapsed or (role == "weight" and min(array.shape) > 1),
        steps=steps,
        variables=values,
    )


def _left_side(variable: Variable) -> str:
    """Return the symbol of one number that this box does not compute."""
    if variable.steps:
        return variable.steps[0].split(" = ")[0]
    symbol, (rows, columns) = variable.symbol, variable.axes
    grouped = rf"\left({symbol}\right)" if "_" in symbol else symbol
    return grouped + ("_{c}" if not rows else "_{r}" if not columns else "_{r,c}")


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
