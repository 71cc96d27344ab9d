"""Programs that print one number of the screen: load the checkpoint, run it, compute."""

from __future__ import annotations

from transformer.analysis.inside.panels import Opened


def snippet(opened: Opened, checkpoint: str, panel: str, row: int, column: int) -> str:
    """A PyTorch program of some ten lines that prints the number in this cell.

    Args:
        checkpoint: the folder that the program loads.

    Raises:
        ValueError: for a panel or cell that is not there.
    """
    raise NotImplementedError
