"""What `streamlit run app.py` sets up once, before anybody opens a page, and puts away at the end.

`app.py` hands these to `st.App`: Streamlit finds it there, and hands the server over to it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st
from streamlit import cli_util, config, file_util, net_util
from streamlit.web.server.server_util import get_url

from transformer.jobs import services
from transformer.ui import live_classes, live_jobs
from transformer.ui.server import (  # noqa: F401  set on import
    known_pages,
    told_values,
    whole_presses,
    without_delay,
)
from transformer.ui.server.class_news import ClassNews
from transformer.ui.server.gate import Asgi, Gate
from transformer.ui.server.view_scripts import ViewScripts

OURS = ("localhost", "127.0.0.1", "::1")
"""What this machine always calls itself."""
EVERYWHERE = ("0.0.0.0", "::")


Lifespan = Callable[[object], AbstractAsyncContextManager[None]]


def lifespan(prepare: Callable[[], object]) -> Lifespan:
    """From the server's start to its end; `prepare` runs while nobody is there yet."""

    @asynccontextmanager
    async def whole(_: object) -> AsyncIterator[None]:
        await asyncio.to_thread(_go_on)
        _announce()
        ready = asyncio.create_task(asyncio.to_thread(prepare))
        yield
        try:
            await ready
        finally:
            # Workers save what they train, and their runs wait in line for the next start.
            await asyncio.to_thread(services.close_all)

    return whole


def _go_on() -> None:
    try:
        live_jobs.go_on()
    except ValueError as error:  # Train says so too; everything else can be looked at meanwhile
        print(f"  Runs cannot go on: {error}.", file=sys.stderr)


def _announce() -> None:
    """Say where the app is, and show it, unless told not to.

    Streamlit's own welcome (`logger.hideWelcomeMessage`) may ask a server outside for this
    machine's address.
    """
    address = str(st.get_option("server.address") or EVERYWHERE[0])
    here = "localhost" if address in EVERYWHERE else address
    url = get_url(f"[{here}]" if ":" in here else here)
    print(f"\n  Heads Up is at {url}")
    room = net_util.get_internal_ip() if address in EVERYWHERE else None
    if room:
        print(f"  For the room:  {get_url(room)}")
    with suppress(ValueError):  # a broken limits.toml; the page Class says so
        if token := live_classes.made_token():
            print(f"  To open a class, as its teacher: {token}")
    print(flush=True)
    if not st.get_option("server.headless"):
        cli_util.open_browser(url)


def gate(app: Asgi) -> Gate:
    """The gate as the settings want it, once they are known."""
    named = (st.get_option("server.address"), st.get_option("browser.serverAddress"))
    hosts = {*OURS, *st.get_option("server.allowedHosts"), *filter(None, named)} - {*EVERYWHERE}
    # The gate knows more than this list: the address that a request came in at.
    config.set_option("server.allowedHosts", ["*"])
    return Gate(
        app, hosts=hosts, origins=st.get_option("server.corsAllowedOrigins"), policy=policy()
    )


class MiddlewareLayer(NamedTuple):
    """As Starlette takes a layer: what makes it of the app behind it, and with which arguments."""

    make: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012  never changed


def layers(*pages: Callable[[Asgi], Asgi]) -> tuple[Any, ...]:
    """What stands before the app, the outermost first; `pages` come last."""
    every = (gate, ClassNews, ViewScripts, *pages)
    return tuple(MiddlewareLayer(one) for one in every)


def policy() -> str:
    """What a page of ours may load and run, and who may show it in a frame.

    With it Chromium complains on no page (`tests/browser/test_policy.py`); without `blob:`,
    WebAssembly and the font's `data:`, it did.
    """
    directives = {
        "default-src": "'self'",
        # `blob:`, out of which Streamlit loads our own views; WebAssembly, with which it counts
        # large numbers; its page's few lines by their hash. No other script that stands in a page.
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {' '.join(_inline())}",
        # Streamlit and Plotly write their styles into the page, and so do our tables and views.
        "style-src": "'self' 'unsafe-inline'",
        "font-src": "'self' data:",  # a size of brackets in formulas (KaTeX)
        "img-src": "'self' data: blob:",  # charts and views that are saved as pictures
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'self'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _inline() -> list[str]:
    """The scripts that stand in Streamlit's own page, by their hashes."""
    written = (Path(file_util.get_static_dir()) / "index.html").read_text(encoding="utf-8")
    found = re.findall(r"<script>(.*?)</script>", written, flags=re.S)
    digests = (hashlib.sha256(text.encode()).digest() for text in found)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
