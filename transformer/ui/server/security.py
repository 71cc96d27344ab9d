"""Which requests are accepted, and the security headers of every response.

The gate is ASGI middleware (asgi.readthedocs.io) between uvicorn and Streamlit: a refused request
reaches no page, session or upload.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit import config

from transformer.api.addresses import client_address, known_addresses, network
from transformer.api.visitors import COOKIE, new_id, sent_id
from transformer.jobs.limits import Limits
from transformer.ui.base.registry import BY_PATH
from transformer.ui.server.stream_guard import (
    POLICY_VIOLATION,
    LateBody,
    StreamGuard,
    body_in_time,
)
from transformer.ui.services import view_scripts

Refusal = tuple[int, str]

HIDDEN_PATHS = ("/_stcore/metrics",)
"""Paths that would show everyone sessions, memory and how often each page was opened."""
STREAM_PATH = "/_stcore/stream"
"""Path of the WebSocket of Streamlit's sessions."""
MAX_QUOTED_HOST = 80
"""Maximum characters of an unknown Host that the error message quotes."""
_HOST_NAME = re.compile(r"[a-z0-9.:-]{1,253}")
COOKIE_SECONDS = 400 * 24 * 3600
"""Lifetime of the visitor's cookie; browsers allow no longer one."""


def configured_gate(app: ASGIApp) -> Gate:
    """Return the gate configured by Streamlit's options, which are known once the server starts."""
    server_names = (st.get_option("server.address"), st.get_option("browser.serverAddress"))
    hosts = {*LOCAL_NAMES, *st.get_option("server.allowedHosts"), *filter(None, server_names)}
    # The gate also accepts the address at which a request arrived, which this list cannot contain.
    config.set_option("server.allowedHosts", ["*"])
    base = str(st.get_option("server.baseUrlPath")).strip("/")

    def preload(path: str) -> str:
        page = path.strip("/").removeprefix(base).strip("/")
        return view_scripts.preload_links(page) if page in BY_PATH else ""

    return Gate(
        app,
        hosts=hosts - {*ANY_ADDRESS},
        origins=st.get_option("server.corsAllowedOrigins"),
        policy=content_security_policy(),
        proxies=_limits().proxies,
        preload=preload,
    )


def _limits() -> Limits:
    """Return the limits in limits.toml, the defaults if that is invalid, which the pages report."""
    with suppress(ValueError):
        return Limits.load()
    return Limits()


def content_security_policy() -> str:
    """Return the policy: what a page may load and run, and who may show it in a frame.

    Browsers that know `frame-ancestors` ignore X-Frame-Options.

    With it Chromium reports no violation on any page (`tests/browser/test_policy.py`); without
    `blob:`, WebAssembly or `data:` fonts it did.
    """
    directives = {
        "default-src": "'self'",
        # `blob:`: Streamlit loads our views from there. WebAssembly: Streamlit uses it for large
        # numbers. Hashes: the few inline scripts of its page. No other inline script runs.
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {' '.join(_inline_script_hashes())}",
        # Streamlit, Plotly, our tables and our views write styles into the page.
        "style-src": "'self' 'unsafe-inline'",
        "font-src": "'self' data:",  # the brackets of formulas (KaTeX)
        "img-src": "'self' data: blob:",  # charts and views that are saved as images
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": f"'self' {_limits().frame_ancestors}".strip(),
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _inline_script_hashes() -> list[str]:
    """Return the hashes of the scripts in Streamlit's own page."""
    page = Path(st.__file__).parent / "static" / "index.html"
    scripts = re.findall(r"<script>(.*?)</script>", page.read_text(encoding="utf-8"), flags=re.S)
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


class Gate:
    """ASGI middleware that accepts requests for this server's names from its own pages."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        origins: Collection[str],
        policy: str,
        proxies: int = 0,
        preload: Callable[[str], str] = lambda _: "",
    ) -> None:
        """
        Args:
            hosts: names of this server; "*.example.org" for all subdomains, "*" for any name. The
                address at which a request arrives is always accepted.
            origins: other origins that may send requests, such as "https://school.example".
            policy: the Content-Security-Policy of every response.
            proxies: number of proxies between browsers and this server.
            preload: returns the `Link` header of a page, by the path of the request.
        """
        self._app, self._proxies, self._guard = app, proxies, StreamGuard()
        self._preload = preload
        self._hosts = {host.strip().strip("[]").rstrip(".").lower() for host in hosts}
        self._origins = {origin.strip().rstrip("/").lower() for origin in origins}
        self._headers = {
            "content-security-policy": policy,
            "x-frame-options": "SAMEORIGIN",
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            self._set_client(scope)
        if scope["type"] == "websocket":
            if self._refusal(scope):
                await receive()
                await WebSocketClose(POLICY_VIOLATION)(scope, receive, send)
            elif scope["path"].endswith(STREAM_PATH):
                address = network(scope["client"][0])
                await self._guard.serve(self._app, address, scope, receive, send)
            else:
                await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # the server's start and end
            await self._app(scope, receive, send)

    def _set_client(self, scope: Scope) -> None:
        """Set the request's client behind proxies, and remember the visitor's address."""
        address = client_address(scope, self._proxies)
        scope["client"] = address, (scope.get("client") or ("", 0))[1]
        if visitor_id := sent_id(scope["headers"]):
            known_addresses.remember(visitor_id, address)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started, refusal = False, self._refusal(scope)
        # Only requests for a page in a tab accept HTML.
        accepts_html = scope["method"] == "GET" and "text/html" in _single_header(scope, "accept")

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                if accepts_html and not refusal:
                    # No cache between here and the browser may store the visitor's cookie.
                    headers["cache-control"] = "private, no-cache"
                    headers.append("set-cookie", _cookie(scope))
                    if links := self._preload(scope["path"]):
                        headers["link"] = links
            await send(message)

        async def refuse(status: int, sentence: str) -> None:
            await PlainTextResponse(f"{sentence}\n", status)(scope, receive, send_with_headers)

        if refusal:
            return await refuse(*refusal)
        try:
            await self._app(scope, body_in_time(receive), send_with_headers)
        except LateBody:
            if not has_started:
                await refuse(408, "The body of the request did not arrive in time.")
        except ClientDisconnect:  # an upload that was cut off: no error of the app
            return
        except Exception:
            if not has_started:
                await refuse(500, "Internal error; see the app's terminal.")
            raise

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Return status and message for a request that is rejected; None if it is accepted."""
        host = _single_header(scope, "host")
        if not self._has_own_name(host, scope):
            return 421, _unknown_host(host)
        if not self._has_own_origin(scope, host):
            return (
                403,
                "This request comes from another site; this server accepts only its own pages.",
            )
        if any(hidden_path in scope["path"] for hidden_path in HIDDEN_PATHS):
            return 404, "Not found."
        return None

    def _has_own_name(self, host: str, scope: Scope) -> bool:
        """Return whether this Host is one of the server's names, or the IP address at which the
        request arrived, which no foreign name can imitate."""
        name = _hostname(host)
        if not name:
            return False
        if "*" in self._hosts or name in self._hosts:
            return True
        if any(allowed.startswith("*.") and name.endswith(allowed[1:]) for allowed in self._hosts):
            return True
        server_address = _parse_address((scope.get("server") or ("", None))[0])
        return server_address is not None and _parse_address(name) == server_address

    def _has_own_origin(self, scope: Scope, host: str) -> bool:
        """Return whether the Origin is this server's or an allowed one. Browsers send it where it
        matters; other clients may leave it out, and they have no cookie that a page could abuse."""
        if "origin" not in Headers(scope=scope):
            return True
        origin = _single_header(scope, "origin").lower()
        return origin in {f"http://{host.lower()}", f"https://{host.lower()}"} | self._origins


def _single_header(scope: Scope, name: str) -> str:
    """Return a header's value; "" if it is missing or repeated."""
    values = Headers(scope=scope).getlist(name)
    return values[0] if len(values) == 1 else ""


def _hostname(host: str) -> str:
    """Return the host without port, brackets and final dot, in lower case; "" if it is invalid."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname or "", parts.port  # reading the port validates it
    except ValueError:
        return ""
    return name.rstrip(".").lower() if parts.netloc == host and "@" not in host else ""


def _unknown_host(host: str) -> str:
    """Return the message for an unknown Host, with the setting that the operator can change.

    The Host is untrusted: it is quoted in ASCII, shortened, and suggested as a value only if it is
    a valid name or address.
    """
    name = _hostname(host)
    if not _HOST_NAME.fullmatch(name):
        name = "NAME"
    quoted = ascii(host if len(host) <= MAX_QUOTED_HOST else host[:MAX_QUOTED_HOST] + "...")
    return (
        f"This server does not accept the host name {quoted}. Its operator can add the name with "
        f"--server.allowedHosts {name} or, in a container, with the environment variable "
        f"STREAMLIT_SERVER_ALLOWED_HOSTS={name} (several names: in quotes, separated by spaces)."
    )


def _parse_address(text: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(str(text))
    except ValueError:
        return None
    # A socket for both versions reports an IPv4 address as an IPv4-mapped IPv6 address.
    return getattr(address, "ipv4_mapped", None) or address


def _cookie(scope: Scope) -> str:
    """Return the Set-Cookie header with the visitor's id: the one that was sent, or a new one.

    `Lax` and not `Strict`: with `Strict`, a link in a mail or on a school's page would open the app
    without the cookie, and the new cookie would separate visitors from their runs.
    """
    visitor_id = sent_id(scope["headers"]) or new_id()
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    attributes = f"Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Lax{secure}"
    return f"{COOKIE}={visitor_id}; {attributes}"


LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
"""Host names that are always accepted."""
ANY_ADDRESS = ("0.0.0.0", "::")
"""Addresses that bind a server to all interfaces."""


def network_address() -> str:
    """Return this machine's IPv4 address in its network, or "" if it has none. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 1))  # an address for documentation (RFC 5737)
        except OSError:
            return ""
        return str(probe.getsockname()[0])
