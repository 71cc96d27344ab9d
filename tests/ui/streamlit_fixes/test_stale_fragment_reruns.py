"""A fragment rerun of the previous page is dropped.

The cases with `repaired=False` show the bug in Streamlit alone; once they fail, delete the fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner
from streamlit.testing.v1 import AppTest

from transformer.ui.streamlit_fixes import stale_fragment_reruns as fix

REQUEST_RERUN = """
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
get_script_run_ctx().script_requests.request_rerun(RerunData(**st.session_state.ask))
"""
FIRST_PAGE = f"""
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
    st.switch_page("pages/second.py")  # nothing runs after this
{REQUEST_RERUN}
"""
SECOND_PAGE = f"""
import streamlit as st
{REQUEST_RERUN}
st.title("Second")
"""


@pytest.fixture
def app(tmp_path: Path) -> AppTest:
    (tmp_path / "first.py").write_text(FIRST_PAGE, "utf-8")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "second.py").write_text(SECOND_PAGE, "utf-8")
    return AppTest.from_file(str(tmp_path / "first.py"))


@pytest.mark.parametrize("repaired", [False, True])
@pytest.mark.parametrize("leaves", [True, False])
def test_a_fragment_of_the_previous_page_does_not_rerun(
    app: AppTest, leaves: bool, repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested, run = [], []
    original = fix._run_script
    run_script = fix._run_unless_stale if repaired else original

    def request(runner: ScriptRunner, request: RerunData) -> None:
        requested.append(bool(request.fragment_id_queue))
        (run_script if repaired else runs)(runner, request)

    def runs(runner: ScriptRunner, request: RerunData) -> None:
        run.append(bool(request.fragment_id_queue))
        original(runner, request)

    monkeypatch.setattr(ScriptRunner, "_run_script", request)
    monkeypatch.setattr(fix, "_run_script", runs)
    app.session_state["leaves"] = leaves
    app.run()
    assert requested == [False, True], "Streamlit requests it while it draws the new page"
    assert run == ([False] if leaves and repaired else [False, True]), "Streamlit alone runs it"
    if repaired:
        assert [title.value for title in app.title] == (["Second"] if leaves else [])
