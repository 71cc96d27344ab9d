"""Network addresses of clients, also behind proxies, and the address of each visitor."""

from __future__ import annotations

import ipaddress
import threading
from collections import OrderedDict
from typing import Any

from starlette.datastructures import Headers

UNKNOWN_CLIENT = "0.0.0.0"
"""The address of all clients that name another one in a header without a known proxy."""
MAX_VISITORS = 10_000


def network(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 network of an IPv6 address,
    because a household has all of its 2^64 addresses; "" for text that is no address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            return str(ip.ipv4_mapped)
        if not ip.is_loopback:
            return str(ipaddress.ip_network((ip, 64), strict=False).network_address)
    return str(ip)


def client_address(scope: Any, proxies: int) -> str:
    """Return the address of the client that has sent a request.

    Each proxy adds the address of its own client to the end of X-Forwarded-For; what stands before
    is written by anyone. Uvicorn takes that header from every program on this machine, as if it
    were a proxy; it counts only if the operator says that there is one.

    Args:
        scope: of ASGI, as uvicorn passes it on.
        proxies: number of proxies between clients and this server.
    """
    host = str((scope.get("client") or ("", 0))[0])
    headers = Headers(scope=scope).getlist("x-forwarded-for")
    forwarded = [part.strip() for header in headers for part in header.split(",")]
    if proxies:
        return forwarded[-proxies] if len(forwarded) >= proxies else host
    return UNKNOWN_CLIENT if host in forwarded else host


class AddressBook:
    """The last network of each visitor, for the visitors seen last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._networks: OrderedDict[str, str] = OrderedDict()

    def remember(self, visitor: str, address: str) -> None:
        with self._lock:
            self._networks[visitor] = network(address)
            self._networks.move_to_end(visitor)
            while len(self._networks) > MAX_VISITORS:
                self._networks.popitem(last=False)

    def network_of(self, visitor: str) -> str:
        """Return the visitor's network; the visitor's id if it is unknown."""
        return self._networks.get(visitor) or visitor


known_addresses = AddressBook()
