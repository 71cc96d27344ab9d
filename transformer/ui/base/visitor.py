"""Identity of a visitor: a random id in a cookie of the browser.

Reloads and other tabs find the visitor's runs by it. It is never part of a URL.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets

import streamlit as st

from transformer.api.addresses import network
from transformer.api.visitors import COOKIE, ID, new_id
from transformer.ui.base.streamlit_fixes.checks import is_in_session

_KEY = "visitor"

_SECRET = secrets.token_bytes(16)  # so that stored hashes do not reveal addresses


def current_id() -> str:
    """Return this visitor's id; "" if there is none, because the browser accepts no cookies."""
    for candidate in (st.context.cookies.get(COOKIE), st.session_state.get(_KEY)):
        if isinstance(candidate, str) and ID.fullmatch(candidate):
            return candidate
    return ""


def address_hash() -> str:
    """Return a hash of the visitor's network address, valid while this server runs; "" for this
    machine itself."""
    address = network(st.context.ip_address or "")
    if not address or ipaddress.ip_address(address).is_loopback:
        return ""
    return hashlib.blake2b(address.encode(), key=_SECRET, digest_size=9).hexdigest()


def ensure_id() -> str:
    """Return this visitor's id; without a cookie a new one that lasts as long as the session; ""
    outside of a session."""
    if not is_in_session():
        return ""
    visitor_id = current_id() or new_id()
    st.session_state[_KEY] = visitor_id
    return visitor_id
