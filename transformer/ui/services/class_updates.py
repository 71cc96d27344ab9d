"""A WebSocket that tells a class's pages about the teacher's view, followers, questions and the
class's end.

Server-sent events would not work: a browser opens at most six requests to a server, so a student's
seventh tab would never load, and when the server stops it waits for open requests but closes
WebSockets. Messages from the browser are not accepted.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from transformer.api.visitors import sent_id
from transformer.classroom import Classroom
from transformer.ui.services import live_classes

PATH = "/_class/news"
CLASS_OVER_CODE = 4001
"""Close code after which a browser should not connect again."""
MAX_TABS = 4
"""Maximum connections of one visitor at the same time; a further one replaces the oldest."""


def route(prefix: str) -> WebSocketRoute:
    """Return the route below the app's own path."""
    return WebSocketRoute(f"{prefix}{PATH}", _send_updates)


def message(classroom: Classroom, visitor: str) -> dict[str, Any]:
    """Return the part of the class's state that this visitor's pages need."""
    if classroom.is_teacher(visitor):
        return {
            "state": teaching_state(classroom),
            "following": classroom.following(),
            "members": len(classroom.members()),
            "questions": classroom.measured.changes,
        }
    followed_view = classroom.view_to_follow
    return {
        "state": following_state(classroom, visitor),
        "questions": classroom.measured.changes,
        "shown": len(classroom.questions_shown()),
        "leads": classroom.is_leading,
        "number": followed_view.number if followed_view else 0,
        "page": followed_view.page if followed_view else "",
        "params": followed_view.params if followed_view else {},
    }


def following_state(classroom: Classroom, visitor: str) -> str:
    """Return "alone" while nobody leads, or whether the student "follows" or is "away"."""
    if classroom.view_to_follow is None:
        return "alone"
    return "follows" if classroom.follows(visitor) else "away"


def teaching_state(classroom: Classroom) -> str:
    """Return whether the teacher "leads" or lets the students explore "alone"."""
    return "leads" if classroom.is_leading else "alone"


async def _send_updates(socket: WebSocket) -> None:
    """Send updates until the visitor leaves the page or the class, or opens too many tabs."""
    visitor = sent_id(socket.scope["headers"])
    await socket.accept()
    loop, changed, listening = asyncio.get_running_loop(), asyncio.Event(), True

    def on_change(still_listening: bool) -> None:
        nonlocal listening
        listening = listening and still_listening
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(changed.set)

    classroom = live_classes.class_of(visitor)
    stop = classroom.listen(visitor, on_change, MAX_TABS) if classroom else lambda: None
    received = asyncio.ensure_future(socket.receive())
    try:
        last_text = ""
        while (
            listening and classroom and (classroom.is_teacher(visitor) or classroom.member(visitor))
        ):
            changed.clear()
            text = json.dumps(message(classroom, visitor))
            if text != last_text:  # not every change in a class concerns this visitor
                await socket.send_text(text)
                last_text = text
            waiting = asyncio.ensure_future(changed.wait())
            await asyncio.wait({received, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if received.done():  # disconnected, or an unexpected message
                break
        if not received.done() or received.result()["type"] != "websocket.disconnect":
            await socket.close(CLASS_OVER_CODE)
    finally:
        received.cancel()
        stop()
