"""Settings at the server's start: torch's threads, and responses to the first pings."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest
from starlette.routing import Router
from streamlit import config

from transformer.ui.base.registry import BY_PATH
from transformer.ui.server import asgi
from transformer.ui.services import shared

PROGRAM = """
import threading, torch
thread_counts, app_imported = [], threading.Event()
def compute():
    app_imported.wait()
    (torch.ones(300, 300) @ torch.ones(300, 300)).sum()
    thread_counts.append(torch.get_num_threads())
earlier_thread = threading.Thread(target=compute)
earlier_thread.start()
server = threading.Thread(target=lambda: __import__("app"))
server.start()
server.join()
app_imported.set()
earlier_thread.join()
later_thread = threading.Thread(target=compute)
later_thread.start()
later_thread.join()
print(*thread_counts)
"""


def test_every_session_computes_with_one_thread() -> None:
    """Test a thread created before the server imports the app, and one created after it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["1", "1"]


def test_pages_run_without_streamlit_magic() -> None:
    """With magic, Streamlit calls `ast.parse`, which before Python 3.11.8 counts its depth for all
    threads together (gh-106905): one visitor in 190 got a "script compilation error"."""
    assert config.get_option("runner.magicEnabled") is False


def test_the_server_returns_freed_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(asgi, "return_freed_memory", lambda: calls.append("memory"))
    for name in ("_resume_runs", "_announce", "_prepare_first_visit"):
        monkeypatch.setattr(asgi, name, lambda: None)
    monkeypatch.setattr(shared, "close_all", lambda: calls.append("closed"))

    async def live() -> None:
        async with asgi.lifespan(None):
            assert calls == ["memory"]

    asyncio.run(live())
    assert calls == ["memory", "closed"]


def status(prefix: str, path: str) -> int:
    """Return the status of the routes' response; 404 if none matches."""
    sent_messages: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing is read from a ping")

    async def send(message: Any) -> None:
        sent_messages.append(message)

    scope: Any = {"type": "http", "path": path, "method": "GET", "headers": [], "query_string": b""}
    asyncio.run(Router(asgi.deep_link_pings(prefix))(scope, receive, send))
    status_code: int = sent_messages[0]["status"]
    return status_code


@pytest.mark.parametrize("prefix", ["", "/school/heads"])
def test_a_ping_below_a_page_is_redirected(prefix: str) -> None:
    for page in filter(None, BY_PATH):
        for ping in asgi.PINGS:
            assert 300 <= status(prefix, f"{prefix}/{page}/_stcore/{ping}") < 400, (page, ping)


@pytest.mark.parametrize("path", ["/", "/inside", "/_stcore/health", "/base/_stcore/health"])
def test_other_requests_reach_the_app(path: str) -> None:
    assert status("", path) == 404
