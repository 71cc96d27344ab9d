"""Quick settings on a run's page: changing one restarts the training."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, messages, view
from tests.pages.train_visits import OTHER_VISITOR, PAGE, submit_run, write_run
from tests.session import SessionDict
from transformer.jobs import Jobs
from transformer.training.recipe import PAIRS_FILE, make_run_config
from transformer.training.run_config import PairsRun, TaskRun
from transformer.ui.base import state, visitor
from transformer.ui.pages.training import quick_settings
from transformer.ui.pages.training.quick_settings import QUICK_SETTINGS


def setting_menu(app: AppTest, label: str) -> Any:
    return next(element for element in app.selectbox if element.label == label)


def start_run(visit: Visit) -> tuple[AppTest, str]:
    app = visit(PAGE)
    app.button("train-reverse").click().run()
    return app, view(app).run


def test_another_value_replaces_the_visitors_unfinished_run(visit: Visit, jobs: Jobs) -> None:
    app, name = start_run(visit)
    assert [setting_menu(app, setting.label).label for setting in QUICK_SETTINGS]
    setting_menu(app, "Heads").select(8).run()
    assert not messages(app)
    (run,) = jobs.runs()
    assert run.name == view(app).run != name
    assert run.title == "Reverse a sequence, heads 8"
    config = jobs.folder(run.name).config()
    assert isinstance(config, TaskRun)
    assert config.model.n_heads == 8
    setting_menu(app, "Heads").select(2).run()
    setting_menu(app, "d_model").select(32).run()
    (run,) = jobs.runs()
    assert run.title == "Reverse a sequence, heads 2, d_model 32"


@pytest.mark.parametrize("status", ["finished", "paused", "cancelled"])
def test_an_ended_or_paused_run_is_kept(visit: Visit, jobs: Jobs, status: str) -> None:
    app, name = start_run(visit)
    write_run(jobs, name, status)
    app.run()
    setting_menu(app, "Layers").select(1).run()
    assert {run.name for run in jobs.runs()} == {name, view(app).run}
    assert view(app).run != name


def test_another_visitors_run_is_kept_and_its_pairs_stay_private(visit: Visit, jobs: Jobs) -> None:
    name = submit_run(jobs)
    app = visit(PAGE, run=name)
    setting_menu(app, "Positions").select("none").run()
    assert {run.name for run in jobs.runs()} == {name, view(app).run}
    diary = make_run_config(title="Diary", settings={"d_model": 16, "n_heads": 2, "d_ff": 16})
    assert isinstance(diary, PairsRun)
    name = jobs.submit(diary, OTHER_VISITOR, {PAIRS_FILE: b"dear diary\tI know\n"})
    jobs.share(name, OTHER_VISITOR, True)
    assert not [element for element in visit(PAGE, run=name).selectbox if element.label == "Heads"]


def test_settings_of_the_replaced_run_apply_to_the_new_one(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two settings in quick succession: the second comes from the first run's widgets and URL."""
    monkeypatch.setattr(streamlit, "session_state", SessionDict())
    monkeypatch.setattr(visitor, "current_id", lambda: OTHER_VISITOR)
    monkeypatch.setattr(visitor, "address_hash", lambda: "")

    class Parameters(SessionDict):
        def from_dict(self, params: dict[str, str]) -> None:
            self.data = params

    def run_script(params: dict[str, str]) -> None:
        monkeypatch.setattr(streamlit, "query_params", Parameters(params))
        state.open_address(PAGE)
        state.write_address()

    def change_setting(run: str, name: str, value: Any) -> str:
        streamlit.session_state["key"] = value
        quick_settings._restart(run, OTHER_VISITOR, name, "key")
        run_script({"run": run})  # the browser has not received the new run's URL
        current: str = state.page_view().run
        return current

    old = submit_run(jobs)
    run_script({"run": old})
    assert change_setting(old, "n_heads", 1) != old
    new = change_setting(old, "n_layers", 1)
    config = jobs.folder(new).config()
    assert isinstance(config, TaskRun)
    assert (config.model.n_heads, config.model.n_layers) == (1, 1)
    assert change_setting(old, "n_layers", 1) == new  # the same message again restarts nothing
    assert change_setting(new, "n_layers", 2) != new
    run_script({})  # the visitor has opened the list of runs
    streamlit.session_state["key"] = 4
    quick_settings._restart(old, OTHER_VISITOR, "n_layers", "key")
    assert state.page_view().run == ""
