"""The names and addresses of this machine."""

from __future__ import annotations

import socket

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
"""Names that this machine always answers to."""
ANY_ADDRESS = ("0.0.0.0", "::")
"""What a server binds to in order to be reached from everywhere."""


def network_address() -> str:
    """Return this machine's IPv4 address in its network, or "" if it has none. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 1))  # an address for documentation (RFC 5737)
        except OSError:
            return ""
        return str(probe.getsockname()[0])
