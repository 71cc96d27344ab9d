"""What `app.py` gives to `st.App`: the server's lifespan, its own routes and its middleware."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route

from transformer.api import model_files, traces
from transformer.api import routes as api
from transformer.lessons import course
from transformer.ui.base.registry import BY_PATH
from transformer.ui.server import security
from transformer.ui.server.allocator import return_freed_memory, trim
from transformer.ui.server.security import ANY_ADDRESS, network_address
from transformer.ui.services import (
    class_updates,
    downloads,
    live_classes,
    live_jobs,
    models,
    shared,
    view_scripts,
)

TRIM_SECONDS = 5


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Resume queued runs and load the first model at the start; save the runs at the end."""
    return_freed_memory()
    await asyncio.to_thread(_resume_runs)
    _announce()
    first_visit = asyncio.create_task(asyncio.to_thread(_prepare_first_visit))
    trimming = asyncio.create_task(_trim_memory())
    yield
    trimming.cancel()
    try:
        await first_visit
    finally:
        # Workers save what they train; their runs wait in the queue for the next start.
        await asyncio.to_thread(shared.close_all)


def routes() -> list[BaseRoute]:
    """Return the app's own routes, below the path that it has on its host."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    prefix = f"/{base}" if base else ""
    return [
        api.route(prefix),
        view_scripts.route(prefix),
        model_files.route(prefix, live_classes.has_own_engine),
        downloads.route(prefix),
        class_updates.route(prefix, [*course.BY_NAME]),
        *deep_link_pings(prefix),
    ]


def middleware() -> list[Middleware]:
    """Return what every request passes before it reaches a route."""
    return [Middleware(security.configured_gate)]


def _resume_runs() -> None:
    try:
        live_jobs.resume_runs()
    except ValueError as error:  # the page Train shows it too; everything else still works
        print(f"  Runs cannot be resumed: {error}.", file=sys.stderr)


def _prepare_first_visit() -> None:
    """Load the model that a first visitor sees and translate its first sentence."""
    if model := models.load_first_visit_model():
        with suppress(ValueError):  # the page says why the model cannot read the example
            traces.cached_trace("", model, model.description.default_text, {"method": "greedy"})


async def _trim_memory() -> None:
    """Return freed memory to the system from time to time."""
    while await asyncio.to_thread(trim):
        await asyncio.sleep(TRIM_SECONDS)


def _announce() -> None:
    """Print the app's addresses and open the first in a browser, unless it runs headless.

    Streamlit's own welcome (`logger.hideWelcomeMessage`) may ask an outside server for this
    machine's address.
    """
    address = str(st.get_option("server.address") or ANY_ADDRESS[0])
    host = "localhost" if address in ANY_ADDRESS else address
    url = _url(f"[{host}]" if ":" in host else host)
    print(f"\n  Heads Up is at {url}")
    if address in ANY_ADDRESS and (network := network_address()):
        print(f"  On the local network:  {_url(network)}")
    with suppress(ValueError):  # a broken limits.toml; the page Class says so
        if token := live_classes.generated_token():
            print(f"  Teacher token, which opens a class: {token}")
    print(flush=True)
    if not st.get_option("server.headless"):
        webbrowser.open(url)


def _url(host: str) -> str:
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{scheme}://{host}:{st.get_option('browser.serverPort')}" + (f"/{path}" if path else "")


PINGS = ("health", "host-config")
"""Requests by which Streamlit's client looks for its server."""


def deep_link_pings(prefix: str) -> list[Route]:
    """Return routes that answer `PINGS` below each page.

    When a page is opened at its own address, Streamlit's client first looks for the server below
    that address. Without an answer the browser's console would report errors.

    Args:
        prefix: the app's path on its host, such as "/heads"; "" for the root.
    """
    return [
        Route(f"{prefix}/{page}/_stcore/{ping}", _answer_ping)
        for page in BY_PATH
        if page
        for ping in PINGS
    ]


async def _answer_ping(_: Request) -> PlainTextResponse:
    return PlainTextResponse("The server's address is one level up.\n", status_code=300)
