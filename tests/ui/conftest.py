"""The server without one: an app asked as uvicorn asks it, and a drawing of Streamlit's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_run_context import FragmentThreadState

from transformer.ui.shell.security import Asgi, Message, Scope


def exchanged(
    app: Asgi, scope: Scope, begin: str = "http.request", said: list[Message] | None = None
) -> list[Message]:
    """All that is said to a request; `said` holds it also if the app breaks."""
    told: list[Message] = [] if said is None else said

    async def receive() -> Message:
        return {"type": begin}

    async def send(message: Message) -> None:
        told.append(message)

    asyncio.run(app(scope, receive, send))
    return told


@pytest.fixture
def in_a_drawing() -> Iterator[None]:
    before = script_run_context._thread_state.set(FragmentThreadState())
    yield
    script_run_context._thread_state.reset(before)
