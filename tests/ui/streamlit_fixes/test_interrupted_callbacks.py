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

from transformer.ui.base.streamlit_fixes import interrupted_callbacks as fix

pytestmark = pytest.mark.usefixtures("in_script_run")


class RunStopped(BaseException):
    """Exception that Streamlit raises in a run that the next one replaces."""


def no_request() -> None:
    """Do nothing: no other run is requested."""


class Page:
    """A session with one button, after one run."""

    def __init__(self) -> None:
        self.state, self.pressed = SessionState(), 0
        self.state_in_callback: SafeSessionState | None = None
        button: WidgetMetadata[bool] = WidgetMetadata(
            "button", bool, bool, "trigger_value", callback=self._press
        )
        self.state.register_widget(button, None)

    def _press(self) -> None:
        if self.state_in_callback is not None:
            self.state_in_callback["key"] = "value"  # where Streamlit may stop the run
        self.pressed += 1

    def session_state(self, on_yield: Any = no_request) -> SafeSessionState:
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
    old_run, new_run = page.session_state(), page.session_state()
    finishing = threading.Thread(target=old_run.on_script_finished, args=(frozenset(["button"]),))
    call_callbacks = SessionState._call_callbacks

    def while_finishing(state: SessionState, **replay: Any) -> None:
        finishing.start()
        finishing.join(0.3)
        call_callbacks(state, **replay)

    monkeypatch.setattr(SessionState, "_call_callbacks", while_finishing)
    new_run.on_script_will_rerun(press())
    finishing.join()
    assert page.pressed == repaired, "Streamlit alone loses the click"


@pytest.mark.parametrize("repaired", [False, True])
def test_click_while_another_run_is_requested(
    repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not repaired:
        monkeypatch.setattr(SafeSessionState, "on_script_will_rerun", fix._on_script_will_rerun)
    n_yields = 0

    def on_yield() -> None:
        nonlocal n_yields
        n_yields += 1
        if n_yields > 1:
            raise RunStopped

    page = Page()
    page.state_in_callback = run_state = page.session_state(on_yield)
    if repaired:
        run_state.on_script_will_rerun(press())
        assert n_yields == 0
        n_yields = 1
    else:
        with pytest.raises(RunStopped):
            run_state.on_script_will_rerun(press())
    assert page.pressed == repaired, "Streamlit alone ends the callback early"
    with pytest.raises(RunStopped):  # after the callback, the run is stopped as usual
        run_state["after"] = True


def stop_run() -> None:
    raise RunStopped


def test_a_late_run_does_not_undo_a_newer_one() -> None:
    page = Page()
    old_run, new_run = page.session_state(stop_run), page.session_state()
    new_run.on_script_will_rerun(press())
    with pytest.raises(RunStopped):
        old_run.on_script_will_rerun(press())
    assert page.pressed == 1


def test_sessions_do_not_wait_for_each_other() -> None:
    pages = [Page(), Page()]
    first_run, second_run = (page.session_state() for page in pages)
    assert first_run._lock is pages[0].session_state()._lock is not second_run._lock


@pytest.mark.parametrize("has_started", [False, True])
def test_pending_widget_states_pass_to_the_next_run(
    has_started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[ClientState] = []
    monkeypatch.setattr(fix, "_request_rerun", lambda _, request: requested.append(request))
    requests = ScriptRequests()
    requests.request_rerun(RerunData(widget_states=press()))
    if has_started:
        requests.on_scriptrunner_ready()
    session: Any = SimpleNamespace(_scriptrunner=SimpleNamespace(_requests=requests))
    fix._request_rerun_with_pending_states(session, ClientState())
    assert [widget.id for widget in requested[0].widget_states.widgets] == (
        [] if has_started else ["button"]
    )
    requests.request_stop()  # as Streamlit does after it
    assert requests.on_scriptrunner_ready().type is ScriptRequestType.STOP


def test_a_fragment_rerun_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix, "_request_rerun", lambda *_: None)
    requests = ScriptRequests()
    requests.request_rerun(RerunData(widget_states=press()))
    session: Any = SimpleNamespace(_scriptrunner=SimpleNamespace(_requests=requests))
    for request in (ClientState(fragment_id="part"), None):
        fix._request_rerun_with_pending_states(session, request)
    assert requests.on_scriptrunner_ready().rerun_data.widget_states == press()
