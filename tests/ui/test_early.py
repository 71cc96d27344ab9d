"""The first picture in the app's first page, asked for as uvicorn asks."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from tests.ui.conftest import exchanged
from transformer import Translator
from transformer.figures.glance import glance_data
from transformer.ui import models, trace_cache
from transformer.ui.home import early, glance
from transformer.ui.home.early import BODY, EarlyPicture
from transformer.ui.kit.remembered import Kept
from transformer.ui.server.gate import Receive, Scope, Send

PAGE = b"<html><head><title>x</title></head><body>" + BODY + b"</body></html>"
HTML = [(b"content-type", b"text/html; charset=utf-8"), (b"etag", b'"1"')]


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of checkpoints, whose first picture is prepared."""
    monkeypatch.setenv(models.FOLDER, str(tmp_path))
    kept = Kept[Translator](10**9, models._size)
    monkeypatch.setattr(models, "_loaded", lambda: kept)
    monkeypatch.setattr(early, "_prepared", [])
    shutil.copytree(checkpoints / "tiny", tmp_path / "tiny")
    early.prepare()
    return tmp_path


def ask(
    path: str = "/", status: int = 200, given: list[tuple[bytes, bytes]] = HTML, **more: Any
) -> tuple[bytes, dict[bytes, bytes], Scope]:
    """What is answered, its headers, and what the app behind was asked."""
    seen: Scope = {}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.update(scope)
        length = (b"content-length", str(len(PAGE)).encode())
        headers = [*given, length]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for at in range(0, len(PAGE), 20):  # in pieces, as a file is read
            more_body = at + 20 < len(PAGE)
            body = PAGE[at : at + 20]
            await send({"type": "http.response.body", "body": body, "more_body": more_body})

    scope = {"type": "http", "method": "GET", "path": path, "headers": [], **more}
    said = exchanged(EarlyPicture(app), scope)
    assert [one["type"] for one in said[:2]] == ["http.response.start", "http.response.body"]
    body = b"".join(one["body"] for one in said[1:])
    return body, dict(said[0]["headers"]), seen


def test_the_page_holds_what_the_app_would_draw_first(folder: Path) -> None:
    body, headers, _ = ask()
    assert headers[b"content-length"] == str(len(body)).encode()
    found = re.search(rb'id="hu-early-data">(.*?)</script>', body)
    assert found
    data = json.loads(found[1])
    model = models.load_first()
    assert model
    trace = model.translator.trace(data["text"], method="greedy")
    assert [one["text"] for one in data["written"]] == [
        one["text"] for one in glance_data(trace)["written"]
    ]
    assert data["model"] == "tiny"
    assert data["examples"] == list(model.about.examples)
    assert body.index(b"hu-early") < body.index(BODY)


def test_it_is_never_taken_for_what_the_app_gave_before(folder: Path) -> None:
    _, headers, scope = ask(headers=[(b"if-none-match", b'"1"'), (b"host", b"here")])
    assert scope["headers"] == [(b"host", b"here")]
    assert b"etag" not in headers


@pytest.mark.parametrize(
    "asked",
    [
        {"path": "/attention"},
        {"path": "/attention/"},
        {"path": "/static/js/index.js"},
        {"query_string": b"text=Hello."},
        {"method": "HEAD"},
        {"status": 304},
        {"status": 500},
        {"given": [(b"content-type", b"text/plain")]},
        {"given": [*HTML, (b"content-encoding", b"gzip")]},
    ],
)
def test_all_else_is_the_apps(folder: Path, asked: dict[str, Any]) -> None:
    assert ask(**asked)[0] == PAGE


def test_below_a_path_of_the_host_it_is_the_page_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st, "get_option", lambda name: "/tools/" if "baseUrl" in name else None)
    assert b"hu-early" in ask("/tools/")[0]
    assert ask("/tools/attention")[0] == PAGE


def test_once_the_model_is_another_there_is_none(folder: Path) -> None:
    (folder / "tiny" / "config.json").touch()
    assert b"hu-early" in ask()[0]  # the same in a newer file
    file = folder / "tiny" / "vocabulary.model"
    file.write_bytes(file.read_bytes() + b"\0")
    assert ask()[0] == PAGE
    shutil.rmtree(folder / "tiny")
    assert ask()[0] == PAGE


def test_a_model_that_does_not_open_is_the_pages_to_say(folder: Path) -> None:
    shutil.rmtree(folder / "tiny")
    early.prepare()
    assert ask()[0] == PAGE


def test_nor_is_one_that_cannot_read_the_example(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise ValueError("The text has a sign that no number of this task has.")

    monkeypatch.setattr(trace_cache, "first", refused)
    early.prepare()
    assert ask()[0] == PAGE


def test_nothing_that_a_model_says_ends_its_element(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "</script><script>alert(1)</script>"
    monkeypatch.setattr(glance, "shown", lambda *_: {"text": hostile})
    early.prepare()
    body = ask()[0]
    assert hostile.encode() not in body
    found = re.search(rb'id="hu-early-data">(.*?)</script>', body)
    assert found
    assert json.loads(found[1]) == {"text": hostile}
