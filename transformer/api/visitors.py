"""Ids of visitors, in a cookie of the browser.

An id has 192 random bits. The cookie is set with the page (`ui/server/security.py`) and no script
can read it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable

COOKIE = "heads_up_visitor"
ID = re.compile(r"[A-Za-z0-9_-]{32}")


def new_id() -> str:
    return secrets.token_urlsafe(24)


def sent_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the id in a request's cookie; "" if it is missing or invalid."""
    cookies = b";".join(value for key, value in headers if key == b"cookie").decode("latin-1")
    pairs = dict(pair.strip().partition("=")[::2] for pair in cookies.split(";"))
    visitor_id = pairs.get(COOKIE, "")
    return visitor_id if ID.fullmatch(visitor_id) else ""
