"""A callback cannot know on which page its widget is.

What goes wrong, for whom: a visitor follows a link and, before the new page appears, clicks a
control that both pages have, such as "Larger". The old page comes back and stays.

Why: the browser's message names the page that it still displays, so Streamlit runs that page again
(`state.open_address` continues to the new page if it knows that the message came from a widget of
the old one). By then the session's open page is the new one, and `st.context.url` has the path of
the page that runs, not the one that the browser sent. If a choice and a link are sent in one
message, that is the new page.

How to reproduce: `tests/ui/streamlit_fixes/test_displayed_page.py`.

Upstream report (draft): "st.context.url replaces the page's path by that of the running page
(maybe_add_page_path), so a callback cannot tell which page the browser displayed when it sent the
message. Expected: the URL that the browser sent."

Checked with: 1.67.0. Delete when `test_displayed_page.py` fails: then use `st.context.url`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

from transformer.ui.base.streamlit_fixes.checks import missing_attributes


def changes() -> list[str]:
    """Describe what the fix relies on and the installed Streamlit has changed."""
    return missing_attributes(ScriptRunContext, "context_info")


def apply() -> None:
    """Do nothing: `displayed_page` is used where a callback needs it."""


def is_in_session() -> bool:
    """Whether a visitor's script run calls this; what Streamlit offers outside of one prints
    warnings."""
    return get_script_run_ctx(suppress_warning=True) is not None


def displayed_page() -> str | None:
    """Return the last segment of the URL's path, "" for the first page, that the browser displayed
    when it requested this script run; None if the client did not send it."""
    url = _url()
    return urlsplit(url).path.rpartition("/")[2] if url else None


def _url() -> str:
    context = get_script_run_ctx()
    return context.context_info.url if context and context.context_info else ""
