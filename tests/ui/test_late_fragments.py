"""A part of a page that asks for itself as the page is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner
from streamlit.testing.v1 import AppTest

from transformer.ui.server import late_fragments

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
