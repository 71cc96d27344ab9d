"""A press on a download button that names a drawing of the page which has been followed by others.

Streamlit alone forgets the file at the first clearing, which follows each drawing of anybody.
"""

from __future__ import annotations

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from transformer.ui.server import late_downloads

WHERE = "0.1"


class Clock:
    """Seconds that pass as a test says."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(late_downloads, "time", made := Clock())
    return made


@pytest.fixture
def manager() -> MediaFileManager:
    return MediaFileManager(MemoryMediaFileStorage("/media"))


def _drawn(manager: MediaFileManager, text: str) -> str:
    """A page with one button, drawn anew and whole; gives what a press on it names."""
    manager.clear_session_refs()
    button = manager.add_deferred(lambda: text, "text/csv", WHERE, "table.csv", element_id="one")
    manager.remove_orphaned_files()
    return button


def _fetched(manager: MediaFileManager, url: str) -> bytes | None:
    file = manager.read_file(url.rpartition("/")[2].partition(".")[0])
    return file.content if file else None


def test_a_press_on_the_drawing_before_gives_its_file(
    manager: MediaFileManager, clock: Clock
) -> None:
    before = _drawn(manager, "before")
    after = _drawn(manager, "after")
    manager.remove_orphaned_files()  # somebody else's page
    assert _fetched(manager, manager.execute_deferred(before)) == b"before"
    assert _fetched(manager, manager.execute_deferred(after)) == b"after"


def test_a_file_that_was_made_waits_for_its_browser(
    manager: MediaFileManager, clock: Clock
) -> None:
    url = manager.execute_deferred(_drawn(manager, "made"))
    for _ in range(30):  # the pages of a class
        manager.remove_orphaned_files()
    clock.now += late_downloads.KEPT
    manager.remove_orphaned_files()
    assert _fetched(manager, url) == b"made"


def test_what_nobody_holds_goes_and_what_stands_stays(
    manager: MediaFileManager, clock: Clock
) -> None:
    before = _drawn(manager, "before")
    made = manager.execute_deferred(before)
    after = _drawn(manager, "after")
    for _ in range(3):
        clock.now += late_downloads.KEPT
        manager.remove_orphaned_files()
    with pytest.raises(MediaFileStorageError, match="not found"):
        manager.execute_deferred(before)
    assert _fetched(manager, made) is None
    assert set(manager._deferred_callables) == {after}
    assert _fetched(manager, manager.execute_deferred(after)) == b"after"


def test_the_app_uses_it() -> None:
    assert MediaFileManager.remove_orphaned_files is late_downloads._seldom
