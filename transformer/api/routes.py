"""The routes of the server's engine, below `/api/`; docs/http.md is their manual.

`POST /api/ask/KIND` answers the client, `GET /api/models`, `POST /api/translate` and
`POST /api/trace` other programs too. A refusal is `{"problem": "One sentence."}` with status 4xx.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import transformer
from transformer.api import client_data, lesson_questions, models
from transformer.api.addresses import known_addresses
from transformer.api.kinds import KINDS
from transformer.api.requests import FILE_FORMATS, METHODS
from transformer.api.traces import Cancellation
from transformer.api.visitors import sent_id
from transformer.cancellation import cancelled_by
from transformer.text.door import MAX_BYTES, Refusal, quoted, read, refuse_size
from transformer.text.visible import as_sentence

FOLDER = "api"
VERSION_HEADER = "X-Heads-Up-Version"
REQUEST_HEADER = "X-Request"
"""`NAME NUMBER`: of a tab, and of its request. A newer request of a kind replaces the older."""
MAX_TAB = 40
BODY_SECONDS = 20
"""Seconds in which the body of a request must arrive."""
MAX_WAITING = 64
"""Maximum requests of one visitor that are computed or wait at the same time."""
THREADS = 64
"""Threads that wait for one of `traces.cpu_slots` or compute in it."""


NEVER_REPLACED = (
    *("ask/load", "ask/part", "ask/cells", "ask/case", "ask/question", "ask/file"),
    *("translate", "trace"),
)
"""Requests of which one tab may need several at the same time."""
_threads = ThreadPoolExecutor(THREADS, "api")


class Outdated(Exception):
    """Nobody waits for the answer any more."""


class PendingRequests:
    """The requests that are being answered; used in the event loop's thread only."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._newest: dict[tuple[str, str, str], tuple[int, threading.Event]] = {}

    @contextmanager
    def added(self, visitor: str, tab: str, number: int, kind: str) -> Iterator[threading.Event]:
        """Count a request during the block; yield an event that is set when a newer one of the same
        kind and tab comes.

        Raises:
            Refusal: if the visitor has too many requests, or a newer one has already come.
        """
        if self._counts.get(visitor, 0) >= MAX_WAITING:
            raise Refusal(f"More than {MAX_WAITING} requests at the same time; wait a little.", 429)
        outdated, key = threading.Event(), (visitor, tab, kind)
        newest_number, newest = self._newest.get(key, (-1, None))
        if tab and kind not in NEVER_REPLACED:
            if newest_number > number:
                raise Refusal(REPLACED, 409)
            if newest is not None:
                newest.set()
            self._newest[key] = number, outdated
        self._counts[visitor] = self._counts.get(visitor, 0) + 1
        try:
            yield outdated
        finally:
            self._counts[visitor] -= 1
            if not self._counts[visitor]:
                del self._counts[visitor]
            if self._newest.get(key, (0, None))[1] is outdated:
                del self._newest[key]


REPLACED = "A newer request has replaced this one."
_pending = PendingRequests()


def route(prefix: str) -> Route:
    """Return the route below the app's own path."""
    return Route(f"{prefix}/{FOLDER}/{{kind:path}}", _respond, methods=["GET", "POST"])


async def _respond(request: Request) -> Response:
    try:
        response = await _answer(request)
    except Refusal as refusal:
        response = JSONResponse({"problem": str(refusal)}, refusal.status)
    response.headers["Cache-Control"] = "no-store"
    response.headers[VERSION_HEADER] = transformer.__version__
    return response


async def _answer(request: Request) -> Response:
    name = request.path_params["kind"]
    visitor = sent_id(request.scope["headers"]) or _visitor_by_address(request)
    if name == "models":
        return JSONResponse(await _compute(request, visitor, name, lambda: _models(visitor)))
    if name == "lessons":
        return JSONResponse(lesson_questions.course_data())
    if name not in KINDS:
        known = ", ".join(["models", "lessons", *KINDS])
        raise Refusal(f"There is no request {quoted(name)}; there is {known}.", 404)
    if request.method != "POST":
        raise Refusal(f"Send the fields of {name} as JSON with the method POST.", 405)
    kind = KINDS[name]
    fields = read(await _body(request), kind.shape)

    def compute() -> Any:
        return kind.answer(visitor, models.open_model(fields.model, visitor), fields)

    answer = await _compute(request, visitor, name, compute)
    if not isinstance(answer, bytes):
        return JSONResponse(answer)
    is_json = getattr(fields, "format", "") == "json"
    return Response(
        answer, media_type="application/json" if is_json else "application/octet-stream"
    )


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BYTES:
                    refuse_size()
    except TimeoutError:
        raise Refusal("The body of the request did not arrive in time.", 408) from None
    return bytes(body)


async def _compute(request: Request, visitor: str, kind: str, compute: Callable[[], Any]) -> Any:
    """Return what `compute` returns in a thread; stop it when nobody waits for it any more."""
    tab, _, number = request.headers.get(REQUEST_HEADER, "").partition(" ")
    if len(tab) > MAX_TAB or not (number or "0").isdecimal() or len(number) > 15:
        raise Refusal(f"The header {REQUEST_HEADER} must be a name and a number.", 400)
    with _pending.added(visitor, tab, int(number or 0), kind) as outdated:

        def check() -> None:
            if outdated.is_set():
                raise Outdated

        def run() -> Any:
            check()
            with cancelled_by(Cancellation(check)):
                return compute()

        computation = asyncio.get_running_loop().run_in_executor(_threads, run)
        disconnection = asyncio.ensure_future(_disconnection(request))
        try:
            await asyncio.wait({computation, disconnection}, return_when="FIRST_COMPLETED")
            if not computation.done():
                outdated.set()
            return await computation
        except Outdated:
            raise Refusal(REPLACED, 409) from None
        except Refusal:
            raise
        except OSError:
            raise Refusal("This model can no longer be read; choose another one.", 404) from None
        except (ValueError, OverflowError) as error:
            raise Refusal(as_sentence(models.without_server_paths(str(error)))) from None
        finally:
            outdated.set()
            disconnection.cancel()


async def _disconnection(request: Request) -> None:
    """Return when the client has left."""
    try:
        while (await request.receive())["type"] != "http.disconnect":
            pass
    except ClientDisconnect:
        return


def _models(visitor: str) -> dict[str, Any]:
    listed = models.list_models(visitor)
    return client_data.client_data(
        client_data.listed_models(listed, visitor), methods=METHODS, files=FILE_FORMATS
    )


def _visitor_by_address(request: Request) -> str:
    """Return the visitor that all clients of one address without a cookie are together."""
    address = request.client.host if request.client else ""
    visitor = f"address {address}"
    known_addresses.remember(visitor, address)
    return visitor
