"""The parts Scores and Race of "Why self-attention", without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.jobs.conftest import Still
from tests.pages.conftest import Visit, told
from transformer.analysis.table1.score_scale import measure
from transformer.jobs import Jobs, Limits
from transformer.jobs.race_runs import race_runs, submit_race
from transformer.jobs.races import RACES
from transformer.training.estimate import Estimate
from transformer.ui import live_jobs
from transformer.ui.races import one_race

PAGE = "pages/why.py"
OTHER = "o" * 32


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Jobs whose runs wait for ever, instead of the server's."""
    made = Jobs(tmp_path / "runs", Limits(), executor=lambda queue, limits: Still())
    monkeypatch.setattr(live_jobs, "jobs", lambda: made)
    monkeypatch.setattr(live_jobs, "estimated", lambda config, pairs=(): Estimate(1, 1, 1.0))
    return made


def test_scores_are_measured_at_the_width_of_the_address(visit: Visit) -> None:
    app = visit(PAGE, part="scores", dk="16", seed="5")
    line = measure((16,), seed=5).set_index("score").loc["dot"]
    assert f"<td>{line['variance']:.3g}</td><td>16</td>" in told(app)
    assert f"stands still in **{line['still']:.0%}**" in told(app)
    assert len(app.get("plotly_chart")) == 3 + 3 + 2
    assert "In the heads of tiny" in told(app)
    assert "without 1/√d_k" in told(app)
    (button,) = (one for one in app.button if one.label == "Draw others")
    button.click().run()
    assert not app.exception
    assert (app.query_params["seed"], app.query_params["dk"]) == ("6", "16")


def test_scores_without_a_model_or_a_sentence(visit: Visit, tmp_path: Path) -> None:
    app = visit(PAGE, tmp_path / "empty", part="scores")
    assert "With a checkpoint, or a run of your own" in told(app)
    app = visit(PAGE, part="scores", text=" ")
    assert app.warning
    app = visit(PAGE, part="scores", dk="9999")
    assert "must be a whole number from 1 to 1024" in told(app)


def start(app: AppTest) -> None:
    app.button(key="start-race-layers").click().run()
    assert not app.exception


def test_a_race_of_layers_is_started_shown_stopped_and_deleted(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE, part="race")
    assert "7 settings × 1 seed = 7 runs" in told(app)
    start(app)
    (race_id,) = {run.race.id for run in race_runs(jobs)}
    assert app.query_params["race"] == race_id
    assert app.query_params["part"] == "race"
    assert "place 5 in line" in told(app)
    assert "The first look comes with" in told(app)
    for run in race_runs(jobs, race_id):
        far = 1.0 if run.race.entry == "self-attention" else 0.125
        look = {"step": run.info.steps, "valid_loss": 1.0, "sequence_accuracy": far}
        look["by_distance"] = {"3": 1.0, "64": far}
        path = jobs.folder(run.info.name).path
        (path / "metrics.jsonl").write_text(json.dumps(look) + "\n")
        state = {"status": "finished", "reason": "by hand", "step": run.info.steps}
        (path / "state.json").write_text(json.dumps(state))
    one_race._infos.clear()  # it keeps what it read for a second
    app.run()
    assert "All 7 runs are finished." in told(app)
    assert "<td>6 positions</td><td>100.0%</td><td>12.5%, chance 12.5%</td>" in told(app)
    assert {one.proto.label for one in app.get("download_button")} == {
        "Accuracy by distance as CSV",
        "The table as CSV",
    }
    next(one for one in app.button if one.label == "Delete the race").click().run()
    assert not app.exception
    assert race_runs(jobs) == []
    assert "race" not in app.query_params


def test_races_of_layers_alone_are_listed(visit: Visit, jobs: Jobs) -> None:
    submit_race(jobs, "heads", OTHER, (1,))
    race_id = submit_race(jobs, "layers", OTHER, (1,))
    app = visit(PAGE, part="race")
    links = [link.proto for link in app.get("page_link")]
    labels = [link.label for link in links]
    assert "**Layers**" in labels
    assert "**Heads**" not in labels
    assert f"race={race_id}" in next(one for one in links if one.label == "**Layers**").query_string
    app = visit(PAGE, part="race", race="heads-1")  # another page's race is no business of this one
    assert "Start the race" in [button.label for button in app.button]
    app = visit(PAGE, part="race", race="layers-1")
    assert "There is no race 'layers-1'; it may have been deleted." in told(app)


def test_the_train_page_shows_a_run_that_left_no_model(visit: Visit, jobs: Jobs) -> None:
    race_id = submit_race(jobs, "layers", OTHER, (1,))
    run = race_runs(jobs, race_id)[0]
    path = jobs.folder(run.info.name).path
    lines: list[dict[str, Any]] = [
        {"step": 1, "loss": 2.0, "seconds": 0.1, "tokens": 100, "share": 0.0},
        {"step": 1, "valid_loss": 2.0, "sequence_accuracy": 0.5, "by_distance": {"3": 0.5}},
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    example = {"src": "c a f ·×3 1 2 3", "tgt": "c a f", "output": "c a b", "right": False}
    (path / "examples.jsonl").write_text(json.dumps({"step": 1, "examples": [example]}) + "\n")
    state = {"status": "finished", "reason": "by hand", "step": 1}
    (path / "state.json").write_text(json.dumps(state))
    app = visit("pages/train.py", run=run.info.name)
    assert "It labels places and translates nothing" in told(app)
    assert "<td>c a f ·×3 1 2 3</td>" in told(app)
    assert "Where its heads look" not in told(app)
    assert "How one matrix moves" not in told(app)
    app = visit("pages/train.py", race=race_id)
    assert "How far it carries" in told(app)
    assert RACES["layers"].question in told(app)
    app = visit("pages/translate.py", model=run.info.name)  # it is no checkpoint
    assert "There is no checkpoint" in told(app)
