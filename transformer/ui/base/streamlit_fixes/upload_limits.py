"""One browser can fill the server's memory with uploaded files.

What goes wrong, for whom: a script sends files under invented ids to the upload address of its own
session. The server keeps all of them until the session ends, and runs out of memory for everyone.

Why: `server.maxUploadSize` limits one file. `MemoryUploadedFileManager.add_file` stores any number
of files, also under ids that no widget has requested.

How to reproduce: send many PUT requests to `/_stcore/upload_file/<session id>/<any id>`
(`tests/ui/streamlit_fixes/test_upload_limits.py`).

Upstream report (draft): "The upload endpoint accepts unlimited files for a session under arbitrary
file ids. Expected: only ids from get_upload_urls, and a limit on the bytes of a session and of all
sessions."

Checked with: 1.67.0. Delete when `test_streamlit_alone_accepts_any_number` fails and Streamlit also
limits the bytes of all sessions together.
"""

from __future__ import annotations

from functools import wraps

from starlette.exceptions import HTTPException
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from transformer.ui.base.streamlit_fixes.checks import changed_signatures, missing_attributes

MAX_SESSION_FILES = 100
MAX_SESSION_BYTES = 30_000_000
"""Maximum bytes of the files that one session has uploaded."""
MAX_TOTAL_BYTES = 300_000_000
"""The same for all sessions."""
_add_file = MemoryUploadedFileManager.add_file


def changes() -> list[str]:
    """Describe what the fix relies on and the installed Streamlit has changed."""
    return changed_signatures(
        MemoryUploadedFileManager, add_file="self, session_id, file"
    ) + missing_attributes(MemoryUploadedFileManager, "file_storage", "_total_bytes", "_lock")


def apply() -> None:
    """Refuse files above the limits, with status 413 and one sentence."""
    MemoryUploadedFileManager.add_file = _add_file_within_limits  # type: ignore[method-assign, assignment]


@wraps(_add_file)
def _add_file_within_limits(
    manager: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec
) -> None:
    with manager._lock:
        files = [*manager.file_storage.get(session_id, {}).values()]
        total = manager._total_bytes + len(file.data)
    n_bytes = sum(len(stored.data) for stored in files) + len(file.data)
    if n_bytes > MAX_SESSION_BYTES or len(files) >= MAX_SESSION_FILES:
        raise HTTPException(
            413,
            f"This tab has uploaded {MAX_SESSION_FILES} files or {MAX_SESSION_BYTES // 10**6} MB, "
            "the limit; reload the page to upload more.",
        )
    if total > MAX_TOTAL_BYTES:
        raise HTTPException(
            413,
            f"All visitors together have uploaded {MAX_TOTAL_BYTES // 10**6} MB, the limit of this "
            "server; try again later.",
        )
    _add_file(manager, session_id, file)
