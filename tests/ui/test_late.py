"""What is asked for as its page is drawn anew or left: a file comes, a part of a page does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner
from streamlit.testing.v1 import AppTest

from transformer.ui.server import late_downloads, late_fragments

WHERE = "0.1"
ASK = """
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
get_script_run_ctx().script_requests.request_rerun(RerunData(**st.session_state.ask))
"""
FIRST = f"""
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

@st.fragment
def part():
    st.write("drawn")

part()
context = get_script_run_ctx()
[this] = context.shared.new_fragment_ids.snapshot()
st.session_state.ask = {{"fragment_id": this, "page_script_hash": context.page_script_hash}}
if st.session_state.leaves:
    st.switch_page("pages/second.py")  # and nothing below
{ASK}
"""
SECOND = f"""
import streamlit as st
{ASK}
st.title("Second")
"""


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


@pytest.fixture
def app(tmp_path: Path) -> AppTest:
    (tmp_path / "first.py").write_text(FIRST, "utf-8")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "second.py").write_text(SECOND, "utf-8")
    return AppTest.from_file(str(tmp_path / "first.py"))


@pytest.mark.parametrize("leaves", [True, False])
def test_a_part_of_a_page_that_was_left_is_not_drawn_any_more(
    app: AppTest, leaves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, run = [], []
    inner, outer = late_fragments._run_script, ScriptRunner._run_script

    def asks(runner: ScriptRunner, what: RerunData) -> None:
        asked.append(bool(what.fragment_id_queue))
        outer(runner, what)

    def runs(runner: ScriptRunner, what: RerunData) -> None:
        run.append(bool(what.fragment_id_queue))
        inner(runner, what)

    monkeypatch.setattr(ScriptRunner, "_run_script", asks)
    monkeypatch.setattr(late_fragments, "_run_script", runs)
    app.session_state["leaves"] = leaves
    app.run()
    assert asked == [False, True], "Streamlit asks, as the new page is drawn"
    assert run == ([False] if leaves else [False, True])
    assert [one.value for one in app.title] == (["Second"] if leaves else [])
