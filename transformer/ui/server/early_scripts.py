"""What a page is drawn with is asked for with the page.

Streamlit's front end is one large script and a part for each kind of thing, which it asks for when
the first of that kind has come: all that every page of ours has, one after the other, once it runs.
A header of the page's own answer has the browser fetch those meanwhile (rel=modulepreload, in the
HTML standard, section 4.6.7.12).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import streamlit

from transformer.ui.server import view_scripts
from transformer.ui.server.gate import Asgi, Message, Receive, Scope, Send, is_page

PARTS = ("BidiComponent", "Button", "Html", "PageLink", "Selectbox")
"""Of Streamlit's front end: what is on every page, and not in its large script."""
VIEWS = {"": "glance", "attention": "explorer", "translate": "translation", "inside": "figure1"}
"""The view that a page begins with, where it has one."""
_IMPORT = re.compile(r'(?:from|import)"\./([^"]+\.js)"')


class EarlyScripts:
    """Adds the header to the answer to whoever opens a page."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_page(scope):
            return await self._app(scope, receive, send)
        link = _link(VIEWS.get(scope["path"].rpartition("/")[2], "")).encode()

        async def linked(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                message = {**message, "headers": [*message["headers"], (b"link", link)]}
            await send(message)

        await self._app(scope, receive, linked)


@cache
def _link(view: str) -> str:
    """Of a page that begins with this view."""
    views = [view_scripts.path(one) for one in ("copylink", view) if one]
    paths = [*(f"static/js/{name}" for name in _parts()), *views]
    return ", ".join(f"<./{path}>; rel=modulepreload" for path in paths)


@cache
def _parts() -> list[str]:
    """The files of `PARTS` and what they import; without those that Streamlit's page asks for
    itself, and empty where another version of Streamlit names them otherwise."""
    folder = Path(streamlit.__file__).parent / "static"
    page = (folder / "index.html").read_text(encoding="utf-8")
    ahead = [path.name for part in PARTS for path in (folder / "static/js").glob(f"{part}.*.js")]
    found: list[str] = []
    while ahead:
        name = ahead.pop(0)
        if name not in found and name not in page:
            found.append(name)
            ahead += _IMPORT.findall((folder / "static/js" / name).read_text(encoding="utf-8"))
    return found
