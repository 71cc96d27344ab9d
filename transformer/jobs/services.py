"""What all sessions of one server share, made once for each folder or setting, and never lost.

Not in a cache of Streamlit's: any browser may have those cleared, without a right to anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Service = TypeVar("Service")

_services: dict[tuple[Any, ...], Any] = {}
_guard = threading.RLock()  # one service may ask for another while it is made


def shared_service(make: Callable[..., Service], *arguments: Hashable) -> Service:
    """What `make(*given)` gave the first time, for every session and thread of this process."""
    key = (make, *arguments)
    with _guard:
        if key not in _services:
            _services[key] = make(*arguments)
        service: Service = _services[key]
        return service


def close_all() -> None:
    """Close what was made and can be closed, the newest first, and forget all of it."""
    with _guard:
        services = [*_services.values()]
        _services.clear()
    for service in reversed(services):
        close = getattr(service, "close", None)
        if close is not None:
            close()
