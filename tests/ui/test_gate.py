"""The security gate, which checks every request before Streamlit; called as uvicorn calls it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from tests.ui.conftest import exchange_messages
from transformer.api.visitors import COOKIE, ID, new_id
from transformer.jobs.limits import LIMITS_VARIABLE
from transformer.ui.server.security import MAX_QUOTED_HOST, Gate, content_security_policy

HOSTS = ("localhost", "127.0.0.1", "::1", "class.example.org", "*.school.example")
POLICY = "default-src 'self'"
EXPECTED_HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "SAMEORIGIN",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
OK = 200


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in place of Streamlit: with a page, a WebSocket session, or an error."""
    if scope["type"] == "websocket":
        return await send({"type": "websocket.accept"})
    if scope["path"] == "/error":
        raise RuntimeError("a path of this machine")
    if scope["path"] == "/cut-off":
        raise ClientDisconnect
    headers = [(b"cache-control", b"no-cache"), (b"x-frame-options", b"ALLOWALL")]
    await send({"type": "http.response.start", "status": OK, "headers": headers})
    await send({"type": "http.response.body", "body": b"the page"})


def send_request(
    headers: Mapping[str, str] | list[tuple[str, str]],
    path: str = "/",
    kind: str = "http",
    **scope: Any,
) -> list[Message]:
    """Return all messages of the gate in response to a request."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    request = {
        "type": kind,
        "method": "GET",
        "path": path,
        "scheme": "http",
        "server": ("192.168.1.20", 8501),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in pairs],
        **scope,
    }
    gate = Gate(
        page,
        hosts=HOSTS,
        origins=["https://notes.example/"],
        policy=POLICY,
        preload=lambda path: f"<script of {path}>" if path == "/inside" else "",
    )
    return exchange_messages(gate, request, "websocket.connect")


def test_a_page_names_what_the_browser_can_load_in_advance() -> None:
    host = {"host": "localhost"}
    for accept, path, expected in (
        ("text/html", "/inside", "<script of /inside>"),
        ("text/html", "/unknown", None),
        ("application/json", "/inside", None),
    ):
        messages = send_request({**host, "accept": accept}, path=path)
        assert response_headers(messages).get("link") == expected


def test_sites_in_the_limits_file_may_show_the_app_in_a_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "limits.toml"
    monkeypatch.setenv(LIMITS_VARIABLE, str(file))
    for content, expected in (
        ('frame_ancestors = "https://moodle.school.example"', " https://moodle.school.example"),
        ('frame_ancestors = ""', ""),
        ('frame_ancestors = "*; script-src *"', ""),  # the pages report it
    ):
        file.write_text(content, encoding="utf-8")
        assert content_security_policy().endswith(f"frame-ancestors 'self'{expected}")


def status(headers: Mapping[str, str] | list[tuple[str, str]], **options: Any) -> int:
    return int(send_request(headers, **options)[0]["status"])


def response_headers(messages: list[Message]) -> dict[str, str]:
    headers = [(name.decode().lower(), value.decode()) for name, value in messages[0]["headers"]]
    assert len(headers) == len(dict(headers)), "a header comes twice"
    return dict(headers)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "localhost",
            "localhost:8501",
            "LocalHost.:8501",
            "127.0.0.1:8501",
            "[::1]",
            "[::1]:8501",
        ),
        *("class.example.org", "room1.school.example:80", "192.168.1.20:8501", "192.168.1.20"),
    ],
)
def test_own_names_and_the_address_of_the_socket_are_accepted(host: str) -> None:
    assert status({"host": host}) == OK
    assert send_request({"host": host}, kind="websocket")[0]["type"] == "websocket.accept"


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "evil.example:8501", "school.example", ""),
        *("evilschool.example", "192.168.1.21", "10.0.0.1:8501", "[::2]:8501", "localhost:99999"),
        *("localhost:x", "me@localhost", "localhost/x", "localhost#x", "localhost?x", "[::1", " "),
        *(
            "localhost, evil.example",
            "évil",
            "0.0.0.0:8501",
            "2130706433",
            "0x7f.1",
            "localhost\\x",
        ),
    ],
)
def test_any_other_host_is_rejected(host: str) -> None:
    messages = send_request({"host": host})
    assert messages[0]["status"] == 421
    assert b"--server.allowedHosts" in messages[1]["body"]
    assert b"STREAMLIT_SERVER_ALLOWED_HOSTS" in messages[1]["body"]
    assert response_headers(messages).items() >= EXPECTED_HEADERS.items()
    closed = send_request({"host": host}, kind="websocket")
    assert (closed[0]["type"], closed[0]["code"]) == ("websocket.close", 1008)


@pytest.mark.parametrize(
    ("host", "quoted", "value"),
    [
        ("class.example.net:8501", "'class.example.net:8501'", "class.example.net"),
        ("[2001:db8::1]:80", "'[2001:db8::1]:80'", "2001:db8::1"),
        ("192.168.1.21", "'192.168.1.21'", "192.168.1.21"),
        ("", "''", "NAME"),
        ("évil", r"'\xe9vil'", "NAME"),
        ("<script>alert(1)</script>", "'<script>alert(1)</script>'", "NAME"),
        ("a b\r\nSet-Cookie: x", r"'a b\r\nSet-Cookie: x'", "NAME"),
        ("x" * 10_000, f"'{'x' * MAX_QUOTED_HOST}...'", "NAME"),
    ],
)
def test_the_rejection_quotes_the_host_and_names_the_setting(
    host: str, quoted: str, value: str
) -> None:
    """The response is plain text, not HTML; the suggested value accepts exactly this name."""
    messages = send_request({"host": host})
    body = messages[1]["body"].decode("ascii")
    assert f"the host name {quoted}." in body
    assert f"STREAMLIT_SERVER_ALLOWED_HOSTS={value} " in body
    assert len(body) < 600
    assert response_headers(messages)["content-type"] == "text/plain; charset=utf-8"
    if value != "NAME":
        gate = Gate(page, hosts=[value], origins=(), policy=POLICY)
        headers = [(b"host", host.encode())]
        scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
        assert exchange_messages(gate, scope)[0]["status"] == OK


def test_a_request_has_exactly_one_host() -> None:
    assert status({}) == 421
    assert status([("host", "localhost"), ("host", "evil.example")]) == 421


def test_an_ipv4_address_on_a_dual_stack_socket() -> None:
    assert status({"host": "192.168.1.20:8501"}, server=("::ffff:192.168.1.20", 8501)) == OK
    assert status({"host": "192.168.1.21:8501"}, server=("::ffff:192.168.1.20", 8501)) == 421
    assert status({"host": "[fe80::1]:8501"}, server=("fe80::1", 8501)) == OK
    assert status({"host": "192.168.1.20"}, server=None) == 421


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost:8501", True),
        ("https://localhost:8501", True),  # behind a proxy with TLS
        ("https://notes.example", True),
        ("http://localhost:3000", False),  # another server on this machine
        ("http://localhost", False),
        ("http://127.0.0.1:8501", False),
        ("https://evil.example", False),
        ("http://notes.example", False),
        ("https://notes.example.evil.example", False),
        ("ftp://localhost:8501", False),
        ("null", False),
        ("", False),
    ],
)
def test_other_origins_are_rejected(origin: str, allowed: bool) -> None:
    headers = {"host": "localhost:8501", "origin": origin}
    assert status(headers) == (OK if allowed else 403)
    first = send_request(headers, kind="websocket")[0]["type"]
    assert first == ("websocket.accept" if allowed else "websocket.close")


def test_every_response_has_the_headers_once() -> None:
    for path in ("/", "/train", "/_stcore/health", "/static/js/x.js"):
        messages = send_request({"host": "localhost"}, path)
        assert response_headers(messages).items() >= EXPECTED_HEADERS.items()
        assert messages[1]["body"] == b"the page"


def test_an_internal_error_reveals_no_details() -> None:
    messages: list[Message] = []
    scope = {"type": "http", "method": "GET", "path": "/error", "headers": [(b"host", b"[::1]")]}
    gate = Gate(page, hosts=HOSTS, origins=(), policy=POLICY)
    with pytest.raises(RuntimeError):  # the terminal shows the error, the response does not
        exchange_messages(gate, scope, messages=messages)
    assert messages[0]["status"] == 500
    assert b"path" not in messages[1]["body"]
    assert response_headers(messages).items() >= EXPECTED_HEADERS.items()


def test_an_upload_that_is_cut_off_is_no_error() -> None:
    assert send_request({"host": "localhost"}, path="/cut-off") == []


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/base/_stcore/metrics"])
def test_metrics_are_not_served(path: str) -> None:
    assert status({"host": "localhost"}, path=path) == 404


HTML = {"host": "localhost", "accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def cookie_id_and_attributes(headers: Mapping[str, str], **options: Any) -> tuple[str, set[str]]:
    """Return the visitor id in the response's cookie, and the cookie's attributes."""
    value, *attributes = response_headers(send_request(headers, **options))["set-cookie"].split(
        "; "
    )
    name, _, visitor_id = value.partition("=")
    assert name == COOKIE
    return visitor_id, set(attributes)


def test_a_new_visitor_gets_an_httponly_id() -> None:
    first, attributes = cookie_id_and_attributes(HTML)
    assert ID.fullmatch(first)
    assert attributes == {"Path=/", "Max-Age=34560000", "HttpOnly", "SameSite=Lax"}
    assert cookie_id_and_attributes(HTML)[0] != first
    assert cookie_id_and_attributes(HTML, scheme="https")[1] == attributes | {"Secure"}
    assert response_headers(send_request(HTML))["cache-control"] == "private, no-cache"


def test_a_visitor_keeps_their_id() -> None:
    visitor_id = new_id()
    cookie = f"_streamlit_xsrf=2|a|b|1; {COOKIE}={visitor_id}; other=x=y"
    assert cookie_id_and_attributes({**HTML, "cookie": cookie})[0] == visitor_id
    for invalid_id in (
        visitor_id[:-1],
        visitor_id + "x",
        "",
        "a b",
        f'"{visitor_id}"',
        visitor_id[:-1] + "é",
    ):
        replacement = cookie_id_and_attributes({**HTML, "cookie": f"{COOKIE}={invalid_id}"})[0]
        assert ID.fullmatch(replacement)
        assert replacement != visitor_id


def test_only_a_page_sets_the_cookie() -> None:
    responses = [
        send_request({"host": "localhost", "accept": "*/*"}, "/_stcore/health"),
        send_request({**HTML, "host": "evil.example"}),
        send_request({**HTML, "origin": "https://evil.example"}),
        send_request(HTML, method="POST"),
    ]
    assert not any("set-cookie" in response_headers(response) for response in responses)
