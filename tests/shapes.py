"""The checker that reads every signature of `transformer` while the tests run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from beartype import BeartypeConf, beartype

# As mypy reads them: where a float is asked for, an int will do.
_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, refusing arguments and results of another type or shape than it says.

    beartype knows `Self` only where it decorates the whole class; jaxtyping decorates one method.
    """
    hints = function.__annotations__
    hints.update({name: Any for name, hint in hints.items() if hint is Self})
    return _check(function)
