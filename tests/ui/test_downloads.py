"""Downloads of a page: available while it is shown and shortly after, in this session only."""

from __future__ import annotations

import gc
import http.client
import re
from contextlib import closing
from urllib.parse import urlsplit

import pytest
import streamlit as st

from tests.websocket_session import Session
from transformer.ui.services import downloads


class Clock:
    """A clock that the test advances."""

    seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(downloads, "time", test_clock := Clock())
    return test_clock


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Return the session state that `downloads` uses."""
    state: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def _run_page(text: str, key: str = "table") -> str:
    """Run a page that offers one file; return its token."""
    downloads.begin_run()
    address = downloads.address(lambda: text, f"{key}.csv", "text/csv", key)
    return address.rpartition("/")[2]


def test_an_address_stays_valid_and_returns_the_newest_file(
    session: dict[str, object], clock: Clock
) -> None:
    first = _run_page("before")
    assert _run_page("after") == first
    assert downloads.contents(first) == "after"


def test_a_file_stays_available_shortly_after_its_page(
    session: dict[str, object], clock: Clock
) -> None:
    token = _run_page("first page")
    for _ in range(10):  # no time has passed
        _run_page("other", "other")
    assert downloads.contents(token) == "first page"
    clock.seconds += downloads.GRACE_SECONDS + 1
    for _ in range(downloads.GRACE_RUNS + 1):
        _run_page("other", "other")
    gc.collect()
    with pytest.raises(KeyError):
        downloads.contents(token)


def test_downloads_end_with_their_session(session: dict[str, object], clock: Clock) -> None:
    token = _run_page("mine")
    session.clear()
    gc.collect()
    with pytest.raises(KeyError):
        downloads.contents(token)


def test_the_server_sends_the_file_with_its_name(address: str) -> None:
    with Session(address, "research", "experiment=findings") as visitor:
        path, name = re.findall(r'href="\./([^"]+)" download="([^"]+)"', visitor.text)[0]
        for _ in range(3):
            visitor.rerun()
        status, headers, body = get(address, path)
        assert status == 200
        assert headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert headers["x-content-type-options"] == "nosniff"
        assert body.startswith(b"\xef\xbb\xbf")  # a CSV file
        status, _, body = get(address, f"{downloads.FOLDER}/none")
        assert status == 404
        assert b"no longer offered" in body


def get(address: str, path: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of a response."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    with closing(connection):
        connection.request("GET", f"/{path}")
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return response.status, headers, response.read()
