"""A double click counts once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from tests.session import SessionDict
from transformer.ui.base import state, visitor
from transformer.ui.pages.training import Train, cards, finished_run
from transformer.ui.services import live_classes, live_jobs


class FakeJobs:
    """Record the calls to jobs."""

    def __init__(self) -> None:
        self.names = ["existing"]

    def submit(self, *_: Any, **__: Any) -> str:
        self.names.append(f"run-{len(self.names)}")
        return self.names[-1]

    def runs(self, _: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name) for name in self.names]

    def delete(self, name: str, _: str) -> None:
        self.names.remove(name)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> FakeJobs:
    new_jobs = FakeJobs()
    monkeypatch.setattr(st, "session_state", SessionDict({"page": "pages/train.py", "view": {}}))
    monkeypatch.setattr(live_jobs, "jobs", lambda: new_jobs)
    monkeypatch.setattr(live_classes, "is_teacher", lambda: False)
    for name in ("current_id", "address_hash"):
        monkeypatch.setattr(visitor, name, lambda: "ann")
    return new_jobs


def test_a_double_click_starts_one_run(jobs: FakeJobs) -> None:
    for _ in range(2):
        cards._start("reverse")
    assert jobs.names == ["existing", "run-1"]
    assert state.view(Train).run == "run-1"
    state.change(run="")
    cards._start("reverse")  # a later, separate click
    assert state.view(Train).run == "run-2"


def test_a_double_click_replaces_the_selected_run_once(jobs: FakeJobs) -> None:
    state.change(run="existing")
    for _ in range(2):
        live_jobs.start_run(cards.run_config("reverse"), open_run="existing")
    assert jobs.names == ["existing", "run-1"]
    assert state.view(Train).run == "run-1"


def test_a_deleted_run_is_deselected(jobs: FakeJobs) -> None:
    state.change(run="existing")
    for _ in range(2):
        finished_run._delete("existing", "ann")
    assert jobs.names == []
    assert state.view(Train).run == ""
