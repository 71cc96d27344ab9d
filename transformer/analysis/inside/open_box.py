"""A box opened: tables computed from one trace and the weights, and programs for a number."""

from __future__ import annotations

from collections.abc import Callable

from transformer.analysis.inside import (
    attention_output,
    attention_scores,
    embedding,
    feed_forward,
    prediction,
    sublayers,
)
from transformer.analysis.inside.context import Context
from transformer.analysis.inside.panels import Code, Opened, Panel
from transformer.analysis.inside.walk import box_named, written_shape
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator

_Maker = Callable[[Context], list[Panel]]

_STEPS: dict[str, _Maker] = {
    "tokens": embedding.tokens,
    "positions": embedding.positions,
    "sum": embedding.added,
    "query": attention_scores.projection,
    "key": attention_scores.projection,
    "value": attention_scores.projection,
    "scores": attention_scores.scores,
    "scale": attention_scores.scale,
    "mask": attention_output.mask,
    "softmax": attention_output.softmax,
    "heads": attention_output.heads,
    "concat": attention_output.concat,
    "output": attention_output.output,
    "add": sublayers.add,
    "norm": sublayers.norm,
    "hidden": feed_forward.hidden,
    "memory": feed_forward.memory,
    "logits": prediction.logits,
    "choice": prediction.choice,
}
_ELSEWHERE: dict[tuple[str, str], _Maker] = {
    ("ffn", "output"): feed_forward.output,
    ("output", "softmax"): prediction.softmax,
}
"""Steps that are another thing in this block."""


def opened(trace: Trace, translator: Translator, box: str, head: int | None = None) -> Opened:
    """The panels of one box.

    What the trace holds is shown as it was recorded; what no hook sees is computed in float64 from
    the trace and the weights. Whatever a hook sees is also computed, and the two are compared.

    Args:
        trace: of this translator, with every site and without interventions.
        box: its name; see `boxes`.
        head: which head the box shows, from 0; None is head 0. A box without heads shows none.

    Raises:
        ValueError: for a box or head that is not there, or a trace that does not follow from the
            model's weights.
        KeyError: for a trace that was recorded without a site that the box needs.
    """
    config = translator.model.config
    found = box_named(config, box)
    if trace.config != config.to_dict():
        raise ValueError("the trace is of a model of another shape; trace with this one")
    if head is not None and not 0 <= head < config.n_heads:
        raise ValueError(f"there is no head {head}; the heads are 0 to {config.n_heads - 1}")
    ctx = Context(trace, translator.model, translator.vocabulary, found, head or 0)
    maker = _ELSEWHERE.get((found.block, found.step)) or _STEPS[found.step]
    lengths = {"src": len(trace.src_tokens), "tgt": len(trace.tgt_tokens)}
    return Opened(
        box=found,
        head=ctx.head if found.by_head else None,
        shape=written_shape(found.axes, config, **lengths),
        panels=tuple(maker(ctx)),
        trace=trace,
    )


def snippet(opened: Opened, checkpoint: str, panel: str, row: int, column: int) -> str:
    """A PyTorch program of some ten lines that prints the number in this cell.

    It computes the number from what the boxes before have left, or from the weights alone.

    Args:
        checkpoint: the folder that the program loads.

    Raises:
        ValueError: for a panel or cell that is not there.
    """
    table = opened.panel(panel)
    table.check(row, column)
    code = table.code(row, column)
    run = _run(code)
    imports = ["from transformer.checkpoint import load_checkpoint"]
    if run:
        imports.append("from transformer.hooks import Hooks")
    ids = _ids(code, opened.trace)
    if ids or "torch." in " ".join(code.lines):
        imports[:0] = ["import torch", ""]
    parts = (
        imports,
        [f"model, vocabulary = load_checkpoint({checkpoint!r})", *ids],
        run,
        [*code.lines, f"print(float({code.result}))"],
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _ids(code: Code, trace: Trace) -> list[str]:
    """What encoder and decoder read, as far as the program needs it."""
    body = " ".join((*code.lines, code.result))
    lines = []
    if code.sites or "src[" in body:
        # The text of a user goes into a program as a literal, whatever it holds.
        lines.append(f"src = torch.tensor([vocabulary.encode({trace.source!r})])")
    if code.sites or "tgt[" in body:
        lines.append(f"tgt = torch.tensor([{list(trace.tgt_ids)}])  # <s> and what follows")
    return lines


def _run(code: Code) -> list[str]:
    """One pass through the model that keeps what the lines read."""
    if not code.sites:
        return []
    names = ", ".join(map(repr, code.sites))
    return [
        "seen = {}",
        f"names = [{names}]",
        "hooks = {name: lambda x, name: seen.update({name: x[0]}) for name in names}",
        "model(src, tgt, hooks=Hooks(hooks))",
    ]
