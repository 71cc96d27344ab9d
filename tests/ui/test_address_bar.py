"""Who writes what in the browser's address bar."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st

from tests.session import SessionDict
from transformer.ui import state

ATTENTION = "pages/attention.py"
BEFORE = {"text": "A dog sleeps."}
NOW = {**BEFORE, "pin": "s2"}


class Bar(SessionDict):
    """The address that a rerun was asked for with; and what it writes there instead."""

    def __init__(self) -> None:
        super().__init__(BEFORE)
        self.written: list[dict[str, str]] = []

    def from_dict(self, params: dict[str, str]) -> None:
        self.data = dict(params)
        self.written.append(self.data)


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Bar:
    made = Bar()
    monkeypatch.setattr(st, "session_state", SessionDict())
    monkeypatch.setattr(st, "query_params", made)
    rerun(made, BEFORE)
    made.written.clear()
    return made


def rerun(bar: Bar, asked: dict[str, str], page: str = ATTENTION) -> None:
    bar.data = dict(asked)
    state.open_address(page)
    state.write_address()


def test_what_a_view_wrote_itself_is_not_written_again(bar: Bar) -> None:
    # It may have written the next one since: that would be taken back, and stand in the history.
    state.change(pin="s2")
    rerun(bar, NOW)
    assert not bar.written
    assert state.here().to_params() == NOW


def test_the_address_of_a_link_to_the_page_it_stands_on_is_written(bar: Bar) -> None:
    rerun(bar, NOW)
    assert bar.written == [NOW]


def test_what_a_widget_changed_is_written(bar: Bar) -> None:
    changes: dict[str, Any] = {"pin": "s2"}
    state.change(**changes)
    rerun(bar, BEFORE)
    assert bar.written == [NOW]


def test_the_address_of_a_link_to_another_page_is_its_own(bar: Bar) -> None:
    # What the browser hears before it has turned the page, it puts into the history of the old one.
    rerun(bar, {**BEFORE, "topic": "shift"}, "pages/positions.py")
    assert not bar.written
    rerun(bar, NOW)
    assert not bar.written
    assert state.here().to_params() == NOW


def test_an_address_of_another_page_that_makes_no_sense_is_put_right(bar: Bar) -> None:
    rerun(bar, {**BEFORE, "topic": "no such topic"}, "pages/positions.py")
    assert bar.written == [BEFORE]


def test_a_link_on_a_page_that_is_still_being_drawn_is_followed(bar: Bar) -> None:
    """Its address may be the one that the page before it had, which is no address of this page."""
    bar.data = {**BEFORE, "topic": "shift"}
    state.open_address("pages/positions.py")  # the drawing is ended before it comes to the end
    assert state.here().topic == "shift"
    rerun(bar, BEFORE, "pages/positions.py")
    assert state.here().topic == type(state.here())().topic
    assert state.here().to_params() == BEFORE
