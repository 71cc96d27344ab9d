"""Test an ASGI app without a server, as uvicorn calls it; and a Streamlit script run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_run_context import FragmentThreadState

from transformer.ui.shell.security import Asgi, Message, Scope


def exchange_messages(
    app: Asgi, scope: Scope, begin: str = "http.request", messages: list[Message] | None = None
) -> list[Message]:
    """Return all messages in response to a request; `messages` has them even if the app raises."""
    received: list[Message] = [] if messages is None else messages

    async def receive() -> Message:
        return {"type": begin}

    async def send(message: Message) -> None:
        received.append(message)

    asyncio.run(app(scope, receive, send))
    return received


@pytest.fixture
def in_script_run() -> Iterator[None]:
    before = script_run_context._thread_state.set(FragmentThreadState())
    yield
    script_run_context._thread_state.reset(before)
