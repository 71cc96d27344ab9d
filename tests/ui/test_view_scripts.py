"""The views' scripts, asked for as uvicorn asks."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tests.ui.conftest import exchanged
from transformer.figures.views import COMPONENTS, loader, served
from transformer.ui.server.gate import Receive, Scope, Send
from transformer.ui.server.view_scripts import FOLDER, KEEP, ViewScripts, path


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands in for the app."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"the page"})


def ask(path: str, **more: Any) -> tuple[int, dict[bytes, bytes], bytes]:
    scope = {"type": "http", "method": "GET", "path": path, "headers": [], **more}
    said = exchanged(ViewScripts(page), scope)
    return said[0]["status"], dict(said[0]["headers"]), said[1]["body"]


@pytest.mark.parametrize("view", COMPONENTS)
def test_a_view_is_given_out_as_it_is_and_packed(view: str) -> None:
    status, headers, body = ask(f"/{path(view)}")
    assert (status, body) == (200, served(view))
    assert headers[b"content-type"] == b"text/javascript; charset=utf-8"
    assert headers[b"cache-control"] == KEEP
    accepts = [(b"accept-encoding", b"br, gzip")]
    status, headers, body = ask(f"/{path(view)}", headers=accepts)
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"content-length"] == str(len(body)).encode()
    assert (status, gzip.decompress(body)) == (200, served(view))


def test_it_is_there_below_the_path_that_the_app_has_on_its_host() -> None:
    assert ask(f"/tools/heads-up/{path('glance')}")[2] == served("glance")


def test_who_asks_only_how_long_it_is_hears_that() -> None:
    status, headers, body = ask(f"/{path('glance')}", method="HEAD")
    assert (status, body) == (200, b"")
    assert headers[b"content-length"] == str(len(served("glance"))).encode()


@pytest.mark.parametrize(
    "name", ["", "glance.js", "glance-0123456789abcdef.js", "../app.py", "..%2fapp.py", "a" * 9000]
)
def test_nothing_else_is_there(name: str) -> None:
    status, headers, body = ask(f"/{FOLDER}{name}")
    assert status == 404
    assert b"no such view" in body
    assert b"cache-control" not in headers


@pytest.mark.parametrize("asked", ["/", "/attention", "/_views", "/static/_views.js"])
def test_all_else_is_the_apps(asked: str) -> None:
    assert ask(asked)[2] == b"the page"


def test_what_travels_with_every_content_is_short_and_names_the_script() -> None:
    for view in COMPONENTS:
        script = loader(path(view), ["", "attention"])
        assert path(view) in script
        assert len(script) < min(3000, len(served(view)) / 4)
