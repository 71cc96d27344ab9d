"""A value set by the app reaches a browser that never showed the run that set it.

The cases with `repaired=False` show the bug in Streamlit alone; once they fail, delete the fix."""

from __future__ import annotations

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import SessionState

from transformer.ui.streamlit_fixes import unacknowledged_values as fix

FIELD, KEY = "$$ID-0-text", "text"
pytestmark = pytest.mark.usefixtures("in_script_run")


class Page:
    """A session whose page has one field."""

    def __init__(self) -> None:
        self.state = SessionState()
        self.callback_values: list[str] = []

    def request(self, value: str | None = None, pressed: bool = False) -> None:
        """Request a run as the browser does, with the field's value if it has one, caused by a
        button or not."""
        states = WidgetStates()
        if value is not None:
            widget = states.widgets.add()
            widget.id, widget.string_value = FIELD, value
        if pressed:
            widget = states.widgets.add()
            widget.id, widget.trigger_value = "$$ID-1-button", True
        self.state.on_script_will_rerun(states)

    def drawn(self) -> tuple[str, bool]:
        """Return the field's value, and whether it is sent to the browser."""
        text: WidgetMetadata[str] = WidgetMetadata(
            FIELD,
            lambda sent_text: "" if sent_text is None else sent_text,
            lambda value: value,
            "string_value",
            callback=lambda: self.callback_values.append(self.state[KEY]),
        )
        result = self.state.register_widget(text, KEY)
        self.state.on_script_finished(frozenset([FIELD]))
        return result.value, result.value_changed


@pytest.mark.parametrize("repaired", [False, True])
def test_an_unacknowledged_value_is_sent_again(
    repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not repaired:
        monkeypatch.setattr(SessionState, "register_widget", fix._register_widget)
    page = Page()
    page.request()
    page.state[KEY] = "A sentence."
    assert page.drawn() == ("A sentence.", True)
    page.request()  # it went back, and its field is not mounted yet
    assert page.drawn() == ("A sentence.", repaired), "Streamlit alone sends it once"
    page.request("A sentence.")
    assert page.drawn() == ("A sentence.", False)
    assert page.callback_values == []


def test_a_value_typed_by_the_user_is_not_sent_back() -> None:
    page = Page()
    page.request()
    page.state[KEY] = "A sentence."
    page.drawn()
    for text in ("A sentence.", "Another.", "A third."):
        page.request(text)
        assert page.drawn() == (text, False)
    assert page.callback_values == ["Another.", "A third."]


def test_a_rerun_by_the_app_sends_no_more_than_before() -> None:
    page = Page()
    page.request()
    page.state[KEY] = "A sentence."
    page.drawn()
    page.request("A sentence.")
    page.drawn()
    page.state.on_script_will_rerun(None)  # no message from the browser
    assert page.drawn() == ("A sentence.", False)


@pytest.mark.parametrize("repaired", [False, True])
def test_an_outdated_widget_value_is_ignored(
    repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not repaired:
        monkeypatch.setattr(SessionState, "on_script_will_rerun", fix._on_script_will_rerun)
    page = Page()
    page.request("Old.")
    page.drawn()
    page.state[KEY] = "New."
    assert page.drawn() == ("New.", True)
    for _ in range(2):  # sent before the browser has shown it
        page.request("Old.", pressed=True)
        assert page.drawn()[0] == ("New." if repaired else "Old.")
    assert page.callback_values == ([] if repaired else ["Old."])
    page.request("New.", pressed=True)
    assert page.drawn()[0] == "New."


def test_entering_the_old_value_again_counts() -> None:
    page = Page()
    page.request("Old.", pressed=True)
    page.drawn()
    page.state[KEY] = "New."
    page.drawn()
    page.request("Old.")  # there was no other reason for the message
    assert page.drawn() == ("Old.", False)
    page.request("New.", pressed=True)
    assert page.drawn() == ("New.", False)
    assert page.callback_values == ["Old.", "New."]
