"""A widget value set by the app can be lost, or overwritten by the browser's older value.

What goes wrong, for whom: a visitor goes back in the browser's history, or a teacher leads a class
to another view, while the browser is still busy with an earlier run. A text field then stays empty,
or an old choice returns.

Why: Streamlit sends a programmatic value (`value_changed`) only with the run that set it. A browser
that never shows that run, because the next one has replaced it, mounts the field without a value
and reports it as empty. And what a browser sends before it has shown that run still carries the old
value, which Streamlit takes for a change made by the visitor.

How to reproduce: `tests/ui/streamlit_fixes/test_unacknowledged_values.py`, each case with
`repaired=False`; in a browser, `tests/browser/test_typing_ahead.py` without this file.

Upstream report (draft): "st.session_state[key] = value is lost when the run that set it is
superseded before the front end has mounted the widget, and reverted when a widget message sent
before it arrives after it. Expected: value_changed stays set until the client has sent the new
value, and a client value equal to the one before the programmatic change does not override it."

Checked with: 1.67.0. Delete when every `repaired=False` case of the test fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.state.common import RegisterWidgetResult, WidgetMetadata
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX, SessionState

from transformer.ui.base.streamlit_fixes.checks import changed_signatures, missing_attributes

_UNACKNOWLEDGED = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_UNACKNOWLEDGED"  # hidden from the pages
_LAST_SENT = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_LAST_SENT"
_register_widget = SessionState.register_widget
_on_script_will_rerun = SessionState.on_script_will_rerun


def changes() -> list[str]:
    """Describe what the fix relies on and the installed Streamlit has changed."""
    return changed_signatures(
        SessionState,
        register_widget="self, metadata, user_key",
        on_script_will_rerun="self, fresh_widget_states, replay_trigger_states, "
        "replay_trigger_values, is_history_navigation",
    ) + missing_attributes(SessionState, "_old_state")


def apply() -> None:
    """Make every session resend its values and ignore the browser's outdated ones."""
    for name, replacement in (
        ("on_script_will_rerun", _rerun_without_outdated),
        ("register_widget", _register_and_resend),
    ):
        setattr(SessionState, name, replacement)


def _unacknowledged(state: SessionState) -> dict[str, bytes | None]:
    """Return the widgets, by id, whose new value the browser has not sent back yet, each with the
    value that it sent before."""
    widgets: dict[str, bytes | None] = state._old_state.setdefault(_UNACKNOWLEDGED, {})
    return widgets


def _last_sent(state: SessionState) -> dict[str, bytes]:
    """Return the last state that the browser sent, by widget id."""
    sent: dict[str, bytes] = state._old_state.setdefault(_LAST_SENT, {})
    return sent


@wraps(_on_script_will_rerun)
def _rerun_without_outdated(state: SessionState, sent: WidgetStates | None, **options: Any) -> None:
    current = None if sent is None else _without_outdated(state, sent)
    _on_script_will_rerun(state, current, **options)


def _without_outdated(state: SessionState, sent: WidgetStates) -> WidgetStates:
    """Return the states without outdated ones: those that repeat the value from before the app set
    another one, in a message that was sent because of another widget.

    If no other widget has changed, the visitor has entered the old value again, so it is kept. A
    widget that only reports the value that the app has set does not count as changed.
    """
    waiting, previous = _unacknowledged(state), _last_sent(state)
    current = {widget.id: widget.SerializeToString() for widget in sent.widgets}
    triggers = {w.id for w in sent.widgets if "trigger" in str(w.WhichOneof("value"))}
    changed = {name for name in current.keys() & previous.keys() if current[name] != previous[name]}
    reasons = triggers | changed - waiting.keys()
    repeating = {name for name in current.keys() & waiting.keys() if current[name] == waiting[name]}
    outdated = {name for name in repeating if reasons - {name}}
    for name in current.keys() - outdated:
        waiting.pop(name, None)
    state._old_state[_LAST_SENT] = current
    return WidgetStates(widgets=[w for w in sent.widgets if w.id not in outdated])


@wraps(_register_widget)
def _register_and_resend(
    state: SessionState, widget: WidgetMetadata[Any], key: str | None
) -> RegisterWidgetResult[Any]:
    result = _register_widget(state, widget, key)
    if result.value_changed:
        _unacknowledged(state)[widget.id] = _last_sent(state).get(widget.id)
    return replace(result, value_changed=True) if widget.id in _unacknowledged(state) else result
