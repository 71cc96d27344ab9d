"""Cancelling a long computation: it asks between its steps whether to stop.

    with cancelled_by(check):  # check raises what shall end it
        flow.joint(trace)      # and everything else below that takes its time

The check belongs to the context of the call (`contextvars`): another thread is not ended by it. The
model asks at every pass, the sessions of decoding at every step, and what loops without the model
at every turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)


def check_cancelled() -> None:
    """To be called between two steps; raises what the caller's check raises."""
    check = _check.get()
    if check is not None:
        check()


@contextmanager
def cancelled_by(check: Callable[[], object]) -> Iterator[None]:
    """Everything within is ended by an error in `check`; of two, by the inner one's alone."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)
