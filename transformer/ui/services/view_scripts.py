"""The browser views' scripts at addresses of their own, so that a browser fetches each only once.

Streamlit would send a component's script with every new content, several times its length, and both
ends would hash it (`python -m benchmarks.app`). The address contains a hash of the script: a
browser may cache it indefinitely, and a changed script has another address.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from transformer.figures.views import COMPONENTS, served_script

FOLDER = "_views"
CACHE_CONTROL = "public, max-age=31536000, immutable"
MISSING = "There is no such view script; reload the page to get the current ones.\n"


def route(prefix: str) -> Route:
    """Return the route of all scripts below the app's own path."""
    return Route(f"{prefix}/{FOLDER}/{{name:path}}", _script)


@cache
def path(view: str) -> str:
    """Return where the script of one of `COMPONENTS` is, below the app's own path."""
    return f"{FOLDER}/{view}-{hashlib.blake2b(served_script(view), digest_size=8).hexdigest()}.js"


async def _script(request: Request) -> Response:
    compressed = _compressed().get(request.path_params["name"])
    if compressed is None:
        return PlainTextResponse(MISSING, 404)
    headers = {"cache-control": CACHE_CONTROL, "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(compressed, headers=headers, media_type="text/javascript")
    return Response(gzip.decompress(compressed), headers=headers, media_type="text/javascript")


@cache
def _compressed() -> dict[str, bytes]:
    """Return every script by its file name, gzipped."""
    return {
        path(view).removeprefix(f"{FOLDER}/"): gzip.compress(served_script(view), mtime=0)
        for view in COMPONENTS
    }
