"""Files that a page offers for download, made when a visitor asks for one.

Streamlit's own download button refers to the script run that drew it. When another run of any
session ends, Streamlit deletes the files of earlier runs: a visitor who clicks while the page
reruns, or while a class keeps the server busy, gets an error. Here a file's address is valid while
its page is shown, and a few seconds longer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

FOLDER = "_downloads"
GRACE_SECONDS = 20.0
GRACE_RUNS = 3
"""A file stays available for this many runs of its page, and at least `GRACE_SECONDS`, after the
last run that offered it."""
MISSING = "This file is no longer offered; reload the page and choose it again.\n"
_OFFERS, _RUN = "download_offers", "download_run"


@dataclass(eq=False)
class Offer:
    """One file that a session's page offers."""

    make: Callable[[], str | bytes]
    name: str
    media_type: str
    run: int
    offered_at: float
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))


# The offers are stored in the sessions and disappear with them.
_by_token: WeakValueDictionary[str, Offer] = WeakValueDictionary()


def route(prefix: str) -> Route:
    """Return the route of all offered files below the app's own path."""
    return Route(f"{prefix}/{FOLDER}/{{token}}", _file)


def begin_run() -> None:
    """Remove files that no recent run of this session's page has offered; call before each run."""
    run = st.session_state[_RUN] = st.session_state.get(_RUN, 0) + 1
    oldest = time.monotonic() - GRACE_SECONDS
    offers: dict[str, Offer] = st.session_state.get(_OFFERS, {})
    st.session_state[_OFFERS] = {
        key: offer
        for key, offer in offers.items()
        if offer.run >= run - GRACE_RUNS or offer.offered_at > oldest
    }


def address(make: Callable[[], str | bytes], name: str, media_type: str, key: str) -> str:
    """Offer a file and return its address, relative to a page's.

    Args:
        make: returns the contents; called outside of the session, in another thread.
        name: of the file.
        key: the same key and name have the same address in later runs, with the newest `make`.
    """
    offers: dict[str, Offer] = st.session_state.setdefault(_OFFERS, {})
    run, time_now = st.session_state.get(_RUN, 0), time.monotonic()
    offer = offers.get(f"{key}/{name}")
    if offer is None:
        offer = offers[f"{key}/{name}"] = Offer(make, name, media_type, run, time_now)
        _by_token[offer.token] = offer
    offer.make, offer.media_type, offer.run, offer.offered_at = make, media_type, run, time_now
    return f"./{FOLDER}/{offer.token}"


def contents(token: str) -> str | bytes:
    """Return the contents of an offered file. Raises KeyError if it is no longer offered."""
    return _by_token[token].make()


async def _file(request: Request) -> Response:
    offer = _by_token.get(request.path_params["token"])
    if offer is None:
        return PlainTextResponse(MISSING, 404)
    disposition = f"attachment; filename*=UTF-8''{quote(offer.name, safe='')}"
    headers = {"content-disposition": disposition, "cache-control": "no-store"}
    body = await run_in_threadpool(offer.make)
    return Response(body, headers=headers, media_type=offer.media_type)
