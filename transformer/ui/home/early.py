"""The first picture in the page that the server gives out, before there is a session.

A browser reads and runs all of Streamlit's scripts before the app can draw anything. What a new
visitor sees then is known when the server starts: it stands in the page itself, with the one script
that draws it (`browser/early.js`), until the app's own picture takes its place.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import streamlit as st

from transformer.figures.glance import glance_data
from transformer.figures.views import EARLY, json_script
from transformer.ui import models, trace_cache
from transformer.ui.home import glance
from transformer.ui.models import Model
from transformer.ui.pages import HOME, PAGES
from transformer.ui.server import view_scripts
from transformer.ui.server.gate import Asgi, Message, Receive, Scope, Send

BODY = b'<div id="root"></div>'
HEAD = b"<head>"
COLOURS = {
    "primaryColor": "primary-color",
    "backgroundColor": "background-color",
    "secondaryBackgroundColor": "secondary-background-color",
    "textColor": "text-color",
    "linkColor": "link-color",
    "chartCategoricalColors": "chart-categorical-colors",
    "chartSequentialColors": "chart-sequential-colors",
    "chartDivergingColors": "chart-diverging-colors",
}
"""Of a theme in `config.toml`, and what Streamlit calls them where it draws a view."""


@dataclass(frozen=True)
class PageInserts:
    """What is written into the page: into its head, and before the app's own place; true while the
    model has these files."""

    digest: str
    head: bytes
    body: bytes


_prepared: list[PageInserts] = []


def prepare() -> None:
    """Load the model that a first visitor looks at, and draw its first picture."""
    _prepared.clear()
    if model := models.load_first():
        with suppress(ValueError):  # it cannot read the example; the page says so
            _prepared.append(_drawn(model))


def current() -> PageInserts | None:
    """What was prepared, if a new visitor would still see it."""
    try:
        found = models.first()
        if _prepared and found and models.digest(found[1]) == _prepared[0].digest:
            return _prepared[0]
    except OSError:  # a folder that is being replaced
        pass
    return None


class EarlyPicture:
    """Writes it into the app's first page, unless the address asks for something of its own."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        written = current() if _is_first(scope) else None
        if written is None:
            return await self._app(scope, receive, send)
        # An answer that says "as you have it" would show what was prepared at another time.
        asked = [(name, value) for name, value in scope["headers"] if not name.startswith(b"if-")]
        await self._app({**scope, "headers": asked}, receive, _Writing(send, written).send)


def _is_first(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or scope.get("query_string"):
        return False
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    return scope["path"] in ("/", f"/{base}/")


class _Writing:
    """Passes an answer on; a page whole and with what is written into it."""

    def __init__(self, send: Send, written: PageInserts) -> None:
        self._send, self._written = send, written
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._parts.append(message.get("body", b""))
            if not message.get("more_body"):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        page = b"".join(self._parts)
        page = page.replace(HEAD, HEAD + self._written.head, 1)
        page = page.replace(BODY, self._written.body + BODY, 1)
        changed = (b"content-length", b"etag", b"last-modified", b"accept-ranges")
        headers = [(name, value) for name, value in start["headers"] if name not in changed]
        headers.append((b"content-length", str(len(page)).encode()))
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": page})


def _is_page(start: Message) -> bool:
    headers = dict(start["headers"])
    is_html = headers.get(b"content-type", b"").startswith(b"text/html")
    return start["status"] == 200 and is_html and b"content-encoding" not in headers


def _drawn(model: Model) -> PageInserts:
    text = model.about.first
    picture = {
        "text": text,
        **glance_data(trace_cache.first(model, text).trace, aligner=model.aligner),
    }
    data = glance.shown(model, glance.Wish(text), model.name, picture)
    script = f"./{view_scripts.path(EARLY)}"
    heading = PAGES[HOME].heading or PAGES[HOME].title
    body = (
        f'<div id="hu-early"><template shadowrootmode="open"><style>{_style()}</style>'
        f'<h1>{escape(heading)}</h1><p class="lead">{escape(glance.LEAD)}</p></template></div>'
        f'{json_script("hu-early-data", data)}<script type="module" async src="{script}"></script>'
    )
    head = f'<link rel="modulepreload" href="{script}">'
    return PageInserts(model.hash, head.encode(), body.encode())


@cache
def _style() -> str:
    """Where Streamlit puts a page's heading and what follows it, in the theme's colours."""
    light, dark = (f":host {{ {_colours(theme)} }}" for theme in ("light", "dark"))
    chosen = dark.replace(":host", ':host([data-theme="Dark"])')
    asked = dark.replace(":host", ':host(:not([data-theme="Light"]))')
    file = Path(__file__).with_name("early.css").read_text(encoding="utf-8")
    return f"{light} {chosen} @media (prefers-color-scheme: dark) {{ {asked} }} {file}"


def _colours(theme: str) -> str:
    found = {name: st.get_option(f"theme.{theme}.{option}") for option, name in COLOURS.items()}
    given = {name: value for name, value in found.items() if value}
    return " ".join(
        f"--st-{name}: {value if isinstance(value, str) else ','.join(value)};"
        for name, value in given.items()
    )
