"""A fake `st.session_state` for use outside the app."""

from __future__ import annotations

from collections import UserDict
from typing import Any


class SessionDict(UserDict[str, Any]):
    """A session without widgets."""

    def to_dict(self) -> dict[str, Any]:
        return dict(self.data)
