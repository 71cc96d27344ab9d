"""Races on the Train page: started, watched, stopped and deleted by whoever began them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.jobs.conftest import Still
from tests.pages.conftest import Visit, button, told
from transformer.jobs import Jobs, Limits
from transformer.jobs.race_runs import race_runs, submit_race
from transformer.jobs.races import RACES
from transformer.training.estimate import Estimate
from transformer.ui import live_jobs
from transformer.ui.races import one_race

PAGE = "pages/train.py"
OTHER = "o" * 32


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Jobs whose runs wait for ever, instead of the server's."""
    made = Jobs(tmp_path, Limits(), executor=lambda queue, limits: Still())
    monkeypatch.setattr(live_jobs, "jobs", lambda: made)
    monkeypatch.setattr(live_jobs, "estimated", lambda config, pairs=(): Estimate(1, 1, 1.0))
    return made


def card(app: AppTest, race: str) -> Any:
    """The button that starts a race."""
    return app.button(key=f"start-race-{race}")


def finish(jobs: Jobs, race_id: str, better: str, by: float = 0.5) -> None:
    """Every run has taken all its steps; the entry `better` has the least loss."""
    for run in race_runs(jobs, race_id):
        path = jobs.folder(run.info.name).path
        loss = run.race.seed / 100 + (0 if run.race.entry == better else by)
        look = {"step": run.info.steps, "valid_loss": loss, "sequence_accuracy": 1 - loss}
        lines = [{"step": 1, "loss": 3.0, "seconds": 0.5}, look]
        (path / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        state = {"status": "finished", "reason": "by hand", "step": run.info.steps}
        (path / "state.json").write_text(json.dumps(state))


def test_a_card_starts_all_runs_of_a_race_and_shows_it(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    assert all(card(app, name) for name in RACES)
    assert "9 settings × 3 seeds = 27 runs" in told(app)
    card(app, "warm-up").click().run()
    assert not app.exception
    (race_id,) = {run.race.id for run in race_runs(jobs)}
    assert app.query_params["race"] == race_id
    assert len(race_runs(jobs, race_id)) == 6
    assert RACES["warm-up"].question in told(app)
    assert "place 1 in line" in told(app)
    assert "place 6 in line" in told(app)
    assert "a verdict needs 3 finished seeds of each side, and there are 0 and 0" in told(app)


def test_fewer_seeds_are_fewer_runs(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    seeds = next(one for one in app.button_group if one.label == "Seeds of each setting")
    seeds.set_value(1).run()
    assert "9 settings × 1 seed = 9 runs" in told(app)
    card(app, "scores").click().run()
    assert [run.race.seed for run in race_runs(jobs)] == [1] * 9


def test_a_race_that_does_not_fit_is_a_sentence(visit: Visit, jobs: Jobs) -> None:
    submit_race(jobs, "scores", OTHER)
    app = visit(PAGE)
    jobs.limits = Limits(queued=30)
    card(app, "scores").click().run()
    assert not app.exception
    assert "The race has 27 runs and 27 runs are waiting and this app allows 30" in told(app)
    assert len(race_runs(jobs)) == 27


def test_the_table_and_the_verdicts_are_those_of_the_runs(visit: Visit, jobs: Jobs) -> None:
    race_id = submit_race(jobs, "positions", OTHER)
    finish(jobs, race_id, better="sinusoidal")
    app = visit(PAGE, race=race_id)
    text = told(app)
    assert "0.020 ± 0.010 (0.010 to 0.030)" in text  # of 0.01, 0.02, 0.03
    assert "0.520 ± 0.010 (0.510 to 0.530)" in text
    assert "98.0% ± 1.0% (97.0% to 99.0%)" in text
    assert "3 of 3" in text
    words = [line for line in text.split("\n") if "badge" in line or line.startswith(":")]
    assert sum("Holds" in word for word in words) == 2
    assert sum("Not shown" in word for word in words) == 1  # learned against none
    assert "someone else's race" in text
    assert [one.label for one in app.button] == ["Larger"]  # the frame's
    figures = app.get("plotly_chart")
    assert len(figures) == 1
    (file,) = app.get("download_button")
    assert file.proto.label == "The table as CSV"


def test_the_owner_stops_and_deletes_a_race(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    card(app, "warm-up").click().run()
    button(app, "Stop the whole race").click().run()
    assert not app.exception
    assert {run.info.status for run in race_runs(jobs)} == {"cancelled"}
    assert "Stop the whole race" not in [one.label for one in app.button]
    button(app, "Delete the race").click().run()
    assert not app.exception
    assert race_runs(jobs) == []
    assert "race" not in app.query_params


def test_a_race_that_is_gone_is_a_sentence(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE, race="scores-00000000")
    assert "There is no race 'scores-00000000'; it may have been deleted." in told(app)


def test_races_of_others_are_listed_after_ones_own(visit: Visit, jobs: Jobs) -> None:
    submit_race(jobs, "heads", OTHER, (1,))
    app = visit(PAGE)
    links = [link.proto.label for link in app.get("page_link")]
    assert "**Heads**" in links
    assert "someone else's" in told(app)
    assert "0 of 4 runs over" in told(app)


def test_training_loss_is_drawn_as_means_of_ten_steps() -> None:
    steps = np.arange(1.0, 26)
    at, loss = one_race._smooth(steps, steps**2)
    assert at.tolist() == [10, 20]  # the last five are too few
    assert loss.tolist() == [np.mean(steps[:10] ** 2), np.mean(steps[10:20] ** 2)]
    assert len(one_race._smooth(steps[:3], steps[:3])[0]) == 0
