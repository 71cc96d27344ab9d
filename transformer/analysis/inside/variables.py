"""Boxes of Figure 1 and the variables that they compute, each by one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from torch import Tensor

from transformer.analysis.inside.formulas import Steps
from transformer.config import ModelConfig

Kind = Literal["signed", "positive", "share", "mask", "count"]


@dataclass(frozen=True)
class Variable:
    """One variable of a box, and the text of the table that shows it.

    Attributes:
        name: of the variable and of its table; unique in its block.
        compute: function of `computations` that returns its value; None if it is only recorded by
            a hook.
        inputs: arguments of `compute`: variables of the same block, parameters of the model such as
            "encoder.layers.0.ffn.w_1.weight", numbers, or "src", "tgt" (ids), "chosen" (predicted
            ids, a column), "head" and "n_heads".
        title: of the table; "" if it is not shown.
        symbol: LaTeX of the whole table, such as q = x W^Q.
        axes: of rows and columns: "L" (the block's own tokens), "K" (tokens that are attended to),
            "d_model", "d_k", "d_ff", "heads" (all heads' d_k), "rank", or "" for a single one.
        steps: lines of the computation of one number, except the last line, which is the number;
            None for an input or a weight.
        kind: "signed" (around 0), "positive" (from 0 up), "share" (0 to 1), "mask" (0 or 1) or
            "count" (whole numbers).
        site: name of the hook that records it; "" if there is none.
        origin: the box that computes it, or the name of a weight; "" if its own box does.
        note: an explanation, or "".
        labels: the variable that has the token or the unit of each cell, where columns are ranks.
        collapsed: whether the table is first a button.
        box: name of the box that it belongs to; "" for an input or part of the whole block.
    """

    name: str
    compute: Callable[..., Tensor] | None = None
    inputs: tuple[str | int, ...] = ()
    title: str = ""
    symbol: str = ""
    axes: tuple[str, str] = ("L", "d_model")
    steps: Steps | None = None
    kind: Kind = "signed"
    site: str = ""
    origin: str = ""
    note: str = ""
    labels: str = ""
    collapsed: bool = False
    box: str = ""

    @property
    def by_head(self) -> bool:
        """Whether its site has all heads, of which one is shown."""
        return "d_k" in self.axes or self.axes == ("L", "K")


@dataclass(frozen=True)
class Box:
    """One box of the figure; `opened_box` computes its numbers.

    Attributes:
        name: its location in the model, such as "encoder.0.self_attn.query".
        title: one or two words, for the box itself.
        step: the last part of the name: the operation, whatever the layer.
        stack: "encoder", "decoder" or "output".
        layer: from 0; None outside the layers.
        block: the part of the stack: "embed", "self_attn", "cross_attn", "ffn", "memory" or
            "output". The sum and norm after a sublayer belong to its block.
        section: of the paper.
        equation: LaTeX.
        explanation: Markdown.
        axes: symbols of its output's axes, such as ("n_heads", "tgt", "d_k").
        shape: the axes and their sizes in this model, "n_heads × tgt × d_k = 8 × tgt × 32".
        by_head: whether its tables show one head at a time.
        site: name of the hook that records the output; "" if there is none.
        variables: of its whole block by name, in the order of computation.
    """

    name: str
    title: str
    step: str
    stack: str
    layer: int | None
    block: str
    section: str
    equation: str
    explanation: str
    axes: tuple[str, ...]
    shape: str
    by_head: bool
    site: str
    variables: Mapping[str, Variable] = field(default_factory=dict, repr=False, compare=False)

    @property
    def stop(self) -> str:
        """Its name without the layer, which is its place in Figure 1."""
        return self.name if self.layer is None else self.name.replace(f".{self.layer}.", ".", 1)


@dataclass(frozen=True)
class Block:
    """A block of the model, whose boxes share variables.

    Attributes:
        stack, layer, block: see `Box`.
    """

    config: ModelConfig
    stack: str
    layer: int | None
    block: str

    @property
    def name(self) -> str:
        """As boxes are named: "encoder.0.self_attn"."""
        parts = (self.stack, self.layer, "" if self.block in ("memory", "output") else self.block)
        return ".".join(str(part) for part in parts if part not in (None, ""))

    @property
    def path(self) -> str:
        """Path of its module: "encoder.layers.0.self_attn"."""
        if self.layer is None:
            return self.name
        return f"{self.stack}.layers.{self.layer}.{self.block}"

    @property
    def ids(self) -> str:
        """Name of its own sequence's ids."""
        return "src" if self.stack == "encoder" else "tgt"

    @property
    def lengths(self) -> dict[str, str]:
        """The symbols of its own sequence's and its keys' lengths."""
        own = "src" if self.stack == "encoder" else "tgt"
        return {"L": own, "K": "src" if self.block == "cross_attn" else own}

    def input(self, name: str, title: str) -> Variable:
        """Return the block's input, which another block computes."""
        stack, layer, last = self.stack, self.layer, self.config.n_layers - 1
        if self.block in ("memory", "output"):
            source = Block(
                self.config, "encoder" if self.block == "memory" else "decoder", last, "ffn"
            )
        elif self.block in ("cross_attn", "ffn"):
            decoder_ffn = (stack, self.block) == ("decoder", "ffn")
            source = replace(self, block="cross_attn" if decoder_ffn else "self_attn")
        elif layer:
            source = replace(self, layer=layer - 1, block="ffn")
        else:
            site, origin = f"{stack}.embed.hook_output", f"{stack}.embed.sum"
            return Variable(name, title=title, symbol=name, site=site, origin=origin)
        site, origin = f"{source.path}_norm.hook_output", f"{source.name}.norm"
        return Variable(name, title=title, symbol=name, site=site, origin=origin)

    def box(
        self,
        step: str,
        title: str,
        section: str,
        equation: str,
        explanation: str,
        *variables: Variable,
    ) -> Box:
        """Return a box of this block. Its output is the last of its variables."""
        name, output = f"{self.name}.{step}", variables[-1]
        symbols = {**self.lengths, "heads": "d_model", "rank": "vocab"}
        axes = tuple(symbols.get(axis, axis) for axis in output.axes if axis)
        if output.by_head:
            axes = ("n_heads", *axes)
        return Box(
            name=name,
            title=title,
            step=step,
            stack=self.stack,
            layer=self.layer,
            block=self.block,
            section=section,
            equation=equation,
            explanation=explanation,
            axes=axes,
            shape=written_shape(axes, self.config),
            by_head=any(variable.by_head for variable in variables),
            site=next((variable.site for variable in variables if variable.site), ""),
            variables={variable.name: replace(variable, box=name) for variable in variables},
        )

    def joined(self, *parts: Variable | Box) -> tuple[Box, ...]:
        """Return the boxes among `parts`, with the variables of all parts."""
        variables: dict[str, Variable] = {}
        for part in parts:
            variables |= part.variables if isinstance(part, Box) else {part.name: part}
        return tuple(replace(part, variables=variables) for part in parts if isinstance(part, Box))


def written_shape(axes: Sequence[str], config: ModelConfig, **lengths: int) -> str:
    """Format a shape: "src × d_model = 6 × 256"; an axis of unknown length remains a symbol."""
    sizes = {
        "n_heads": config.n_heads,
        "d_k": config.d_k,
        "d_model": config.d_model,
        "d_ff": config.d_ff,
        "vocab": config.vocab_size,
        **lengths,
    }
    return f"{' × '.join(axes)} = {' × '.join(str(sizes.get(axis, axis)) for axis in axes)}"
