"""Streamlit's first pings below a page's address, answered without an error."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.routing import Router

from transformer.ui.shell import asgi
from transformer.ui.shell.registry import BY_PATH


def status(prefix: str, path: str) -> int:
    """Status that the routes answer with; 404 where none of them is meant."""
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing is read from a ping")

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {"type": "http", "path": path, "method": "GET", "headers": [], "query_string": b""}
    asyncio.run(Router(asgi.deep_link_pings(prefix))(scope, receive, send))
    found: int = sent[0]["status"]
    return found


@pytest.mark.parametrize("ping", asgi.PINGS)
@pytest.mark.parametrize("page", [page for page in BY_PATH if page])
@pytest.mark.parametrize("prefix", ["", "/school/heads"])
def test_a_ping_below_a_page_is_neither_an_error_nor_a_success(
    prefix: str, page: str, ping: str
) -> None:
    assert 300 <= status(prefix, f"{prefix}/{page}/_stcore/{ping}") < 400


@pytest.mark.parametrize("path", ["/", "/attention", "/_stcore/health", "/base/_stcore/health"])
def test_everything_else_goes_on_to_the_app(path: str) -> None:
    assert status("", path) == 404
