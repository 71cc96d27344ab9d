"""The routes: the documented requests, refusals, and requests that nobody waits for."""

from __future__ import annotations

import io
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.conftest import ROOT
from tests.hostile import check_message
from transformer import Trace, Translator, __version__
from transformer.api import answers, routes, visitors
from transformer.api.kinds import KINDS, Kind
from transformer.app_folders import CHECKPOINTS_VARIABLE
from transformer.cancellation import check_cancelled
from transformer.checkpoint import VOCABULARY, WEIGHTS
from transformer.figures.packing import unpack
from transformer.text import door

TEXT = "The baker paints a boat."


@pytest.fixture
def client(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv(CHECKPOINTS_VARIABLE, str(checkpoints))
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    return TestClient(Starlette(routes=[routes.route("/heads")]), base_url="http://localhost")


def ask(client: TestClient, kind: str, **fields: Any) -> Any:
    return client.post(f"/heads/api/{kind}", content=json.dumps(fields))


def test_the_documented_commands_work(
    client: TestClient, translator: Translator, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
    commands = re.findall(r"^curl http://localhost:8501/(\S+) --json '(.*?)'", page, re.M)
    assert len(commands) == 3
    replies = []
    for path, body in commands:
        fields = {**json.loads(body), "text": TEXT}
        if "off" in fields:
            fields["off"] = "c1.1,e0"
        replies.append(client.post(f"/heads/{path}", content=json.dumps(fields)))
        assert replies[-1].status_code == 200, replies[-1].text
        assert replies[-1].headers[routes.VERSION_HEADER] == __version__
    assert replies[0].json()["text"] == translator.translate(TEXT).text
    (tmp_path / "trace.npz").write_bytes(replies[1].content)
    trace, expected = Trace.load_npz(tmp_path / "trace.npz"), translator.trace(TEXT)
    np.testing.assert_allclose(trace.weights("cross", 1), expected.weights("cross", 1), atol=1e-5)
    assert replies[2].json()["score"] != replies[0].json()["score"]


def test_the_documented_fields_are_those_of_the_requests() -> None:
    page = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
    table = page[page.index("| field |") : page.index("[From Python]")]
    names = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines() if row))
    assert {*names} == {*door.rules(KINDS["trace"].shape)}


def test_a_trace_as_json_has_the_named_hook_points(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["encoder.layers.0.self_attn.hook_query", "decoder.layers.-1.*weights"]
    answer = ask(client, "trace", text=TEXT, names=names, format="json").json()
    assert len(answer["tensors"]) == 3
    monkeypatch.setitem(answers.MAX_TRACE_NUMBERS, "json", 1000)
    problem = ask(client, "trace", text=TEXT, names=["*"], format="json").json()["problem"]
    assert problem.endswith("has at most 1,000; name fewer hook points or use a shorter text.")
    assert np.load(io.BytesIO(ask(client, "trace", text=TEXT).content)).files


def test_the_models_are_those_of_the_visitor(client: TestClient) -> None:
    [(name, model)] = client.get("/heads/api/models").json()["models"].items()
    assert (name, model["reads"], model["writes"]) == ("tiny", "English", "French")
    assert [file["path"].rpartition("/")[2] for file in model["files"]] == [WEIGHTS, VOCABULARY]


def test_the_explorer_gets_two_sides_to_compare(client: TestClient, translator: Translator) -> None:
    answer = ask(client, "ask/explore", text=TEXT, off="c0.1", ablation="uniform")
    header, parts = unpack(answer.content)
    assert [side["name"] for side in header["sides"]] == ["as trained", "changed"]
    part = parts["1.weights.cross.0"]
    uniform = (part.array[1] / part.top) ** 2
    np.testing.assert_allclose(uniform, 1 / uniform.shape[1], atol=1e-3)
    header, _ = unpack(ask(client, "ask/explore", text=TEXT, force="999:5").content)
    assert header["second_kind"] == "refused"
    assert header["refused"].startswith("That token cannot be forced: there is no step 999")


@pytest.mark.parametrize(
    ("kind", "fields", "status", "problem"),
    [
        ("nothing", {"text": TEXT}, 404, "There is no request "),
        ("translate", {"text": TEXT, "model": "nothing"}, 404, "There is no model "),
        ("translate", {"text": TEXT, "model": "../tiny"}, 404, "There is no model "),
        ("translate", {}, 422, "The field text is missing."),
        ("translate", {"text": "\u200b"}, 422, "Type a few words to translate."),
        ("translate", {"text": "€ + €"}, 422, "The text contains only symbols; type a word."),
        ("translate", {"text": "a " * 600}, 422, "The "),
        ("translate", {"text": "a" * 20_001}, 422, "text must be at most 20,000 characters"),
        ("translate", {"text": "a" * 1_000_000}, 413, "The body has more than 64,000 bytes"),
        ("translate", {"text": "\ud800"}, 422, "text must be "),
        ("translate", {"text": TEXT, "off": "c9"}, 422, "This model has no head c9; "),
        ("translate", {"text": TEXT, "off": "c0.1.2"}, 422, "off must be "),
        ("translate", {"text": TEXT, "beam_size": 10**400}, 422, "beam_size must be "),
        ("translate", {"text": TEXT, "masked_tokens": "99"}, 422, "There is no position 99; "),
        ("trace", {"text": TEXT, "names": ["nothing"]}, 422, "The model has no hook 'nothing'"),
        ("ask/part", {"text": TEXT, "name": "1.query.cross.0.0"}, 422, "There is no part "),
        ("ask/cells", {"text": TEXT, "head": {"kind": "cross"}}, 422, "head must be "),
    ],
)
def test_a_wrong_request_is_refused_with_a_sentence(
    client: TestClient, kind: str, fields: dict[str, Any], status: int, problem: str
) -> None:
    answer = ask(client, kind, **fields)
    assert (answer.status_code, answer.json()["problem"][: len(problem)]) == (status, problem)
    check_message(ValueError(answer.json()["problem"]))


def test_another_method_and_another_header_are_refused(client: TestClient) -> None:
    assert client.get("/heads/api/translate").status_code == 405
    for header in ("x" * 100, "a b", "a 1 2", "a -1", f"a {'9' * 40}"):
        answer = client.post(
            "/heads/api/translate", json={"text": TEXT}, headers={routes.REQUEST_HEADER: header}
        )
        assert answer.status_code == 400


def test_a_newer_request_of_a_tab_stops_the_older_one(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops at its next check; requests of other tabs and visitors stay."""
    started = threading.Barrier(4)
    may_end = threading.Event()

    def wait(visitor: str, *_: object) -> bytes:
        if not may_end.is_set():
            started.wait(30)
            while not may_end.wait(0.01):
                check_cancelled()
        return b"done"

    kind = Kind(KINDS["ask/glance"].shape, wait)
    monkeypatch.setitem(KINDS, "ask/glance", kind)
    cookies = [{"Cookie": f"{visitors.COOKIE}={visitors.new_id()}"} for _ in range(2)]

    def send(visitor: int, name: str) -> int:
        headers = {**cookies[visitor], routes.REQUEST_HEADER: name}
        answer = client.post("/heads/api/ask/glance", json={"text": TEXT}, headers=headers)
        return int(answer.status_code)

    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(send, 0, "a 5")
        others = [threads.submit(send, 0, "b 1"), threads.submit(send, 1, "a 1")]
        started.wait(30)
        newer_started = threading.Event()
        monkeypatch.setattr(started, "wait", lambda _: newer_started.set())
        newer = threads.submit(send, 0, "a 6")
        assert first.result(30) == 409
        assert newer_started.wait(30)
        assert send(0, "a 4") == 409
        may_end.set()
        assert [future.result(30) for future in (newer, *others)] == [200, 200, 200]


def test_a_visitor_has_a_limited_number_of_requests() -> None:
    pending = routes.PendingRequests()
    entries = [pending.added("a", "", 0, "translate") for _ in range(routes.MAX_WAITING)]
    for entry in entries:
        entry.__enter__()
    with pytest.raises(door.Refusal, match="same time"), pending.added("a", "", 0, "translate"):
        pass
    with pending.added("b", "", 0, "translate"):
        pass
    for entry in entries:
        entry.__exit__(None, None, None)
    with pending.added("a", "", 0, "translate"):
        pass
