"""A value set by the app reaches a browser that never showed the run that set it.

The cases with `repaired=False` show the bug in Streamlit alone; once they fail, delete the fix."""

from __future__ import annotations

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import SessionState

from transformer.ui.base.streamlit_fixes import unacknowledged_values as fix

FIELD, KEY = "$$ID-0-text", "text"
pytestmark = pytest.mark.usefixtures("in_script_run")


class Page:
    """A session whose page has one field."""

    def __init__(self) -> None:
        self.state = SessionState()
        self.callback_values: list[str] = []

    def request(self, value: str | None = None, pressed: bool = False) -> None:
        """Request a run as the browser does: with the field's value, if the field is mounted, and
        because of a click on a button if `pressed`."""
        states = WidgetStates()
        if value is not None:
            widget = states.widgets.add()
            widget.id, widget.string_value = FIELD, value
        if pressed:
            widget = states.widgets.add()
            widget.id, widget.trigger_value = "$$ID-1-button", True
        self.state.on_script_will_rerun(states)

    def draw_field(self) -> tuple[str, bool]:
        """Finish the run; return the field's value, and whether it is sent to the browser."""
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
    assert page.draw_field() == ("A sentence.", True)
    page.request()  # after the back button, before the field is mounted
    assert page.draw_field() == ("A sentence.", repaired), "Streamlit alone sends it once"
    page.request("A sentence.")
    assert page.draw_field() == ("A sentence.", False)
    assert page.callback_values == []


def test_a_value_typed_by_the_user_is_not_sent_back() -> None:
    page = Page()
    page.request()
    page.state[KEY] = "A sentence."
    page.draw_field()
    for text in ("A sentence.", "Another.", "A third."):
        page.request(text)
        assert page.draw_field() == (text, False)
    assert page.callback_values == ["Another.", "A third."]


def test_a_rerun_by_the_app_does_not_send_the_value_again() -> None:
    page = Page()
    page.request()
    page.state[KEY] = "A sentence."
    page.draw_field()
    page.request("A sentence.")
    page.draw_field()
    page.state.on_script_will_rerun(None)  # no message from the browser
    assert page.draw_field() == ("A sentence.", False)


@pytest.mark.parametrize("repaired", [False, True])
def test_an_outdated_widget_value_is_ignored(
    repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not repaired:
        monkeypatch.setattr(SessionState, "on_script_will_rerun", fix._on_script_will_rerun)
    page = Page()
    page.request("Old.")
    page.draw_field()
    page.state[KEY] = "New."
    assert page.draw_field() == ("New.", True)
    for _ in range(2):  # sent before the browser has shown the new value
        page.request("Old.", pressed=True)
        assert page.draw_field()[0] == ("New." if repaired else "Old.")
    assert page.callback_values == ([] if repaired else ["Old."])
    page.request("New.", pressed=True)
    assert page.draw_field()[0] == "New."


def test_a_user_can_enter_the_old_value_again() -> None:
    page = Page()
    page.request("Old.", pressed=True)
    page.draw_field()
    page.state[KEY] = "New."
    page.draw_field()
    page.request("Old.")  # sent because the user has entered this value
    assert page.draw_field() == ("Old.", False)
    page.request("New.", pressed=True)
    assert page.draw_field() == ("New.", False)
    assert page.callback_values == ["Old.", "New."]
