"""Who somebody is: an id that this browser keeps, and that nobody else sees or guesses.

It is 192 random bits in a cookie that comes with the page (`gate.py`) and that no script can read,
so that a reload, a closed tab or another tab find the runs again. It never stands in an address.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
from collections.abc import Iterable

import streamlit as st

COOKIE = "heads_up_visitor"
ID = re.compile(r"[A-Za-z0-9_-]{32}")
_KEY = "visitor"

_SECRET = secrets.token_bytes(16)  # so that no address can be read from what is kept


def new_id() -> str:
    return secrets.token_urlsafe(24)


def sent_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The id that a browser sent with a request; "" for none, or for what is none."""
    sent = b";".join(value for key, value in headers if key == b"cookie").decode("latin-1")
    pairs = dict(pair.strip().partition("=")[::2] for pair in sent.split(";"))
    visitor_id = pairs.get(COOKIE, "")
    return visitor_id if ID.fullmatch(visitor_id) else ""


def current_id() -> str:
    """This visitor's id; "" for one who has none yet, because the browser keeps no cookies."""
    for candidate in (st.context.cookies.get(COOKIE), st.session_state.get(_KEY)):
        if isinstance(candidate, str) and ID.fullmatch(candidate):
            return candidate
    return ""


def address_hash() -> str:
    """Where this visitor's browser speaks from, in a word that only says whether two are the same
    while this server runs; "" for this machine itself.

    Of an IPv6 address the network alone counts: its 2^64 addresses are one household's.
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
    """This visitor's id; without a cookie one that is made now and lasts as long as the session."""
    visitor_id = current_id() or new_id()
    st.session_state[_KEY] = visitor_id
    return visitor_id
