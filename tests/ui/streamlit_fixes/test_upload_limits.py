"""Uploaded files are limited for each session and in total.

`test_streamlit_alone_accepts_any_number` shows the bug; once it fails, see the fix.
"""

from __future__ import annotations

import pytest
from starlette.exceptions import HTTPException
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from transformer.ui.base.streamlit_fixes import upload_limits as fix


@pytest.fixture
def manager() -> MemoryUploadedFileManager:
    return MemoryUploadedFileManager("/_stcore/upload_file")


def upload(manager: MemoryUploadedFileManager, session: str, name: str, n_bytes: int) -> None:
    file = UploadedFileRec(name, "a.txt", "text/plain", bytes(n_bytes))
    fix._add_file_within_limits(manager, session, file)


def test_streamlit_alone_accepts_any_number(manager: MemoryUploadedFileManager) -> None:
    for number in range(fix.MAX_SESSION_FILES + 1):
        fix._add_file(manager, "ann", UploadedFileRec(f"invented {number}", "a", "", b""))
    assert len(manager.file_storage["ann"]) > fix.MAX_SESSION_FILES


def test_a_session_is_limited(
    manager: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fix, "MAX_SESSION_BYTES", 1000)
    upload(manager, "ann", "first", 900)
    with pytest.raises(HTTPException, match="This tab has uploaded") as refusal:
        upload(manager, "ann", "second", 101)
    assert refusal.value.status_code == 413
    upload(manager, "bob", "first", 1000)
    manager.remove_file("ann", "first")
    upload(manager, "ann", "second", 101)
    monkeypatch.setattr(fix, "MAX_SESSION_FILES", 1)
    with pytest.raises(HTTPException, match="This tab has uploaded"):
        upload(manager, "ann", "third", 0)


def test_all_sessions_together_are_limited(
    manager: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fix, "MAX_TOTAL_BYTES", 1000)
    upload(manager, "ann", "first", 900)
    with pytest.raises(HTTPException, match="All visitors together"):
        upload(manager, "bob", "first", 101)
    manager.remove_session_files("ann")
    upload(manager, "bob", "first", 101)
