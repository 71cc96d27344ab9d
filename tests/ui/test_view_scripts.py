"""The scripts of the views, requested as uvicorn requests them."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from starlette.applications import Starlette

from tests.ui.conftest import exchange_messages
from transformer.figures.views import COMPONENTS, served_script
from transformer.ui.services.view_scripts import CACHE_CONTROL, FOLDER, path, route, worker_folder


def request(
    script_path: str, prefix: str = "", **scope_fields: Any
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Return status, headers and body of the response for this path."""
    app: Any = Starlette(routes=[route(prefix)])
    scope = {"type": "http", "method": "GET", "path": script_path, "headers": [], **scope_fields}
    messages = exchange_messages(app, scope)
    return messages[0]["status"], dict(messages[0]["headers"]), messages[1]["body"]


@pytest.mark.parametrize("view", COMPONENTS)
def test_a_view_script_is_sent_plain_and_compressed(view: str) -> None:
    status, headers, body = request(f"/{path(view)}")
    assert (status, body) == (200, served_script(view))
    assert headers[b"content-type"] == b"text/javascript; charset=utf-8"
    assert headers[b"cache-control"] == CACHE_CONTROL.encode()
    status, headers, body = request(f"/{path(view)}", headers=[(b"accept-encoding", b"br, gzip")])
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"content-length"] == str(len(body)).encode()
    assert (status, gzip.decompress(body)) == (200, served_script(view))


def test_a_script_is_below_the_base_path() -> None:
    assert request(f"/tools/heads-up/{path('wall')}", "/tools/heads-up")[2] == served_script("wall")


def test_the_model_in_a_worker_finds_its_modules() -> None:
    status, headers, body = request(f"/{worker_folder()}/engine/worker.js")
    assert (status, headers[b"cache-control"]) == (200, CACHE_CONTROL.encode())
    for module in re.findall(rb'from "\.\./(.*?)"', body):
        assert request(f"/{worker_folder()}/{module.decode()}")[0] == 200


@pytest.mark.parametrize(
    "name", ["", "glance.js", "glance-0123456789abcdef.js", "../app.py", "..%2fapp.py", "a" * 9000]
)
def test_other_paths_are_not_found(name: str) -> None:
    status, headers, body = request(f"/{FOLDER}/{name}")
    assert status == 404
    assert b"no such view" in body
    assert b"cache-control" not in headers
