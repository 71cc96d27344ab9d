"""Open a box: tables computed from one trace and the weights, and programs for their numbers."""

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
from transformer.analysis.inside.figure_boxes import box_named, written_shape
from transformer.analysis.inside.panels import Code, OpenedBox, Panel
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator

_PanelFunction = Callable[[Context], list[Panel]]

_STEPS: dict[str, _PanelFunction] = {
    "tokens": embedding.tokens,
    "positions": embedding.positions,
    "sum": embedding.embedding_sum,
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
_BLOCK_STEPS: dict[tuple[str, str], _PanelFunction] = {
    ("ffn", "output"): feed_forward.output,
    ("output", "softmax"): prediction.softmax,
}
"""Steps with a different meaning in this block."""


def opened_box(
    trace: Trace, translator: Translator, box: str, head: int | None = None
) -> OpenedBox:
    """Return the panels of one box.

    Recorded activations are shown as recorded; other numbers are computed in float64 from the trace
    and the weights. Every recorded activation is also computed and compared with the recording.

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
    ctx = Context(trace, translator.model, translator.vocabulary, selected, head or 0)
    panel_function = _BLOCK_STEPS.get((selected.block, selected.step)) or _STEPS[selected.step]
    lengths = {"src": len(trace.src_tokens), "tgt": len(trace.tgt_tokens)}
    return OpenedBox(
        box=selected,
        head=ctx.head if selected.by_head else None,
        shape=written_shape(selected.axes, config, **lengths),
        panels=tuple(panel_function(ctx)),
        trace=trace,
    )


def snippet(opened: OpenedBox, checkpoint: str, panel: str, row: int, column: int) -> str:
    """Return a PyTorch program of about ten lines that prints the number in this cell.

    It computes the number from the results of earlier boxes, or from the weights alone.

    Args:
        checkpoint: the folder that the program loads.

    Raises:
        ValueError: for a panel or cell that does not exist.
    """
    table = opened.panel(panel)
    table.check(row, column)
    code = table.code(row, column)
    recording_lines = _recording_lines(code)
    imports = ["from transformer.checkpoint import load_checkpoint"]
    if recording_lines:
        imports.append("from transformer.hooks import Hooks")
    input_lines = _input_lines(code, opened.trace)
    if input_lines or "torch." in " ".join(code.lines):
        imports[:0] = ["import torch", ""]
    parts = (
        imports,
        [f"model, vocabulary = load_checkpoint({checkpoint!r})", *input_lines],
        recording_lines,
        [*code.lines, f"print(float({code.result}))"],
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _input_lines(code: Code, trace: Trace) -> list[str]:
    """Return lines for the inputs of encoder and decoder, if the program needs them."""
    program = " ".join((*code.lines, code.result))
    lines = []
    if code.sites or "src[" in program:
        # repr() makes any user text a safe string literal.
        lines.append(f"src = torch.tensor([vocabulary.encode({trace.source!r})])")
    if code.sites or "tgt[" in program:
        lines.append(f"tgt = torch.tensor([{list(trace.tgt_ids)}])  # <s> and what follows")
    return lines


def _recording_lines(code: Code) -> list[str]:
    """Return lines for one pass through the model that records the tensors the program needs."""
    if not code.sites:
        return []
    names = ", ".join(map(repr, code.sites))
    return [
        "cache = {}",
        f"names = [{names}]",
        "hooks = {name: lambda x, name: cache.update({name: x[0]}) for name in names}",
        "model(src, tgt, hooks=Hooks(hooks))",
    ]
