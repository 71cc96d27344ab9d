"""The checker that reads every signature of `transformer` while the tests run."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from typing import Any, Self

from beartype import BeartypeConf, beartype

MAX_CHECKS = 500
"""Calls of one function in one process that are read: a model's layers are called without end."""
# As mypy reads them: where a float is asked for, an int will do.
_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, refusing arguments and results of another type or shape than it says.

    beartype knows `Self` only where it decorates the whole class; jaxtyping decorates one method.
    """
    hints = function.__annotations__
    hints.update({name: Any for name, hint in hints.items() if hint is Self})
    checks, calls = _check(function), itertools.count(1)

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == MAX_CHECKS:
            _believe(function)
        return checks(*args, **kwargs)

    return counted


def _believe(function: Callable[..., Any]) -> None:
    """Switch off the checks of a function: jaxtyping tests the flag at every call."""
    *path, name = function.__qualname__.split(".")
    owner: Any = sys.modules[function.__module__]
    for part in path:
        owner = getattr(owner, part, None)  # of a function within another there is no way
    attribute = vars(owner).get(name) if owner else None
    if hasattr(attribute, "__wrapped__"):
        attribute.__dict__["__no_type_check__"] = True


def read_anew(function: Callable[..., Any]) -> None:
    """Check its next call again, regardless of earlier calls."""
    function.__dict__.pop("__no_type_check__", None)
