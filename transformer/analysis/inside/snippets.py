"""Programs that print one number of the screen: load the checkpoint, run it, compute."""

from __future__ import annotations

from transformer.analysis.inside.panels import Code, Opened
from transformer.inference.trace import Trace


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
