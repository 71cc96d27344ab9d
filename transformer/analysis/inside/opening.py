"""A box opened: its tables, computed from one trace and the weights."""

from __future__ import annotations

from transformer.analysis.inside.panels import Opened
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator


def opened(trace: Trace, translator: Translator, box: str, head: int | None = None) -> Opened:
    """The panels of one box.

    Args:
        trace: of this translator, with every site and without interventions.
        box: its name; see `boxes`.
        head: which head the box shows, from 0; None is head 0, or no head where a box has none.

    Raises:
        ValueError: for a box or head that is not there, or a trace of another model.
    """
    raise NotImplementedError
