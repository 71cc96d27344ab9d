"""A part of a page asks to be drawn anew as its visitor leaves the page: then nothing draws it.

Streamlit keeps such a request until the new page is drawn. Then it runs the page that was left for
a part that is no more (`ScriptRunner._run_script`), and the browser, told of another page, empties
the one that it shows and hears no more: whoever typed a sentence and went on at once saw a blank
page. A request of a page that nobody looks at any more is dropped, as Streamlit itself drops one
that comes a moment later (`AppSession.request_rerun`).
"""

from __future__ import annotations

from functools import wraps

from streamlit.runtime.scriptrunner import RerunData, ScriptRunner

_run_script = ScriptRunner._run_script


@wraps(_run_script)
def _run_unless_late(runner: ScriptRunner, asked: RerunData) -> None:
    if not is_late(runner, asked):
        _run_script(runner, asked)


def is_late(runner: ScriptRunner, asked: RerunData) -> bool:
    """Whether it asks for parts alone, and none of them stands on the page that was drawn last."""
    if not asked.fragment_id_queue:
        return False
    drawn = runner._get_script_run_ctx().page_script_hash
    another = bool(drawn and asked.page_script_hash) and drawn != asked.page_script_hash
    return another or not any(map(runner._fragment_storage.contains, asked.fragment_id_queue))


ScriptRunner._run_script = _run_unless_late  # type: ignore[method-assign, assignment]
