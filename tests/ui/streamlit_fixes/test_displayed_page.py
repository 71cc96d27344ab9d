"""The page that the browser displays is known in a callback.

`test_streamlit_alone_returns_the_running_page` shows the bug; once it fails, delete the fix.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.proto.ClientState_pb2 import ContextInfo
from streamlit.runtime import context as streamlit_context

from transformer.ui.base.streamlit_fixes import displayed_page as fix


class Pages:
    """The pages of an app, of which "positions" runs."""

    current_page_script_hash = "other"

    def get_pages(self) -> dict[str, dict[str, str]]:
        return {"hash": {"url_pathname": "inside"}, "other": {"url_pathname": "positions"}}


def set_url(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    context = SimpleNamespace(context_info=ContextInfo(url=url), pages_manager=Pages())
    for module in (fix, streamlit_context):
        monkeypatch.setattr(module, "get_script_run_ctx", lambda: context)


def test_streamlit_alone_returns_the_running_page(monkeypatch: pytest.MonkeyPatch) -> None:
    set_url(monkeypatch, "http://localhost:8501/inside?layer=2")
    assert str(st.context.url).endswith("/positions")


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("http://localhost:8501/inside?layer=2", "inside"),
        ("https://school.example/heads/inside", "inside"),
        ("http://localhost:8501/?text=a/b", ""),
        ("", None),
    ],
)
def test_the_page_is_the_last_part_of_the_path(
    url: str, page: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_url(monkeypatch, url)
    assert fix.displayed_page() == page
