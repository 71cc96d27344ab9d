"""A click during a rerun can be lost: its callback never runs, or stops halfway.

What goes wrong, for whom: a visitor presses a button while the page is still being drawn, or two
controls shortly after one another. Nothing happens, or only half of the callback does.

Why: Streamlit ends the running script and starts a new one in another thread over the same session
state. A click is lost in three ways:

1. The old run finishes while the new one compares widget states: it resets every trigger, under a
   lock of its own (`SessionState.on_script_finished`; each `SafeSessionState` has its own lock).
2. A third run is requested: the second is stopped at its next access to the session state, in the
   middle of a callback (`SafeSessionState` calls `_yield_callback` there too).
3. A third run is requested before the second has begun: the widget states that the second was to
   begin with are dropped with its `ScriptRequests`.

How to reproduce: `tests/ui/streamlit_fixes/test_interrupted_callbacks.py`, each case with
`repaired=False`.

Upstream report (draft): "Widget triggers are lost when reruns overlap. SafeSessionState creates an
RLock per script run, so two runs of one session do not exclude each other; yield points inside
callbacks raise StopException; AppSession.request_rerun discards the pending RerunData of a stopped
runner. Expected: a lock per session, no yield inside callbacks, pending widget states coalesced
into the next request."

Checked with: 1.67.0. Delete when every `repaired=False` case of the test fails.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import Any
from weakref import WeakValueDictionary

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import (
    ScriptRequests,
    ScriptRequestType,
    _coalesce_widget_states,
)
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState

from transformer.ui.base.streamlit_fixes.checks import changed_signatures, missing_attributes


class _SessionRuns:
    """State that the script runs of one session share, for as long as one of them exists.

    Attributes:
        lock: held while a run compares widget states and calls callbacks.
        count: number of runs so far; newest: number of the last run that compared its widget
            states.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.count = 0
        self.newest = 0


_runs_of_session: WeakValueDictionary[int, _SessionRuns] = WeakValueDictionary()
_init = SafeSessionState.__init__
_on_script_will_rerun = SafeSessionState.on_script_will_rerun
_request_rerun = AppSession.request_rerun


def changes() -> list[str]:
    """Describe what the fix relies on and the installed Streamlit has changed."""
    return [
        *changed_signatures(
            SafeSessionState,
            __init__="self, state, yield_callback",
            on_script_will_rerun="self, fresh_widget_states, replay_trigger_states, "
            "replay_trigger_values, is_history_navigation",
        ),
        *changed_signatures(AppSession, request_rerun="self, client_state"),
        *missing_attributes(SafeSessionState, "_lock", "_yield_callback"),
        *missing_attributes(AppSession, "_scriptrunner"),
        *missing_attributes(ScriptRequests, "_lock", "_state", "_rerun_data"),
    ]


def apply() -> None:
    """Run one script run of a session at a time; pass a stopped run's pending states to the
    next."""
    for owner, name, replacement in (
        (SafeSessionState, "__init__", _init_with_shared_lock),
        (SafeSessionState, "on_script_will_rerun", _call_callbacks_to_completion),
        (AppSession, "request_rerun", _request_rerun_with_pending_states),
    ):
        setattr(owner, name, replacement)


@wraps(_init)
def _init_with_shared_lock(
    safe: SafeSessionState, state: SessionState, yield_callback: Any
) -> None:
    _init(safe, state, yield_callback)
    runs = _runs_of_session.setdefault(id(state), _SessionRuns())
    runs.count += 1
    for name, value in (("_lock", runs.lock), ("_runs", runs), ("_number", runs.count)):
        object.__setattr__(safe, name, value)


@wraps(_on_script_will_rerun)
def _call_callbacks_to_completion(safe: SafeSessionState, *args: Any, **options: Any) -> None:
    runs, on_yield = safe.__dict__.get("_runs"), safe._yield_callback
    if runs is None:  # created before `apply`
        return _on_script_will_rerun(safe, *args, **options)
    with runs.lock:
        if safe.__dict__["_number"] < runs.newest:  # its states are older than the current ones
            on_yield()
        runs.newest = max(runs.newest, safe.__dict__["_number"])
        object.__setattr__(safe, "_yield_callback", lambda: None)
        try:
            _on_script_will_rerun(safe, *args, **options)
        finally:
            object.__setattr__(safe, "_yield_callback", on_yield)


@wraps(_request_rerun)
def _request_rerun_with_pending_states(session: AppSession, request: ClientState | None) -> None:
    if request is not None and not request.fragment_id:
        runner = session._scriptrunner
        pending = _stop_before_it_begins(runner._requests) if runner is not None else None
        if merged := pending and _coalesce_widget_states(pending, request.widget_states):
            request.widget_states.CopyFrom(merged)
    _request_rerun(session, request)


def _stop_before_it_begins(requests: ScriptRequests) -> WidgetStates | None:
    """Stop a run that has not begun; return the widget states that it was requested with."""
    with requests._lock:
        if requests._state is not ScriptRequestType.RERUN:
            return None
        requests._state = ScriptRequestType.STOP
        return requests._rerun_data.widget_states
