"""Files that a page offers: while it is shown, a little longer, and in no other session."""

from __future__ import annotations

import gc
import http.client
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import streamlit as st

from benchmarks.browser import served
from benchmarks.sessions import Session
from transformer.ui.shell import downloads


class Clock:
    """Seconds that pass as a test says."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(downloads, "time", made := Clock())
    return made


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What a session keeps."""
    kept: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


def _run(text: str, key: str = "table") -> str:
    """One run of a page that offers one file; its token."""
    downloads.begin_run()
    address = downloads.address(lambda: text, f"{key}.csv", "text/csv", key)
    return address.rpartition("/")[2]


def test_the_address_stays_and_gives_the_newest(session: dict[str, object], clock: Clock) -> None:
    first = _run("before")
    assert _run("after") == first
    assert downloads.contents(first) == "after"


def test_a_file_is_offered_a_little_longer_than_its_page_is_shown(
    session: dict[str, object], clock: Clock
) -> None:
    left = _run("left")
    for _ in range(10):  # within seconds
        _run("other", "other")
    assert downloads.contents(left) == "left"
    clock.now += downloads.GRACE_SECONDS + 1
    for _ in range(downloads.GRACE_RUNS + 1):
        _run("other", "other")
    gc.collect()
    with pytest.raises(KeyError):
        downloads.contents(left)


def test_a_page_that_was_shown_for_long_is_left_with_its_files(
    session: dict[str, object], clock: Clock
) -> None:
    shown = _run("shown")
    clock.now += 3600
    _run("other", "other")  # the browser may not have shown this run yet
    assert downloads.contents(shown) == "shown"


def test_what_a_session_offers_goes_with_it(session: dict[str, object], clock: Clock) -> None:
    token = _run("mine")
    session.clear()
    gc.collect()
    with pytest.raises(KeyError):
        downloads.contents(token)


@pytest.fixture(scope="module")
def address(checkpoints: Path) -> Iterator[str]:
    with served(checkpoints, HEADS_UP_RUNS=str(checkpoints.parent / "runs-downloads")) as (at, _):
        yield at


def test_the_server_gives_the_file_under_its_name(address: str) -> None:
    with Session(address, "lessons") as visitor:
        path, name = re.findall(r'href="\./([^"]+)" download="([^"]+)"', visitor.text)[0]
        for _ in range(3):
            visitor.rerun()
        status, headers, body = get(address, path)
        assert status == 200
        assert headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert headers["x-content-type-options"] == "nosniff"
        assert b"<html" in body
        status, _, body = get(address, f"{downloads.FOLDER}/none")
        assert status == 404
        assert b"no longer offered" in body


def get(address: str, path: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    with closing(connection):
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, headers, answer.read()
