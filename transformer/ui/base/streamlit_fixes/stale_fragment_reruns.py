"""A fragment rerun requested on one page runs after the visitor has gone to another: a blank page.

What goes wrong, for whom: a visitor types into a fragment and follows a link at once. The new page
appears and is then emptied.

Why: the request waits in `ScriptRequests` until the new page's run has begun. `ScriptRunner` then
runs the page that was left, for a fragment that no longer exists, and tells the browser so; the
browser clears the page it shows. `AppSession.request_rerun` drops such a request when it arrives
later, but not one that is already queued.

How to reproduce: in `first.py` define a fragment, request a rerun of it and call `st.switch_page`
in the same run (`tests/ui/streamlit_fixes/test_stale_fragment_reruns.py` is that app).

Upstream report (draft): "A queued fragment rerun whose page_script_hash differs from the current
page is executed by ScriptRunner._run_script and blanks the new page. Expected: it is dropped, as
AppSession.request_rerun already does for requests that come after the page change."

Checked with: 1.67.0. Delete when `test_stale_fragment_reruns.py` fails for Streamlit alone.
"""

from __future__ import annotations

from functools import wraps

from streamlit.runtime.scriptrunner import RerunData, ScriptRunner

from transformer.ui.base.streamlit_fixes.checks import changed_signatures, missing_attributes

_run_script = ScriptRunner._run_script


def changes() -> list[str]:
    """Describe what the fix relies on and the installed Streamlit has changed."""
    return changed_signatures(
        ScriptRunner, _run_script="self, rerun_data", _get_script_run_ctx="self"
    ) + missing_attributes(ScriptRunner, "_fragment_storage")


def apply() -> None:
    """Make every script runner drop fragment reruns of a page that the visitor has left."""
    ScriptRunner._run_script = _run_unless_stale  # type: ignore[method-assign, assignment]


@wraps(_run_script)
def _run_unless_stale(runner: ScriptRunner, request: RerunData) -> None:
    if not is_stale(runner, request):
        _run_script(runner, request)


def is_stale(runner: ScriptRunner, request: RerunData) -> bool:
    """Return whether the request is for fragments only and none of them is on the current page."""
    if not request.fragment_id_queue:
        return False
    current = runner._get_script_run_ctx().page_script_hash
    other_page = bool(current and request.page_script_hash) and current != request.page_script_hash
    exist = map(runner._fragment_storage.contains, request.fragment_id_queue)
    return other_page or not any(exist)
