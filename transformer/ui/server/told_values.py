"""A value that the app put into a field is told until the browser has said it.

Streamlit tells it once, with the drawing in which it was put there. A busy browser may never show
that drawing but the next, in which the field comes without a value; then it begins empty, and says
so with the next press: whoever had gone back at once lost their sentence.

And what a browser says before it has shown that drawing, it says with the value that stood there
before. Streamlit takes that for a change made by hand, and the old value comes back: a student who
had just been led on stayed where they were. Such an echo is not heard.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.state.common import RegisterWidgetResult, WidgetMetadata
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX, SessionState

_UNSAID = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_UNSAID"  # the session's own, which no page sees
_SAID = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_SAID"
_register_widget = SessionState.register_widget
_on_script_will_rerun = SessionState.on_script_will_rerun


def _unsaid(state: SessionState) -> dict[str, bytes | None]:
    """The ids of fields whose value the browser has not said yet, with what it said before."""
    found: dict[str, bytes | None] = state._old_state.setdefault(_UNSAID, {})
    return found


def _said(state: SessionState) -> dict[str, bytes]:
    """What the browser said last, by the id of the field."""
    found: dict[str, bytes] = state._old_state.setdefault(_SAID, {})
    return found


@wraps(_on_script_will_rerun)
def _hear(state: SessionState, said: WidgetStates | None, **options: Any) -> None:
    _on_script_will_rerun(state, None if said is None else _without_echoes(state, said), **options)


def _without_echoes(state: SessionState, said: WidgetStates) -> WidgetStates:
    """What was said, without fields that say what they said before they were told another value,
    where something else was the reason to speak. (Without another reason it was written anew; and
    another field that was told a value is none: it says by now what it was told.)"""
    unsaid, before = _unsaid(state), _said(state)
    now = {one.id: one.SerializeToString() for one in said.widgets}
    triggers = {one.id for one in said.widgets if "trigger" in str(one.WhichOneof("value"))}
    changed = {one for one in now.keys() & before.keys() if now[one] != before[one]}
    reasons = triggers | changed - unsaid.keys()
    same = {one for one in now.keys() & unsaid.keys() if now[one] == unsaid[one]}
    echoes = {one for one in same if reasons - {one}}
    for one in now.keys() - echoes:
        unsaid.pop(one, None)
    state._old_state[_SAID] = now
    return WidgetStates(widgets=[one for one in said.widgets if one.id not in echoes])


@wraps(_register_widget)
def _tell(
    state: SessionState, field: WidgetMetadata[Any], key: str | None
) -> RegisterWidgetResult[Any]:
    found = _register_widget(state, field, key)
    if found.value_changed:
        _unsaid(state)[field.id] = _said(state).get(field.id)
    return replace(found, value_changed=True) if field.id in _unsaid(state) else found


for _name, _new in (("on_script_will_rerun", _hear), ("register_widget", _tell)):
    setattr(SessionState, _name, _new)
