"""Cancelling what a page computes in its own thread: it checks between steps whether to stop.

    with cancelled_by(check):  # check raises an exception to cancel
        blank_cells(translator, trace, head)  # or any other long computation

The check belongs to the context of the call (`contextvars`) and does not affect other threads. The
model calls it at every forward pass, decoding sessions at every step, other loops at every
iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)


def check_cancelled() -> None:
    """Call the current check, if any; to be called between steps. Raises what the check raises."""
    check = _check.get()
    if check is not None:
        check()


@contextmanager
def cancelled_by(check: Callable[[], object]) -> Iterator[None]:
    """Cancel the block when `check` raises; of nested blocks only the inner check is called."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)
