"""Answer the first pings of a page that was opened by its address, without an error.

Opened at `/attention`, Streamlit's frontend first takes `/attention` for the address of the server
and asks for `/attention/_stcore/health` and `/attention/_stcore/host-config`, then falls back to
the root. A 404 there is printed in the browser's console at every such visit. Browsers print only
statuses from 400 on, and the frontend falls back after any status that is not a success: 300.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from transformer.ui.shell.registry import BY_PATH

PINGS = ("health", "host-config")


def routes(prefix: str) -> list[Route]:
    """Return a route for each ping below each page.

    Args:
        prefix: the app's path on its host, such as "/heads"; "" for the root.
    """
    return [
        Route(f"{prefix}/{page}/_stcore/{ping}", _answer)
        for page in BY_PATH
        if page
        for ping in PINGS
    ]


async def _answer(_: Request) -> PlainTextResponse:
    return PlainTextResponse("The server's address is one level up.\n", status_code=300)
