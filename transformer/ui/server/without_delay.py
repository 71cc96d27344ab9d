"""What the server writes leaves at once.

A connection holds a small message back until the one before has been acknowledged (Nagle, RFC 896),
and a browser may take 40 ms to acknowledge (RFC 1122, 4.2.3.2, allows 500): so long waited nearly
every drawing of a page, which is many small messages. asyncio switches that off, but only where a
socket names its protocol, and the one that Streamlit binds names none, nor do those that are
accepted on it (as on macOS: python/cpython, issue 148783). uvloop, where it is installed, does so
for every one.
"""

from __future__ import annotations

import socket
from asyncio import base_events

FAMILIES = (socket.AF_INET, socket.AF_INET6)


def _set_nodelay(made: socket.socket) -> None:
    """As asyncio's own, for every stream over the network."""
    if made.family in FAMILIES and made.type == socket.SOCK_STREAM:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


setattr(base_events, "_set_nodelay", _set_nodelay)  # noqa: B010  mypy does not know of it
