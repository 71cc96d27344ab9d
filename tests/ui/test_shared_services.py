"""Services shared by all visitors while one visitor sends unusual messages."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.live_app import app_server
from tests.websocket_session import Session
from transformer.analysis.corpora import Corpus
from transformer.ui.services import live_jobs, models, shared, uploads
from transformer.ui.services.live_jobs import computation_service


def worker_processes(server_pid: int) -> set[int]:
    """Return the ids of the server's worker processes."""
    return {
        process.pid
        for child in psutil.Process(server_pid).children()
        if "transformer.jobs" in " ".join(child.cmdline())
        for process in (child.children() if "fork_server" in child.cmdline()[-1] else [child])
    }


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_clearing_the_caches_stops_no_process(checkpoints: Path, tmp_path: Path) -> None:
    """Any browser can send the message that clears the caches. It once stopped all training, as
    Streamlit released the cached objects."""
    with (
        app_server(checkpoints, HEADS_UP_RUNS=str(tmp_path / "runs")) as (address, process),
        Session(address, "train") as visitor,
    ):
        wait_until(lambda: bool(worker_processes(process.pid)))
        before = worker_processes(process.pid)
        message = BackMsg()
        message.clear_cache = True
        visitor.socket.send(message.SerializeToString())
        with Session(address, "train"):  # the server still answers a later visitor
            time.sleep(1)
            assert before <= worker_processes(process.pid)


def test_services_uploads_and_models_survive_cleared_caches(
    checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADS_UP_CHECKPOINTS", str(checkpoints))
    uploads.uploads().put("me", Corpus.from_lines(["one", "two"], "mine"))

    def all_services() -> list[object]:
        model = models.load("tiny", checkpoints / "tiny").translator
        return [live_jobs.jobs(), computation_service(), uploads.uploads(), model]

    try:
        before = all_services()
        st.cache_resource.clear()
        st.cache_data.clear()
        assert [*map(id, all_services())] == [*map(id, before)]
        assert uploads.uploads().get("me") is not None
        executor: Any = live_jobs.jobs().executor
        assert not executor._closing.is_set()
    finally:
        shared.close_all()


def test_many_uploads_from_one_address_do_not_remove_those_of_another() -> None:
    store, corpus = uploads.Uploads(6), Corpus.from_lines(["mine"], "mine")
    store.put("me", corpus, "B")
    for number in range(20):
        store.put(f"cookie {number}", Corpus.from_lines(["x"], "x"), "A")
    assert store.get("me") is corpus
    assert store.get("cookie 16") is None
    assert all(store.get(f"cookie {number}") is not None for number in (17, 18, 19))
