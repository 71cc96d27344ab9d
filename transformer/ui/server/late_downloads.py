"""A file is asked for as its page is drawn anew: it comes all the same.

A press on a download button names the drawing of the page that the browser shows. As a drawing
ends, anybody's, Streamlit forgets every drawing before it, and on the second one every file that
was made and not fetched yet (`MediaFileManager.remove_orphaned_files`). So who pressed while the
page was drawn, or while a class was busy on the same server, was told that there is no such file.
Here what nobody's page holds any more stays for `KEPT` to twice `KEPT` seconds, and longer only
while nothing at all is drawn.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import wraps
from weakref import WeakKeyDictionary

from streamlit.runtime.media_file_manager import MediaFileManager

KEPT = 10.0
"""Seconds between two clearings."""


@dataclass
class _Clearing:
    """The last one of a manager: when it was, and which buttons' files it found unheld."""

    at: float = -KEPT
    unheld: set[str] = field(default_factory=set)


_last: WeakKeyDictionary[MediaFileManager, _Clearing] = WeakKeyDictionary()
_remove_orphaned_files = MediaFileManager.remove_orphaned_files


@wraps(_remove_orphaned_files)
def _seldom(manager: MediaFileManager) -> None:
    last = _last.setdefault(manager, _Clearing())
    if time.monotonic() - last.at >= KEPT:
        last.at = time.monotonic()
        _remove_orphaned_files(manager)


def _what_stayed_unheld(manager: MediaFileManager) -> None:
    """Forget the buttons' files that nobody's page held at the last clearing, nor holds now.

    The caller holds the manager's lock.
    """
    pages = manager._files_by_session_and_coord.values()
    held = {file for page in pages for file in page.values()}
    unheld = set(manager._deferred_callables) - held
    last = _last.setdefault(manager, _Clearing())
    for file in unheld & last.unheld:
        manager._drop_deferred_id(file)
    last.unheld = unheld - last.unheld


setattr(MediaFileManager, "remove_orphaned_files", _seldom)  # noqa: B010  mypy sees a method
setattr(MediaFileManager, "_remove_orphaned_deferred_callables", _what_stayed_unheld)  # noqa: B010
