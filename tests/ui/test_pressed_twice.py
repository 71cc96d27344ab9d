"""A press that is ended half-way by the next one, as Streamlit does it: at any word with the
session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from tests.session import SessionDict
from transformer.ui import live_jobs, state
from transformer.ui.training import Train, finished_run


class Ended(BaseException):
    """What Streamlit raises in the callback of a press when the next one comes."""


class Session(SessionDict):
    """A session whose n-th word from now on ends the callback."""

    left = -1

    def _word(self) -> None:
        self.left -= 1
        if self.left == -1:
            raise Ended

    def __getitem__(self, key: str) -> Any:
        self._word()
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._word()
        super().__setitem__(key, value)

    def to_dict(self) -> dict[str, Any]:
        self._word()
        return super().to_dict()


@pytest.mark.parametrize("words", range(40))
def test_wherever_the_first_press_is_ended_one_run_is_started_and_looked_at(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, runs = Session({"page": "pages/train.py", "view": {}}), list[str]()
    monkeypatch.setattr(st, "session_state", session)

    def start() -> dict[str, str]:
        runs.append(f"run-{len(runs)}")
        return {"run": runs[-1]}

    def press() -> None:
        state.look_at_new("run", start, already=bool(state.view(Train).run))

    session.left = words
    try:
        press()
    except Ended:
        session.left = -1
        press()
    else:
        assert words > 4, "the callback speaks with the session"
    session.left = -1
    assert runs == ["run-0"]
    assert state.view(Train).run == "run-0"


class OneRun:
    """What is asked of jobs as a run is deleted."""

    def __init__(self) -> None:
        self.names = ["gone soon"]

    def runs(self, owner: str) -> list[SimpleNamespace]:
        assert owner == "ann"
        return [SimpleNamespace(name=name) for name in self.names]

    def delete(self, name: str, owner: str) -> None:
        assert owner == "ann"
        self.names.remove(name)


@pytest.mark.parametrize("words", range(40))
def test_wherever_the_first_press_is_ended_a_run_is_deleted_and_no_longer_looked_at(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, view = OneRun(), {"Train": {"run": "gone soon"}}
    session = Session({"page": "pages/train.py", "view": view})
    monkeypatch.setattr(st, "session_state", session)
    monkeypatch.setattr(live_jobs, "jobs", lambda: jobs)
    session.left = words
    try:
        finished_run._delete("gone soon", "ann")
    except Ended:
        session.left = -1
        finished_run._delete("gone soon", "ann")
    else:
        assert words > 4, "the callback speaks with the session"
    session.left = -1
    assert jobs.names == []
    assert state.view(Train).run == ""


def test_a_later_press_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", Session({"page": "pages/train.py", "view": {}}))
    for name in ("one", "two"):
        state.look_at_new("run", lambda name=name: {"run": name}, already=False)  # type: ignore[misc]
        assert state.view(Train).run == name
        state.change(run="")
