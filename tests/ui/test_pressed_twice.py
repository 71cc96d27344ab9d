"""A careless hand presses twice: it is one wish."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from tests.session import SessionDict
from transformer.ui import state
from transformer.ui.pages.training import Train, draft, finished_run, ideas
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.shell import visitor
from transformer.ui.widgets.races import start


class Jobs:
    """What is asked of jobs."""

    def __init__(self) -> None:
        self.names = ["there already"]

    def submit(self, *_: Any, **__: Any) -> str:
        self.names.append(f"run-{len(self.names)}")
        return self.names[-1]

    def runs(self, _: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name) for name in self.names]

    def delete(self, name: str, _: str) -> None:
        self.names.remove(name)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    made = Jobs()
    monkeypatch.setattr(st, "session_state", SessionDict({"page": "pages/train.py", "view": {}}))
    monkeypatch.setattr(live_jobs, "jobs", lambda: made)
    monkeypatch.setattr(live_classes, "is_teacher", lambda: False)
    for room in (ideas, start):
        monkeypatch.setattr(room, "submit_race", made.submit)
    for name in ("current_id", "address_hash"):
        monkeypatch.setattr(visitor, name, lambda: "ann")
    return made


def test_one_run_is_started_and_looked_at(jobs: Jobs) -> None:
    for _ in range(2):
        ideas._start(ideas.IDEAS[0])
    assert jobs.names == ["there already", "run-1"]
    assert state.view(Train).run == "run-1"
    state.change(run="")
    ideas._start(ideas.IDEAS[0])  # a wish of its own, later
    assert state.view(Train).run == "run-2"


def test_another_is_started_instead_of_the_one_that_is_looked_at(jobs: Jobs) -> None:
    state.change(run="there already")
    for _ in range(2):
        draft.submit(ideas.run_config(ideas.IDEAS[0]), {}, shown_run="there already")
    assert jobs.names == ["there already", "run-1"]
    assert state.view(Train).run == "run-1"


@pytest.mark.parametrize(
    "begin", [ideas._start_race, lambda: start._start(Jobs(), "heads", "ann", 1)]
)  # type: ignore[arg-type]
def test_one_race_is_started(jobs: Jobs, begin: Any) -> None:
    for _ in range(2):
        begin()
    assert jobs.names == ["there already", "run-1"]
    assert state.view(Train).race == "run-1"


def test_a_run_is_deleted_and_no_longer_looked_at(jobs: Jobs) -> None:
    state.change(run="there already")
    for _ in range(2):
        finished_run._delete("there already", "ann")
    assert jobs.names == []
    assert state.view(Train).run == ""
