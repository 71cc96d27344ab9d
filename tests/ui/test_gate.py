"""The gate before every page, asked as uvicorn asks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.ui.conftest import exchanged
from transformer.ui.shell.security import MAX_QUOTED_HOST, Gate, Message, Receive, Scope, Send
from transformer.ui.shell.visitor import COOKIE, ID, new_id

HOSTS = ("localhost", "127.0.0.1", "::1", "class.example.org", "*.school.example")
POLICY = "default-src 'self'"
CARRIED = {
    "content-security-policy": POLICY,
    "x-frame-options": "SAMEORIGIN",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
OK = 200


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands in for Streamlit: a page, a session, or what goes wrong."""
    if scope["type"] == "websocket":
        return await send({"type": "websocket.accept"})
    if scope["path"] == "/broken":
        raise RuntimeError("a path of this machine")
    headers = [(b"Cache-Control", b"no-cache"), (b"X-Frame-Options", b"ALLOWALL")]
    await send({"type": "http.response.start", "status": OK, "headers": headers})
    await send({"type": "http.response.body", "body": b"the page"})


def ask(
    headers: Mapping[str, str] | list[tuple[str, str]],
    path: str = "/",
    kind: str = "http",
    **scope: Any,
) -> list[Message]:
    """All that the gate says to a request."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    asked = {
        "type": kind,
        "method": "GET",
        "path": path,
        "scheme": "http",
        "server": ("192.168.1.20", 8501),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in pairs],
        **scope,
    }
    gate = Gate(page, hosts=HOSTS, origins=["https://notes.example/"], policy=POLICY)
    return exchanged(gate, asked, "websocket.connect")


def status(headers: Mapping[str, str] | list[tuple[str, str]], **more: Any) -> int:
    return int(ask(headers, **more)[0]["status"])


def carried(said: list[Message]) -> dict[str, str]:
    found = [(name.decode().lower(), value.decode()) for name, value in said[0]["headers"]]
    assert len(found) == len(dict(found)), "a header comes twice"
    return dict(found)


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
def test_our_names_and_the_address_asked_are_let_in(host: str) -> None:
    assert status({"host": host}) == OK
    assert ask({"host": host}, kind="websocket")[0]["type"] == "websocket.accept"


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
def test_any_other_host_is_refused(host: str) -> None:
    said = ask({"host": host})
    assert said[0]["status"] == 421
    assert b"--server.allowedHosts" in said[1]["body"]
    assert b"STREAMLIT_SERVER_ALLOWED_HOSTS" in said[1]["body"]
    assert carried(said).items() >= CARRIED.items()
    closed = ask({"host": host}, kind="websocket")
    assert closed == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("host", "shown", "value"),
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
def test_the_refusal_repeats_the_name_and_says_what_to_set(
    host: str, shown: str, value: str
) -> None:
    """Plain text that no browser takes for HTML; the value lets exactly this name in."""
    said = ask({"host": host})
    body = said[1]["body"].decode("ascii")
    assert f"the host name {shown}." in body
    assert f"STREAMLIT_SERVER_ALLOWED_HOSTS={value} " in body
    assert len(body) < 600
    assert carried(said)["content-type"] == "text/plain; charset=utf-8"
    if value != "NAME":
        gate = Gate(page, hosts=[value], origins=(), policy=POLICY)
        headers = [(b"host", host.encode())]
        scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
        assert exchanged(gate, scope)[0]["status"] == OK


def test_a_request_names_one_host() -> None:
    assert status({}) == 421
    assert status([("host", "localhost"), ("host", "evil.example")]) == 421


def test_an_ipv4_address_through_a_socket_for_both_kinds() -> None:
    assert status({"host": "192.168.1.20:8501"}, server=("::ffff:192.168.1.20", 8501)) == OK
    assert status({"host": "192.168.1.21:8501"}, server=("::ffff:192.168.1.20", 8501)) == 421
    assert status({"host": "[fe80::1]:8501"}, server=("fe80::1", 8501)) == OK
    assert status({"host": "192.168.1.20"}, server=None) == 421


@pytest.mark.parametrize(
    ("origin", "fine"),
    [
        ("http://localhost:8501", True),
        ("https://localhost:8501", True),  # a proxy in front speaks TLS
        ("https://notes.example", True),
        ("http://localhost:3000", False),  # another server of this machine
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
def test_other_pages_are_refused(origin: str, fine: bool) -> None:
    headers = {"host": "localhost:8501", "origin": origin}
    assert status(headers) == (OK if fine else 403)
    first = ask(headers, kind="websocket")[0]["type"]
    assert first == ("websocket.accept" if fine else "websocket.close")


def test_every_answer_carries_the_headers_once() -> None:
    for path in ("/", "/train", "/_stcore/health", "/static/js/x.js"):
        said = ask({"host": "localhost"}, path)
        assert carried(said).items() >= CARRIED.items()
        assert said[1]["body"] == b"the page"


def test_what_breaks_says_nothing_of_this_machine() -> None:
    said: list[Message] = []
    scope = {"type": "http", "method": "GET", "path": "/broken", "headers": [(b"host", b"[::1]")]}
    gate = Gate(page, hosts=HOSTS, origins=(), policy=POLICY)
    with pytest.raises(RuntimeError):  # it goes on to the terminal
        exchanged(gate, scope, said=said)
    assert said[0]["status"] == 500
    assert b"path" not in said[1]["body"]
    assert carried(said).items() >= CARRIED.items()


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/base/_stcore/metrics"])
def test_metrics_are_closed(path: str) -> None:
    assert status({"host": "localhost"}, path=path) == 404


HTML = {"host": "localhost", "accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def given(headers: Mapping[str, str], **more: Any) -> tuple[str, set[str]]:
    """The id in the cookie that is set, and its attributes."""
    value, *rest = carried(ask(headers, **more))["set-cookie"].split("; ")
    name, _, found = value.partition("=")
    assert name == COOKIE
    return found, set(rest)


def test_a_new_visitor_is_given_an_id_that_no_script_reads() -> None:
    first, attributes = given(HTML)
    assert ID.fullmatch(first)
    assert attributes == {"Path=/", "Max-Age=34560000", "HttpOnly", "SameSite=Lax"}
    assert given(HTML)[0] != first
    assert given(HTML, scheme="https")[1] == attributes | {"Secure"}
    assert carried(ask(HTML))["cache-control"] == "private, no-cache"


def test_a_visitor_keeps_their_id() -> None:
    kept = new_id()
    cookie = f"_streamlit_xsrf=2|a|b|1; {COOKIE}={kept}; other=x=y"
    assert given({**HTML, "cookie": cookie})[0] == kept
    for spoilt in (kept[:-1], kept + "x", "", "a b", f'"{kept}"', kept[:-1] + "é"):
        found = given({**HTML, "cookie": f"{COOKIE}={spoilt}"})[0]
        assert ID.fullmatch(found)
        assert found != kept


def test_only_a_page_sets_the_cookie() -> None:
    others = [
        ask({"host": "localhost", "accept": "*/*"}, "/_stcore/health"),
        ask({**HTML, "host": "evil.example"}),
        ask({**HTML, "origin": "https://evil.example"}),
        ask(HTML, method="POST"),
    ]
    assert not any("set-cookie" in carried(said) for said in others)
