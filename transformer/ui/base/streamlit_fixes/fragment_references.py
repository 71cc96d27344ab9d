"""A fragment's rerun can leave the page blank when the browser has large elements cached.

What goes wrong, for whom: a visitor opens a page with a fragment (typing on the first page, a live
curve) and triggers the fragment before the page's first messages have been sent. The page is blank.

Why: when a fragment rerun begins, `ForwardMsgQueue.clear` drops the queued messages of the page's
last run, except those of that fragment. It does not recognize an element that was replaced by a
reference to the browser's cache (every element above 10 kB that the browser already has) as the
fragment's, nor one that comes after the fragment in the same container. The browser then gets a
delta path whose parent it never received and refuses it.

How to reproduce: open a page twice in one tab, whose fragment draws an element above
`global.minCachedMessageSize`, and rerun the fragment while the second opening is still queued.

Upstream report (draft): "ForwardMsgQueue.clear(fragment_ids_this_run=...) keeps deltas of a running
fragment by `delta.fragment_id`, but a cached element is queued as `ref_hash` and has none. Its
container is dropped and the front end raises 'Bad delta path index'. Expected: a reference keeps
the fragment id of the delta it stands for."

Checked with: 1.67.0. Delete when `test_fragment_references.py` fails: the bug is gone then.

`widgets.fragment` gives every fragment a container of its own, with public API; only the
references need this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

from transformer.ui.base.streamlit_fixes.checks import missing_attributes


def changes() -> list[str]:
    """Describe what the fix relies on and the installed Streamlit has changed."""
    return missing_attributes(ScriptRunContext, "cached_message_hashes")


def apply() -> None:
    """Do nothing: `without_references` is used where a fragment is drawn."""


@contextmanager
def without_references() -> Iterator[None]:
    """Send every element in full, as if the browser had cached none."""
    context = get_script_run_ctx()
    if context is None:  # plain Python sends nothing
        yield
        return
    cached, context.cached_message_hashes = context.cached_message_hashes, frozenset()
    try:
        yield
    finally:
        context.cached_message_hashes = cached
