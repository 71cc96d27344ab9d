"""Which requests are let in, and the security headers of every answer.

The gate is ASGI middleware (asgi.readthedocs.io) between uvicorn and Streamlit: a refused request
reaches no page, session or upload.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit import config

from transformer.ui.shell.visitor import COOKIE, new_id, sent_id

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
Refusal = tuple[int, str]

HIDDEN_PATHS = ("/_stcore/metrics",)
"""Paths that would show everybody sessions, memory and how often each page was opened."""
MAX_QUOTED_HOST = 80
"""Characters of an unknown Host that are repeated to whoever asked for it."""
_HOST_NAME = re.compile(r"[a-z0-9.:-]{1,253}")
COOKIE_SECONDS = 400 * 24 * 3600
"""Seconds that a browser keeps the visitor's cookie; none keeps one longer."""


def configured_gate(app: Asgi) -> Gate:
    """Return the gate as Streamlit's options want it; they are known once the server starts."""
    own = (st.get_option("server.address"), st.get_option("browser.serverAddress"))
    hosts = {*LOCAL_NAMES, *st.get_option("server.allowedHosts"), *filter(None, own)}
    # The gate also knows the address that a request came in at, which this list cannot.
    config.set_option("server.allowedHosts", ["*"])
    return Gate(
        app,
        hosts=hosts - {*ANY_ADDRESS},
        origins=st.get_option("server.corsAllowedOrigins"),
        policy=content_security_policy(),
    )


def content_security_policy() -> str:
    """Return what a page may load and run, and who may show it in a frame.

    With it Chromium reports no violation on any page (`tests/browser/test_policy.py`); without
    `blob:`, WebAssembly or `data:` fonts it did.
    """
    directives = {
        "default-src": "'self'",
        # `blob:`: Streamlit loads our views from there. WebAssembly: it counts large numbers with
        # it. Hashes: the few inline scripts of its page. No other inline script runs.
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {' '.join(_inline_script_hashes())}",
        # Streamlit, Plotly, our tables and our views write styles into the page.
        "style-src": "'self' 'unsafe-inline'",
        "font-src": "'self' data:",  # the brackets of formulas (KaTeX)
        "img-src": "'self' data: blob:",  # charts and views that are saved as images
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'self'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _inline_script_hashes() -> list[str]:
    """Return the hashes of the scripts in Streamlit's own page."""
    page = Path(st.__file__).parent / "static" / "index.html"
    scripts = re.findall(r"<script>(.*?)</script>", page.read_text(encoding="utf-8"), flags=re.S)
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


class Gate:
    """Lets through what is meant for this server and comes from its own pages."""

    def __init__(
        self, app: Asgi, *, hosts: Collection[str], origins: Collection[str], policy: str
    ) -> None:
        """
        Args:
            hosts: names that this server goes by, "*.example.org" for all below one, "*" for any.
                The address that a request came in at needs no name.
            origins: of other pages that may speak to it, such as "https://school.example".
            policy: the Content-Security-Policy of every answer.
        """
        self._app = app
        self._hosts = {host.strip().strip("[]").rstrip(".").lower() for host in hosts}
        self._origins = {origin.strip().rstrip("/").lower() for origin in origins}
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-frame-options", b"SAMEORIGIN"),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            if self._refusal(scope):
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # the server's start and end
            await self._app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, begun = [*self._headers], False
        refusal = self._refusal(scope)
        # What a browser opens in a tab asks for HTML, as nothing else does.
        asks = scope["method"] == "GET" and "text/html" in _single_header(scope, b"accept")
        page = not refusal and asks
        if page:
            # Nobody between here and the browser may keep what names a visitor.
            headers += [(b"cache-control", b"private, no-cache"), (b"set-cookie", _cookie(scope))]

        async def dressed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                replaced = {name for name, _ in headers} - {b"set-cookie"}
                theirs = [pair for pair in message["headers"] if pair[0].lower() not in replaced]
                message = {**message, "headers": theirs + headers}
            await send(message)

        if refusal:
            return await _refuse(dressed, *refusal)
        try:
            await self._app(scope, receive, dressed)
        except Exception:
            if not begun:
                await _refuse(dressed, 500, "This went wrong; the app's terminal says why.")
            raise

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Status and sentence for a request that is not let in."""
        host = _single_header(scope, b"host")
        if not self._is_ours(host, scope):
            return 421, _unknown_host(host)
        if not self._is_from_us(scope, host):
            return (
                403,
                "A page of another site asked for this, and this server answers only to its own.",
            )
        if any(closed in scope["path"] for closed in HIDDEN_PATHS):
            return 404, "There is nothing here."
        return None

    def _is_ours(self, host: str, scope: Scope) -> bool:
        """Whether this Host is one of our names, or the very address that the request came in at:
        no foreign name can be pointed at that one, for it is none."""
        name = _hostname(host)
        if not name:
            return False
        if "*" in self._hosts or name in self._hosts:
            return True
        if any(allowed.startswith("*.") and name.endswith(allowed[1:]) for allowed in self._hosts):
            return True
        server_address = _parse_address((scope.get("server") or ("", None))[0])
        return server_address is not None and _parse_address(name) == server_address

    def _is_from_us(self, scope: Scope, host: str) -> bool:
        """A browser says which page asks, wherever that matters. What is no browser may leave it
        out, and has no cookie to be borrowed."""
        if not any(name == b"origin" for name, _ in scope["headers"]):
            return True
        origin = _single_header(scope, b"origin").lower()
        return origin in {f"http://{host.lower()}", f"https://{host.lower()}"} | self._origins


def _single_header(scope: Scope, name: bytes) -> str:
    """The header's value; "" if it is missing or comes more than once."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""


def _hostname(host: str) -> str:
    """Without port, brackets and a last dot, in small letters; "" for what is no host."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname or "", parts.port  # the port is read to see that it is one
    except ValueError:
        return ""
    return name.rstrip(".").lower() if parts.netloc == host and "@" not in host else ""


def _unknown_host(host: str) -> str:
    """Return the sentences for a Host that is none of ours; they name what the operator can set.

    The Host is whatever the sender wrote: it is repeated in ASCII, cut off, and offered as a value
    only if it is a name or an address.
    """
    name = _hostname(host)
    if not _HOST_NAME.fullmatch(name):
        name = "NAME"
    quoted = ascii(host if len(host) <= MAX_QUOTED_HOST else host[:MAX_QUOTED_HOST] + "...")
    return (
        f"This server does not answer to the name {quoted}. Whoever runs it can add the name with "
        f"--server.allowedHosts {name} or, in a container, with the environment variable "
        f"STREAMLIT_SERVER_ALLOWED_HOSTS={name} (several names: in quotes, with blanks between)."
    )


def _parse_address(text: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(str(text))
    except ValueError:
        return None
    # Of a socket for both kinds, an IPv4 address comes dressed up as an IPv6 one.
    return getattr(address, "ipv4_mapped", None) or address


def _cookie(scope: Scope) -> bytes:
    """The visitor's id, to be kept: the one that the browser sent, or else a new one.

    `Lax` and not `Strict`: with the latter, a link in a mail or on a school's page would open the
    app without the cookie, and the new one set then would part a visitor from their runs.
    """
    visitor_id = sent_id(scope["headers"]) or new_id()
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    attributes = f"Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Lax{secure}"
    return f"{COOKIE}={visitor_id}; {attributes}".encode()


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = (sentence + "\n").encode()
    kind = (b"content-type", b"text/plain; charset=utf-8")
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [kind, length]})
    await send({"type": "http.response.body", "body": body})


LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
"""Names that this machine always answers to."""
ANY_ADDRESS = ("0.0.0.0", "::")
"""What a server binds to in order to be reached from everywhere."""


def network_address() -> str:
    """Return this machine's IPv4 address in its network, or "" if it has none. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 1))  # an address for documentation (RFC 5737)
        except OSError:
            return ""
        return str(probe.getsockname()[0])
