"""A value that the app put into a field is told until the browser has said it.

Streamlit tells it once, with the drawing in which it was put there. A busy browser may never show
that drawing but the next, in which the field comes without a value; then it begins empty, and says
so with the next press: whoever had gone back at once lost their sentence.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.state.common import RegisterWidgetResult, WidgetMetadata
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX, SessionState

_UNSAID = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_UNSAID"  # the session's own, which no page sees
_register_widget = SessionState.register_widget
_on_script_will_rerun = SessionState.on_script_will_rerun


def _unsaid(state: SessionState) -> set[str]:
    """The ids of fields whose value the browser has not said yet."""
    found: set[str] = state._old_state.setdefault(_UNSAID, set())
    return found


@wraps(_on_script_will_rerun)
def _hear(state: SessionState, said: WidgetStates | None, **options: Any) -> None:
    if said is not None:
        _unsaid(state).difference_update(one.id for one in said.widgets)
    _on_script_will_rerun(state, said, **options)


@wraps(_register_widget)
def _tell(
    state: SessionState, field: WidgetMetadata[Any], key: str | None
) -> RegisterWidgetResult[Any]:
    found = _register_widget(state, field, key)
    if found.value_changed:
        _unsaid(state).add(field.id)
    return replace(found, value_changed=True) if field.id in _unsaid(state) else found


for _name, _new in (("on_script_will_rerun", _hear), ("register_widget", _tell)):
    setattr(SessionState, _name, _new)
