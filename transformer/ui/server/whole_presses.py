"""A press is heard whole: its callback runs once, and to its end.

As somebody asks for a page that is still being drawn, Streamlit ends that drawing and begins
another beside it, over the same session. Three times a press is lost between the two:

- The old drawing comes to its end while the new one compares what was pressed: it sets all buttons
  back, and none was pressed (`SessionState.on_script_finished`, under another lock).
- A third drawing is asked for: the second is ended, in the midst of its callback, at the next word
  with the session (`SafeSessionState`).
- … or before it has begun: then nobody ever reads what it was asked for with (`ScriptRequests`).

So the drawings of a session share one lock, a callback is not ended, and what an ended drawing has
not begun with is handed on to the next.
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


class _Shared:
    """What the drawings of one session share, as long as one of them is there."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.drawings = 0  # so many there have been
        self.newest = 0  # of them that has heard what was pressed


_shared: WeakValueDictionary[int, _Shared] = WeakValueDictionary()
_init = SafeSessionState.__init__
_on_script_will_rerun = SafeSessionState.on_script_will_rerun
_request_rerun = AppSession.request_rerun


@wraps(_init)
def _under_one_lock(safe: SafeSessionState, state: SessionState, yield_callback: Any) -> None:
    _init(safe, state, yield_callback)
    shared = _shared.setdefault(id(state), _Shared())
    shared.drawings += 1
    for name, value in (
        ("_lock", shared.lock),
        ("_shared", shared),
        ("_drawing", shared.drawings),
    ):
        object.__setattr__(safe, name, value)


@wraps(_on_script_will_rerun)
def _to_its_end(safe: SafeSessionState, *args: Any, **options: Any) -> None:
    shared, ask = safe.__dict__.get("_shared"), safe._yield_callback
    if shared is None:  # it began before this was set
        return _on_script_will_rerun(safe, *args, **options)
    with shared.lock:
        if safe.__dict__["_drawing"] < shared.newest:  # what is newer would be taken back
            ask()
        shared.newest = max(shared.newest, safe.__dict__["_drawing"])
        object.__setattr__(safe, "_yield_callback", lambda: None)
        try:
            _on_script_will_rerun(safe, *args, **options)
        finally:
            object.__setattr__(safe, "_yield_callback", ask)


@wraps(_request_rerun)
def _with_what_waits(session: AppSession, asked: ClientState | None) -> None:
    drawing = session._scriptrunner
    if drawing is not None and asked is not None and not asked.fragment_id:
        waits = _ended(drawing._requests)
        if both := waits and _coalesce_widget_states(waits, asked.widget_states):
            asked.widget_states.CopyFrom(both)
    _request_rerun(session, asked)


def _ended(requests: ScriptRequests) -> WidgetStates | None:
    """End a drawing that waits to begin; what it was to begin with."""
    with requests._lock:
        if requests._state is not ScriptRequestType.RERUN:
            return None
        requests._state = ScriptRequestType.STOP
        return requests._rerun_data.widget_states


for _owner, _name, _new in (
    (SafeSessionState, "__init__", _under_one_lock),
    (SafeSessionState, "on_script_will_rerun", _to_its_end),
    (AppSession, "request_rerun", _with_what_waits),
):
    setattr(_owner, _name, _new)
