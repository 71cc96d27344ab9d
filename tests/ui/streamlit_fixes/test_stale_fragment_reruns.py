"""A fragment rerun of the previous page is dropped.

The cases with `repaired=False` show the bug in Streamlit alone; once they fail, delete the fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner
from streamlit.testing.v1 import AppTest

from transformer.ui.base.streamlit_fixes import stale_fragment_reruns as fix

REQUEST_RERUN = """
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
get_script_run_ctx().script_requests.request_rerun(RerunData(**st.session_state.request))
"""
FIRST_PAGE = f"""
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

@st.fragment
def part():
    st.write("drawn")

part()
context = get_script_run_ctx()
[fragment_id] = context.shared.new_fragment_ids.snapshot()
page_hash = context.page_script_hash
st.session_state.request = {{"fragment_id": fragment_id, "page_script_hash": page_hash}}
if st.session_state.switches_page:
    st.switch_page("pages/second.py")  # ends this script run
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
@pytest.mark.parametrize("switches_page", [True, False])
def test_a_fragment_of_the_previous_page_does_not_rerun(
    app: AppTest, switches_page: bool, repaired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested_reruns, script_runs = [], []  # whether each is of a fragment
    original = fix._run_script
    run_script = fix._run_unless_stale if repaired else original

    def record_request(runner: ScriptRunner, request: RerunData) -> None:
        requested_reruns.append(bool(request.fragment_id_queue))
        (run_script if repaired else record_run)(runner, request)

    def record_run(runner: ScriptRunner, request: RerunData) -> None:
        script_runs.append(bool(request.fragment_id_queue))
        original(runner, request)

    monkeypatch.setattr(ScriptRunner, "_run_script", record_request)
    monkeypatch.setattr(fix, "_run_script", record_run)
    app.session_state["switches_page"] = switches_page
    app.run()
    assert requested_reruns == [False, True], (
        "the old page's fragment rerun is requested while the new page is drawn"
    )
    assert script_runs == ([False] if switches_page and repaired else [False, True]), (
        "Streamlit alone reruns the fragment"
    )
    if repaired:
        assert [title.value for title in app.title] == (["Second"] if switches_page else [])
