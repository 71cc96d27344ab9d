"""Objects that all sessions of one server share, created once for each set of arguments.

They are not in a Streamlit cache, because any browser session can clear those.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Service = TypeVar("Service")

_services: dict[tuple[Any, ...], Any] = {}
_guard = threading.RLock()  # reentrant: creating one service may need another


def shared_service(make: Callable[..., Service], *arguments: Hashable) -> Service:
    """Return `make(*arguments)`, called once in this process and then shared by all threads."""
    key = (make, *arguments)
    with _guard:
        if key not in _services:
            _services[key] = make(*arguments)
        service: Service = _services[key]
        return service


def close_all() -> None:
    """Close all services that have a `close` method, newest first, and remove all of them."""
    with _guard:
        services = [*_services.values()]
        _services.clear()
    for service in reversed(services):
        close = getattr(service, "close", None)
        if close is not None:
            close()
