"""Identity of a visitor: a random id in a cookie of the browser.

The id has 192 random bits. The cookie is set with the page (`security.py`) and no script can read
it. Reloads and other tabs find the visitor's runs by it. It is never part of a URL.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
from collections.abc import Iterable

import streamlit as st

from transformer.ui.base.streamlit_fixes.displayed_page import is_in_session

COOKIE = "heads_up_visitor"
ID = re.compile(r"[A-Za-z0-9_-]{32}")
_KEY = "visitor"

_SECRET = secrets.token_bytes(16)  # so that stored hashes do not reveal addresses


def new_id() -> str:
    return secrets.token_urlsafe(24)


def sent_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the id in a request's cookie; "" if it is missing or invalid."""
    cookies = b";".join(value for key, value in headers if key == b"cookie").decode("latin-1")
    pairs = dict(pair.strip().partition("=")[::2] for pair in cookies.split(";"))
    visitor_id = pairs.get(COOKIE, "")
    return visitor_id if ID.fullmatch(visitor_id) else ""


def current_id() -> str:
    """Return this visitor's id; "" if there is none, because the browser accepts no cookies."""
    for candidate in (st.context.cookies.get(COOKIE), st.session_state.get(_KEY)):
        if isinstance(candidate, str) and ID.fullmatch(candidate):
            return candidate
    return ""


def address_hash() -> str:
    """Return a hash of the visitor's network address, valid while this server runs; "" for this
    machine itself.

    For IPv6 only the /64 network counts, because a household has all of its 2^64 addresses.
    """
    try:
        ip = ipaddress.ip_address(st.context.ip_address or "")
    except ValueError:
        return ""
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False).network_address
    if ip.is_loopback:
        return ""
    return hashlib.blake2b(ip.packed, key=_SECRET, digest_size=9).hexdigest()


def ensure_id() -> str:
    """Return this visitor's id; without a cookie a new one that lasts as long as the session; ""
    outside of a session."""
    if not is_in_session():
        return ""
    visitor_id = current_id() or new_id()
    st.session_state[_KEY] = visitor_id
    return visitor_id
