"""The scripts of the views, given out by the app: once a browser, which keeps them.

A component's script would otherwise travel with every new content, several times its length, and be
hashed at both ends (`python -m benchmarks.reruns`). An address names what is in the script, so that
a browser need never ask again, and asks at another address when the app has another script.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache

from transformer.figures.views import COMPONENTS, EARLY, served
from transformer.ui.server.gate import Asgi, Receive, Scope, Send

FOLDER = "_views/"
KEEP = b"public, max-age=31536000, immutable"


class ViewScripts:
    """Answers below `FOLDER`; all else goes on to the app."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, ours, name = scope.get("path", "").rpartition(f"/{FOLDER}")
        if scope["type"] != "http" or not ours:
            return await self._app(scope, receive, send)
        status, headers, body = _answer(name, dict(scope["headers"]).get(b"accept-encoding", b""))
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        sent = b"" if scope["method"] == "HEAD" else body
        await send({"type": "http.response.body", "body": sent})


def _answer(name: str, accepted: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body."""
    found = _packed().get(name)
    if found is None:
        said = b"There is no such view here; the page, loaded anew, knows which there are.\n"
        return 404, [(b"content-type", b"text/plain; charset=utf-8")], said
    headers = [
        (b"content-type", b"text/javascript; charset=utf-8"),
        (b"cache-control", KEEP),
        (b"vary", b"accept-encoding"),
    ]
    if b"gzip" in accepted:
        return 200, [*headers, (b"content-encoding", b"gzip")], found
    return 200, headers, gzip.decompress(found)


@cache
def path(view: str) -> str:
    """Where `EARLY` or one of `COMPONENTS` lies, below the app's own address."""
    return f"{FOLDER}{view}-{hashlib.blake2b(served(view), digest_size=8).hexdigest()}.js"


@cache
def _packed() -> dict[str, bytes]:
    """All of them by their names, gzipped."""
    return {
        path(view).removeprefix(FOLDER): gzip.compress(served(view), mtime=0)
        for view in (EARLY, *COMPONENTS)
    }
