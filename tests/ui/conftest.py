"""A shared server, a call of an ASGI app as uvicorn makes it, and a Streamlit script run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message, Scope
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_run_context import FragmentThreadState

import transformer.ui.pages  # noqa: F401 - registers the pages
from tests.live_app import app_server

TEACHER_TOKEN = "teacher-token-for-tests"


@pytest.fixture(scope="session")
def address(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server that listens on all interfaces, as in a classroom.

    All tests share it, as starting one takes 4 seconds; they must not stop it.
    """
    folder = tmp_path_factory.mktemp("server")
    (folder / "limits.toml").write_text(f'teacher_token = "{TEACHER_TOKEN}"\n')
    settings = {
        "HEADS_UP_LIMITS": f"{folder}/limits.toml",
        "HEADS_UP_RUNS": f"{folder}/runs",
        "STREAMLIT_SERVER_ADDRESS": "0.0.0.0",
        "STREAMLIT_SERVER_ALLOWED_HOSTS": "class.example.org 192.168.1.20",
    }
    with app_server(checkpoints, **settings) as (served_address, _):
        yield served_address


def exchange_messages(
    app: ASGIApp,
    scope: Scope,
    message_type: str = "http.request",
    messages: list[Message] | None = None,
) -> list[Message]:
    """Return all messages in response to a request; `messages` has them even if the app raises."""
    received: list[Message] = [] if messages is None else messages

    async def receive() -> Message:
        return {"type": message_type}

    async def send(message: Message) -> None:
        received.append(message)

    asyncio.run(app(scope, receive, send))
    return received


@pytest.fixture
def in_script_run() -> Iterator[None]:
    token = script_run_context._thread_state.set(FragmentThreadState())
    yield
    script_run_context._thread_state.reset(token)
