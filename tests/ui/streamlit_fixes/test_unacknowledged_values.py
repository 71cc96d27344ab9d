"""A value set by the app reaches a browser that never showed the run that set it.

The cases with `repaired=False` show the bug in Streamlit alone; once they fail, delete the fix."""

from __future__ import annotations

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import SessionState

from transformer.ui.streamlit_fixes import unacknowledged_values as fix

FIELD, KEY = "$$ID-0-text", "text"
pytestmark = pytest.mark.usefixtures("in_a_drawing")


class Page:
    """A session whose page has one field."""

    def __init__(self) -> None:
        self.state = SessionState()
        self.heard: list[str] = []

    def asked(self, said: str | None = None, pressed: bool = False) -> None:
        """The browser asks for a drawing, and says what stands in the field if it has one; for a
        button's sake or not."""
        states = WidgetStates()
        if said is not None:
            one = states.widgets.add()
            one.id, one.string_value = FIELD, said
        if pressed:
            one = states.widgets.add()
            one.id, one.trigger_value = "$$ID-1-button", True
        self.state.on_script_will_rerun(states)

    def drawn(self) -> tuple[str, bool]:
        """What the field shows, and whether the browser is told."""
        text: WidgetMetadata[str] = WidgetMetadata(
            FIELD,
            lambda said: "" if said is None else said,
            lambda value: value,
            "string_value",
            callback=lambda: self.heard.append(self.state[KEY]),
        )
        found = self.state.register_widget(text, KEY)
        self.state.on_script_finished(frozenset([FIELD]))
        return found.value, found.value_changed


@pytest.mark.parametrize("repaired", [False, True])
def test_a_browser_that_has_not_said_it_is_told_again(
    repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not repaired:
        monkeypatch.setattr(SessionState, "register_widget", fix._register_widget)
    page = Page()
    page.asked()
    page.state[KEY] = "A sentence."
    assert page.drawn() == ("A sentence.", True)
    page.asked()  # it went back, and its field is not there yet
    assert page.drawn() == ("A sentence.", repaired), "Streamlit alone tells it once"
    page.asked("A sentence.")
    assert page.drawn() == ("A sentence.", False)
    assert page.heard == []


def test_what_a_person_writes_is_never_told_back() -> None:
    page = Page()
    page.asked()
    page.state[KEY] = "A sentence."
    page.drawn()
    for said in ("A sentence.", "Another.", "A third."):
        page.asked(said)
        assert page.drawn() == (said, False)
    assert page.heard == ["Another.", "A third."]


def test_a_drawing_that_the_app_itself_asks_for_tells_no_more_than_before() -> None:
    page = Page()
    page.asked()
    page.state[KEY] = "A sentence."
    page.drawn()
    page.asked("A sentence.")
    page.drawn()
    page.state.on_script_will_rerun(None)  # nobody has said anything
    assert page.drawn() == ("A sentence.", False)


@pytest.mark.parametrize("repaired", [False, True])
def test_what_was_said_before_it_was_told_is_an_echo(
    repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not repaired:
        monkeypatch.setattr(SessionState, "on_script_will_rerun", fix._on_script_will_rerun)
    page = Page()
    page.asked("Old.")
    page.drawn()
    page.state[KEY] = "New."
    assert page.drawn() == ("New.", True)
    for _ in range(2):  # sent before the browser has shown it
        page.asked("Old.", pressed=True)
        assert page.drawn()[0] == ("New." if repaired else "Old.")
    assert page.heard == ([] if repaired else ["Old."])
    page.asked("New.", pressed=True)
    assert page.drawn()[0] == "New."


def test_who_writes_what_stood_there_before_is_heard() -> None:
    page = Page()
    page.asked("Old.", pressed=True)
    page.drawn()
    page.state[KEY] = "New."
    page.drawn()
    page.asked("Old.")  # nothing else was the reason to speak
    assert page.drawn() == ("Old.", False)
    page.asked("New.", pressed=True)
    assert page.drawn() == ("New.", False)
    assert page.heard == ["Old.", "New."]
