"""The app's pages are looked for once.

Streamlit looks into `pages/` before every drawing, and makes a page of each file there anew. They
stay as they are while the server runs.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path

from streamlit.commands.navigation import _navigation
from streamlit.navigation.page import Page, _create_page
from streamlit.runtime.scriptrunner import script_runner


@cache
def _pages(main: str) -> list[Page]:
    found = Path(main).resolve()
    others = sorted((found.parent / "pages").glob("[!._]*.py"))
    return [_create_page(found, default=True), *(_create_page(file) for file in others)]


def _run_page(main: str) -> None:
    # Each drawing has copies: the one that is run keeps in mind that it was.
    _navigation([copy(page) for page in _pages(main)], position="hidden", expanded=False).run()


setattr(script_runner, "_mpa_v1", _run_page)  # noqa: B010  as the other rooms here set theirs
