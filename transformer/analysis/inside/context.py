"""What the makers of panels share: one box, one trace, one model, and what lies around the box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from transformer.analysis.inside.panels import Array, Code, Kind, Panel, Role, Work, plain
from transformer.analysis.inside.walk import Box
from transformer.config import ModelConfig
from transformer.inference.trace import Trace
from transformer.model import Transformer
from transformer.text import Vocabulary

CodeOf = Callable[[int, int], Code]


class Axis(NamedTuple):
    """Labels of rows or columns, and what they are."""

    labels: tuple[str, ...]
    title: str


def numbered(count: int, title: str) -> Axis:
    """Dimensions, units, ranks: 0, 1, 2, …"""
    return Axis(tuple(map(str, range(count))), title)


ONE = Axis(("",), "")
"""A table with a single row or column."""


@dataclass(frozen=True)
class Context:
    """A box about to be opened; `head` is 0 or more where the box has heads."""

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
        return numbered(self.config.d_model, "dimension of d_model")

    @property
    def head_axis(self) -> Axis:
        """The d_k dimensions of one head."""
        return numbered(self.d_k, f"dimension of head {self.head}")

    @property
    def ids(self) -> str:
        """The variable of a snippet that holds the ids of the box's own sequence."""
        return "src" if self.box.stack == "encoder" else "tgt"

    @property
    def rows(self) -> Axis:
        """The tokens of the box's own sequence."""
        if self.box.stack == "encoder":
            return Axis(self.trace.src_tokens, "source token")
        return Axis(self.trace.tgt_tokens, "token the decoder has read")

    @property
    def keys(self) -> Axis:
        """The tokens that are attended to."""
        if self.box.block == "cross_attn":
            return Axis(self.trace.src_tokens, "source token")
        return self.rows

    @property
    def path(self) -> str:
        """Path of the block's module: "encoder.layers.0.self_attn"."""
        place = self.box.stack if self.box.layer is None else f"{self.box.stack}.layers"
        layer = "" if self.box.layer is None else f".{self.box.layer}"
        return f"{place}{layer}.{self.box.block}"

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
        """A module in Python: "model.encoder.layers[0].self_attn", or that of another path."""
        parts = (path or self.path).split(".")
        return "model" + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in parts)

    @property
    def before(self) -> tuple[str, str]:
        """The hook that saw what went into the block, and the box that computed it."""
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
    def attended(self) -> tuple[str, str]:
        """The same of what keys and values are made from."""
        if self.box.block == "cross_attn":
            return "encoder.hook_memory", "encoder.memory"
        return self.before

    @staticmethod
    def _norm(stack: str, layer: int, block: str) -> tuple[str, str]:
        return f"{stack}.layers.{layer}.{block}_norm.hook_output", f"{stack}.{layer}.{block}.norm"

    def seen(self, site: str) -> Array:
        """What a hook saw, in float64; of this head if it is kept by heads."""
        found = self.trace[site].astype(np.float64)
        return found[self.head] if found.ndim == 3 else found

    def held(self, mine: Array, site: str) -> Array:
        """What a hook saw. Raises ValueError unless `mine`, computed here, is the same."""
        theirs = self.seen(site)
        with np.errstate(invalid="ignore"):
            apart = np.abs(mine - theirs).max() if mine.shape == theirs.shape else np.inf
        if not apart <= 1e-3 * (1 + np.abs(theirs).max()):
            raise ValueError(
                f"{site} of this trace does not follow from this model: the trace must be one of "
                "the same checkpoint, recorded without interventions."
            )
        return theirs


def array(weight: Tensor | nn.Parameter) -> Array:
    """A weight in float64, on the CPU."""
    return np.asarray(weight.detach().double().cpu().numpy())


def through(x: Array, weight: Tensor | nn.Parameter) -> Array:
    """x W^T in the model's own precision: a large matrix is not copied for it."""
    product = torch.from_numpy(x).to(weight.device, weight.dtype) @ weight.detach().T
    return array(product)


def program(sites: Sequence[str], lines: Sequence[str], result: str) -> CodeOf:
    """The same lines for every cell; "{r}" and "{c}" in `result` are its row and column."""
    return lambda row, column: Code(tuple(sites), tuple(lines), result.format(r=row, c=column))


def table(
    name: str,
    title: str,
    symbol: str,
    values: Array,
    rows: Axis,
    columns: Axis,
    work: Work,
    code: CodeOf,
    *,
    role: Role = "result",
    kind: Kind = "signed",
    origin: str = "",
    note: str = "",
    cells: tuple[tuple[str, ...], ...] = (),
) -> Panel:
    """A panel, its axes taken apart."""
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
        work=work,
        code=code,
        origin=origin,
        note=note,
        cells=cells,
    )


def given(
    ctx: Context,
    name: str,
    title: str,
    symbol: str,
    source: tuple[str, str],
    rows: Axis,
    columns: Axis,
    kind: Kind = "signed",
) -> Panel:
    """What another box computed: `source` is the hook that saw it, and the box."""
    site, origin = source
    values = ctx.seen(site)
    inner = f"[{ctx.head}]" if ctx.trace[site].ndim == 3 else ""
    code = program([site], [f"{name} = seen[{site!r}]{inner}"], f"{name}[{{r}}, {{c}}]")
    return table(
        name,
        title,
        symbol,
        values,
        rows,
        columns,
        plain(symbol, values),
        code,
        role="input",
        kind=kind,
        origin=origin,
    )


def learned(
    name: str,
    title: str,
    symbol: str,
    weight: Array,
    rows: Axis,
    columns: Axis,
    expression: str,
    origin: str,
) -> Panel:
    """A weight of the model; `expression` is it in a snippet, in the same shape."""
    code = program([], [f"{name} = {expression}"], f"{name}[{{r}}, {{c}}]")
    work = plain(symbol, weight)
    return table(
        name, title, symbol, weight, rows, columns, work, code, role="weight", origin=origin
    )
