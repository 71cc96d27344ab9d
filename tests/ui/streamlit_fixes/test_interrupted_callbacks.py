"""A click during a rerun or just before another: its callback runs once, to completion.

The cases with `repaired=False` show the bug in Streamlit alone; once they fail, delete the fix."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState

from transformer.ui.streamlit_fixes import interrupted_callbacks as fix

pytestmark = pytest.mark.usefixtures("in_script_run")


class RunStopped(BaseException):
    """Exception that Streamlit raises in a run that the next one replaces."""


def no_request() -> None:
    """Do nothing: no other run is requested."""


class Page:
    """A session with one button, after one run."""

    def __init__(self) -> None:
        self.state, self.pressed = SessionState(), 0
        self.speaks_with: SafeSessionState | None = None
        button: WidgetMetadata[bool] = WidgetMetadata(
            "button", bool, bool, "trigger_value", callback=self._press
        )
        self.state.register_widget(button, None)

    def _press(self) -> None:
        if self.speaks_with is not None:
            self.speaks_with["begun"] = True
        self.pressed += 1

    def drawing(self, on_yield: Any = no_request) -> SafeSessionState:
        return SafeSessionState(self.state, on_yield)


def press() -> WidgetStates:
    states = WidgetStates()
    widget = states.widgets.add()
    widget.id, widget.trigger_value = "button", True
    return states


@pytest.mark.parametrize("repaired", [False, True])
def test_click_while_the_previous_run_finishes(
    repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not repaired:
        monkeypatch.setattr(SafeSessionState, "__init__", fix._init)
    page = Page()
    old, new = page.drawing(), page.drawing()
    ends = threading.Thread(target=old.on_script_finished, args=(frozenset(["button"]),))
    compare = SessionState._call_callbacks

    def as_it_ends(state: SessionState, **replay: Any) -> None:
        ends.start()
        ends.join(0.3)
        compare(state, **replay)

    monkeypatch.setattr(SessionState, "_call_callbacks", as_it_ends)
    new.on_script_will_rerun(press())
    ends.join()
    assert page.pressed == repaired, "Streamlit alone loses it"


@pytest.mark.parametrize("repaired", [False, True])
def test_click_while_another_run_is_requested(
    repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not repaired:
        monkeypatch.setattr(SafeSessionState, "on_script_will_rerun", fix._on_script_will_rerun)
    words = iter([None])

    def on_yield() -> None:
        if next(words, "another") == "another":
            raise RunStopped

    page = Page()
    page.speaks_with = drawing = page.drawing(on_yield)
    if repaired:
        drawing.on_script_will_rerun(press())
        next(words)
    else:
        with pytest.raises(RunStopped):
            drawing.on_script_will_rerun(press())
    assert page.pressed == repaired, "Streamlit alone ends its callback"
    with pytest.raises(RunStopped):  # afterwards it is stopped as usual
        drawing["after"] = True


def stop_run() -> None:
    raise RunStopped


def test_a_late_run_does_not_undo_a_newer_one() -> None:
    page = Page()
    old_run, new_run = page.drawing(stop_run), page.drawing()
    new_run.on_script_will_rerun(press())
    with pytest.raises(RunStopped):
        old_run.on_script_will_rerun(press())
    assert page.pressed == 1


def test_sessions_do_not_wait_for_each_other() -> None:
    pages = [Page(), Page()]
    first_run, second_run = (page.drawing() for page in pages)
    assert first_run._lock is pages[0].drawing()._lock is not second_run._lock


@pytest.mark.parametrize("begun", [False, True])
def test_pending_widget_states_pass_to_the_next_run(
    begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[ClientState] = []
    monkeypatch.setattr(fix, "_request_rerun", lambda _, request: handed.append(request))
    requests = ScriptRequests()
    requests.request_rerun(RerunData(widget_states=press()))
    if begun:
        requests.on_scriptrunner_ready()
    session: Any = SimpleNamespace(_scriptrunner=SimpleNamespace(_requests=requests))
    fix._request_rerun_with_pending_states(session, ClientState())
    assert [widget.id for widget in handed[0].widget_states.widgets] == (
        [] if begun else ["button"]
    )
    requests.request_stop()  # as Streamlit does then
    assert requests.on_scriptrunner_ready().type is ScriptRequestType.STOP


def test_a_fragment_rerun_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix, "_request_rerun", lambda *_: None)
    requests = ScriptRequests()
    requests.request_rerun(RerunData(widget_states=press()))
    session: Any = SimpleNamespace(_scriptrunner=SimpleNamespace(_requests=requests))
    for request in (ClientState(fragment_id="part"), None):
        fix._request_rerun_with_pending_states(session, request)
    assert requests.on_scriptrunner_ready().rerun_data.widget_states == press()
