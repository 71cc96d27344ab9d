"""What a page is drawn with is named in its own answer, and is there."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
import streamlit

from transformer.figures.views import COMPONENTS
from transformer.ui.pages import BY_PATH
from transformer.ui.server.early_scripts import PARTS, VIEWS, EarlyScripts
from transformer.ui.server.gate import Message, Receive, Scope, Send
from transformer.ui.server.view_scripts import FOLDER, path

STATIC = Path(streamlit.__file__).parent / "static"


def links(address: str, status: int = 200, accept: bytes = b"text/html,*/*") -> list[str]:
    """The paths that the answer names, from the app's own address on."""
    said: list[Message] = []

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        said.append(message)

    scope = {"type": "http", "method": "GET", "path": address, "headers": [(b"accept", accept)]}
    asyncio.run(EarlyScripts(page)(scope, receive, send))
    header = dict(said[0]["headers"]).get(b"link", b"").decode()
    found = re.findall(r"<\./([^>]+)>; rel=modulepreload", header)
    assert len(header) < 3000, "a proxy may take no more than 4096 bytes of headers"
    assert len(found) == header.count("<") == len(set(found))
    return found


@pytest.mark.parametrize("address", ["/", "/attention", "/tools/heads-up/attention", "/train"])
def test_a_page_names_what_draws_it(address: str) -> None:
    found = links(address)
    parts = [name for name in found if not name.startswith(FOLDER)]
    names = " ".join(parts)
    assert all(f"/{part}." in names for part in PARTS), "this Streamlit names its scripts otherwise"
    assert all((STATIC / name).is_file() for name in parts)
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not any(name in page for name in parts), "the page asks for these itself"
    view = VIEWS.get(address.rpartition("/")[2])
    views = [path(one) for one in ("copylink", view) if one]
    assert [name for name in found if name.startswith(FOLDER)] == views


def test_nothing_else_names_them() -> None:
    assert links("/static/js/index.js", accept=b"*/*") == []
    assert links("/attention/_stcore/health", status=404) == []


def test_the_views_are_those_of_pages() -> None:
    assert VIEWS.keys() <= BY_PATH.keys()
    assert {*VIEWS.values()} <= {*COMPONENTS}
