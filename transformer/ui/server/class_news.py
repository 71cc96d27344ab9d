"""What a class's pages hear at once: where the teacher leads, who follows, that it is over.

A WebSocket beside Streamlit's own, behind the gate. Not server-sent events: a browser opens six
requests to a server at most, so that a student's seventh tab would load for ever, and the server's
end waits for requests that go on, while it closes WebSockets. Nothing is read from it.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from transformer.classroom import Classroom
from transformer.ui import live_classes
from transformer.ui.server.gate import Asgi, Receive, Scope, Send
from transformer.ui.server.visitor import sent_id

PATH = "/_class/news"
OVER = 4001
"""Code of a close that no browser should answer by coming again."""
TABS = 4
"""Of one visitor, that hear at the same time; the oldest makes room."""


class ClassNews:
    """Answers at `PATH`; all else goes on to the app."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" and scope["path"].endswith(PATH):
            await receive()
            await send({"type": "websocket.accept"})
            await _tell(sent_id(scope["headers"]), receive, send)
        else:
            await self._app(scope, receive, send)


def message(room: Classroom, visitor: str) -> dict[str, Any]:
    """What this visitor's pages have to know, as small as it can be."""
    if room.is_teacher(visitor):
        return {"following": room.following(), "members": len(room.members())}
    lead = room.lead
    return {
        "state": standing(room, visitor),
        "shown": len(room.shown()),
        "number": lead.number if lead else 0,
        "page": lead.page if lead else "",
        "params": lead.params if lead else {},
    }


def standing(room: Classroom, visitor: str) -> str:
    """How a student stands: "alone" while nobody leads, or "follows", or "away"."""
    if room.lead is None:
        return "alone"
    return "follows" if room.follows(visitor) else "away"


async def _tell(visitor: str, receive: Receive, send: Send) -> None:
    """Until the visitor leaves the page, the class, or is heard no more."""
    loop, changed, on = asyncio.get_running_loop(), asyncio.Event(), True

    def heard(still: bool) -> None:
        nonlocal on
        on = on and still
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(changed.set)

    room = live_classes.of(visitor)
    stop = room.listen(visitor, heard, TABS) if room else lambda: None
    left = asyncio.ensure_future(receive())
    try:
        before = ""
        while on and room and (room.is_teacher(visitor) or room.member(visitor)):
            changed.clear()
            now = json.dumps(message(room, visitor))
            if now != before:  # a change elsewhere in the class may be none for this visitor
                await send({"type": "websocket.send", "text": now})
                before = now
            waiting = asyncio.ensure_future(changed.wait())
            await asyncio.wait({left, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if left.done():  # gone, or somebody who says what nobody asked for
                break
        if not left.done() or left.result()["type"] != "websocket.disconnect":
            await send({"type": "websocket.close", "code": OVER})
    finally:
        left.cancel()
        stop()
