"""Runtime checks of all signatures with tensor shapes in `transformer`, during the tests."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from typing import Any, Self

from beartype import BeartypeConf, beartype

MAX_CHECKS = 500
"""Maximum number of checked calls of one function per process; later calls are not slowed down."""
# As in mypy, an int is accepted for a float.
_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with checks of the types and shapes of its arguments and result.

    `Self` is replaced by `Any`, because beartype supports it only in a decorated class, and
    jaxtyping decorates single methods.
    """
    hints = function.__annotations__
    hints.update({name: Any for name, hint in hints.items() if hint is Self})
    checks, calls = _check(function), itertools.count(1)

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == MAX_CHECKS:
            _stop_checking(function)
        return checks(*args, **kwargs)

    return counted


def _stop_checking(function: Callable[..., Any]) -> None:
    """Switch off the checks of a function; jaxtyping reads this flag at every call."""
    *path, name = function.__qualname__.split(".")
    owner: Any = sys.modules[function.__module__]
    for part in path:
        owner = getattr(owner, part, None)  # not possible for a function within another
    attribute = vars(owner).get(name) if owner else None
    if hasattr(attribute, "__wrapped__"):
        attribute.__dict__["__no_type_check__"] = True
