"""Shared context of the functions that make panels: one box, one trace, one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from transformer.analysis.inside.figure_boxes import Box
from transformer.analysis.inside.panels import (
    Array,
    Code,
    Derivation,
    Kind,
    Panel,
    Role,
    given_value,
)
from transformer.config import ModelConfig
from transformer.inference.trace import Trace
from transformer.model import Transformer
from transformer.text import Vocabulary

CodeOf = Callable[[int, int], Code]


class Axis(NamedTuple):
    """Labels of rows or columns, and their title."""

    labels: tuple[str, ...]
    title: str


def numbered_axis(count: int, title: str) -> Axis:
    """Return an axis of numbers from 0: dimensions, units, ranks."""
    return Axis(tuple(map(str, range(count))), title)


SINGLE_AXIS = Axis(("",), "")
"""The axis of a table with a single row or column."""


@dataclass(frozen=True)
class Context:
    """The box to open, with its trace and model; `head` is at least 0 if the box has heads."""

    trace: Trace
    model: Transformer
    vocabulary: Vocabulary
    box: Box
    head: int

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    @property
    def d_k(self) -> int:
        return self.config.d_k

    @property
    def model_axis(self) -> Axis:
        """The dimensions of a token's vector."""
        return numbered_axis(self.config.d_model, "dimension of d_model")

    @property
    def head_axis(self) -> Axis:
        """The d_k dimensions of one head."""
        return numbered_axis(self.d_k, f"dimension of head {self.head}")

    @property
    def ids(self) -> str:
        """The snippet variable that holds the ids of the box's own sequence."""
        return "src" if self.box.stack == "encoder" else "tgt"

    @property
    def rows(self) -> Axis:
        """The tokens of the box's own sequence."""
        if self.box.stack == "encoder":
            return Axis(self.trace.src_tokens, "source token")
        return Axis(self.trace.tgt_tokens, "decoder input token")

    @property
    def keys(self) -> Axis:
        """The tokens that are attended to."""
        if self.box.block == "cross_attn":
            return Axis(self.trace.src_tokens, "source token")
        return self.rows

    @property
    def path(self) -> str:
        """Path of the block's module: "encoder.layers.0.self_attn"."""
        root = self.box.stack if self.box.layer is None else f"{self.box.stack}.layers"
        layer = "" if self.box.layer is None else f".{self.box.layer}"
        return f"{root}{layer}.{self.box.block}"

    @property
    def name(self) -> str:
        """Name of the block, as boxes are named: "encoder.0.self_attn"."""
        return self.box.name.rpartition(".")[0]

    @property
    def block(self) -> Any:
        """The block's module."""
        return self.module(self.path)

    def module(self, path: str) -> Any:
        """A part of the model by its path."""
        return self.model.get_submodule(path)

    def expression(self, path: str = "") -> str:
        """Return a module as a Python expression: "model.encoder.layers[0].self_attn"."""
        parts = (path or self.path).split(".")
        return "model" + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in parts)

    @property
    def block_input(self) -> tuple[str, str]:
        """The hook that recorded the block's input, and the box that computed it."""
        stack, layer = self.box.stack, self.box.layer
        if stack == "output":
            return self._norm("decoder", self.config.n_layers - 1, "ffn")
        if self.box.block == "memory":
            return self._norm("encoder", self.config.n_layers - 1, "ffn")
        if layer is not None and self.box.block == "ffn":
            return self._norm(stack, layer, "self_attn" if stack == "encoder" else "cross_attn")
        if layer is not None and self.box.block == "cross_attn":
            return self._norm(stack, layer, "self_attn")
        if layer:
            return self._norm(stack, layer - 1, "ffn")
        return f"{stack}.embed.hook_output", f"{stack}.embed.sum"

    @property
    def key_input(self) -> tuple[str, str]:
        """The hook and box of the input that keys and values are computed from."""
        if self.box.block == "cross_attn":
            return "encoder.hook_memory", "encoder.memory"
        return self.block_input

    @staticmethod
    def _norm(stack: str, layer: int, block: str) -> tuple[str, str]:
        return f"{stack}.layers.{layer}.{block}_norm.hook_output", f"{stack}.{layer}.{block}.norm"

    def activation(self, site: str) -> Array:
        """Return a recorded activation in float64; only this head's if it is split by heads."""
        recorded = self.trace[site].astype(np.float64)
        return recorded[self.head] if recorded.ndim == 3 else recorded

    def verified(self, computed: Array, site: str) -> Array:
        """Return a recorded activation after comparing it with `computed`.

        Raises:
            ValueError: if the two differ.
        """
        recorded = self.activation(site)
        with np.errstate(invalid="ignore"):
            difference = (
                np.abs(computed - recorded).max() if computed.shape == recorded.shape else np.inf
            )
        if not difference <= 1e-3 * (1 + np.abs(recorded).max()):
            raise ValueError(
                f"{site} of this trace does not follow from this model: the trace must be one of "
                "the same checkpoint, recorded without interventions."
            )
        return recorded


def array(weight: Tensor | nn.Parameter) -> Array:
    """Return a weight in float64, on the CPU."""
    return np.asarray(weight.detach().cpu().double().numpy())


def multiply_transposed(x: Array, weight: Tensor | nn.Parameter) -> Array:
    """Return x W^T in the model's own precision, which avoids copying a large matrix."""
    product = torch.from_numpy(x).to(weight.device, weight.dtype) @ weight.detach().T
    return array(product)


def program(sites: Sequence[str], lines: Sequence[str], result: str) -> CodeOf:
    """Return the same lines for every cell; "{r}" and "{c}" in `result` are its row and column."""
    return lambda row, column: Code(tuple(sites), tuple(lines), result.format(r=row, c=column))


def table(
    name: str,
    title: str,
    symbol: str,
    values: Array,
    rows: Axis,
    columns: Axis,
    derivation: Derivation,
    code: CodeOf,
    *,
    role: Role = "result",
    kind: Kind = "signed",
    origin: str = "",
    note: str = "",
    cells: tuple[tuple[str, ...], ...] = (),
) -> Panel:
    """Return a panel from its two axes."""
    return Panel(
        name=name,
        title=title,
        symbol=symbol,
        values=values,
        rows=rows.labels,
        row_axis=rows.title,
        columns=columns.labels,
        column_axis=columns.title,
        kind=kind,
        role=role,
        derivation=derivation,
        code=code,
        origin=origin,
        note=note,
        cells=cells,
    )


def input_panel(
    ctx: Context,
    name: str,
    title: str,
    symbol: str,
    source: tuple[str, str],
    rows: Axis,
    columns: Axis,
    kind: Kind = "signed",
) -> Panel:
    """Return a panel of an input from another box: `source` is its hook and the box."""
    site, origin = source
    values = ctx.activation(site)
    inner = f"[{ctx.head}]" if ctx.trace[site].ndim == 3 else ""
    code = program([site], [f"{name} = cache[{site!r}]{inner}"], f"{name}[{{r}}, {{c}}]")
    return table(
        name,
        title,
        symbol,
        values,
        rows,
        columns,
        given_value(symbol, values),
        code,
        role="input",
        kind=kind,
        origin=origin,
    )


def weight_panel(
    name: str,
    title: str,
    symbol: str,
    weight: Array,
    rows: Axis,
    columns: Axis,
    expression: str,
    origin: str,
) -> Panel:
    """Return a panel of a model weight; `expression` is the weight in a snippet, in the same
    shape."""
    code = program([], [f"{name} = {expression}"], f"{name}[{{r}}, {{c}}]")
    derivation = given_value(symbol, weight)
    return table(
        name, title, symbol, weight, rows, columns, derivation, code, role="weight", origin=origin
    )
