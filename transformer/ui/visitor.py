"""Who somebody is: an id that this browser keeps, and that nobody else sees or guesses.

It is made here, of 192 random bits, and kept by the browser in a cookie of this app, so that a
reload, a closed tab or another tab find the runs again. It never stands in an address.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
from pathlib import Path

import streamlit as st

COOKIE = "heads_up_visitor"
_ID = re.compile(r"[A-Za-z0-9_-]{32}")
_KEY, _WIDGET = "visitor", "visitor-cookie"

_SECRET = secrets.token_bytes(16)  # so that no address can be read from what is kept

_cookie = st.components.v2.component(
    "heads_up.visitor", js=Path(__file__).with_name("visitor.js").read_text(encoding="utf-8")
)


def known() -> str:
    """This visitor's id; "" for one who has none yet."""
    told = st.session_state.get(_WIDGET, {}).get("id")
    for found in (told, st.session_state.get(_KEY), st.context.cookies.get(COOKIE)):
        if isinstance(found, str) and _ID.fullmatch(found):
            return found
    return ""


def address() -> str:
    """Where this visitor's browser speaks from, in a word that only says whether two are the same
    while this server runs; "" for this machine itself.

    Of an IPv6 address the network alone counts: its 2^64 addresses are one household's.
    """
    try:
        found = ipaddress.ip_address(st.context.ip_address or "")
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False).network_address
    if found.is_loopback:
        return ""
    return hashlib.blake2b(found.packed, key=_SECRET, digest_size=9).hexdigest()


def owner() -> str:
    """This visitor's id, made now for a new one and handed to the browser to keep."""
    found = known() or secrets.token_urlsafe(24)
    st.session_state[_KEY] = found
    with st.container(key="unseen"):
        # A second tab, opened before the first one's id was kept, takes over what is kept.
        _cookie(key=_WIDGET, data={"name": COOKIE, "id": found}, on_id_change=lambda: None)
    return found
