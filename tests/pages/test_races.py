"""Races on the page Train: started, watched, stopped, deleted; and the scores of Look inside."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import (
    Visit,
    button,
    charts,
    download_labels,
    messages,
    visible_text,
)
from transformer.analysis.table1.score_scale import measure
from transformer.jobs import Jobs, Limits
from transformer.jobs.race_runs import COLUMNS, race_runs, submit_race
from transformer.text.files import write_json
from transformer.training.races import RACES
from transformer.ui.services import live_jobs

PAGE = "pages/train.py"
OTHER_VISITOR = "o" * 32
WHY = "pages/inside.py?tab=why"


@pytest.fixture(autouse=True)
def usual_limits(jobs: Jobs) -> None:
    jobs.limits = Limits()


def start_button(app: AppTest, race: str) -> Any:
    """Return the button that starts a race."""
    return app.button(key=f"start-race-{race}")


def finish(jobs: Jobs, race_id: str, better: str, margin: float = 0.5) -> None:
    """Finish every run of a race; the entry `better` has the lowest loss."""
    for run in race_runs(jobs, race_id):
        path = jobs.folder(run.info.name).path
        loss = run.race.seed / 100 + (0 if run.race.entry == better else margin)
        metrics = {"step": run.info.steps, "valid_loss": loss, "sequence_accuracy": 1 - loss}
        lines = [{"step": 1, "loss": 3.0, "seconds": 0.5}, metrics]
        (path / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        state = {"status": "finished", "reason": "by hand", "step": run.info.steps}
        (path / "state.json").write_text(json.dumps(state))


def test_a_race_is_started_shown_stopped_and_deleted(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    assert all(start_button(app, name) for name in RACES)
    assert "9 settings × 3 seeds = 27 runs" in visible_text(app)
    start_button(app, "warm-up").click().run()
    assert not app.exception
    (race_id,) = {run.race.id for run in race_runs(jobs)}
    assert app.query_params["race"] == race_id
    assert len(race_runs(jobs, race_id)) == 6
    assert RACES["warm-up"].question in visible_text(app)
    assert "number 1 in the queue" in visible_text(app)
    assert "number 6 in the queue" in visible_text(app)
    assert "a verdict needs 3 finished seeds of each side, and there are 0 and 0" in visible_text(
        app
    )
    button(app, "Stop the whole race").click().run()
    assert {run.info.status for run in race_runs(jobs)} == {"cancelled"}
    assert "Stop the whole race" not in [element.label for element in app.button]
    button(app, "Delete the race").click().run()
    assert not app.exception
    assert race_runs(jobs) == []
    assert "race" not in app.query_params


def test_a_race_over_the_limit_is_reported(visit: Visit, jobs: Jobs) -> None:
    submit_race(jobs, "scores", OTHER_VISITOR)
    app = visit(PAGE)
    jobs.limits = Limits(queued=30)
    start_button(app, "scores").click().run()
    assert not app.exception
    assert "The race has 27 runs and 27 runs are waiting and this app allows 30" in visible_text(
        app
    )
    assert len(race_runs(jobs)) == 27


def test_the_table_and_the_verdicts_match_the_runs(visit: Visit, jobs: Jobs) -> None:
    race_id = submit_race(jobs, "positions", OTHER_VISITOR)
    finish(jobs, race_id, better="sinusoidal")
    app = visit(PAGE, race=race_id)
    text = visible_text(app)
    assert "0.020 ± 0.010 (0.010 to 0.030)" in text  # mean of 0.01, 0.02 and 0.03
    assert "0.520 ± 0.010 (0.510 to 0.530)" in text
    assert "98.0% ± 1.0% (97.0% to 99.0%)" in text
    assert "3 of 3" in text
    verdicts = [line for line in text.split("\n") if "badge" in line or line.startswith(":")]
    assert sum("Holds" in verdict for verdict in verdicts) == 2
    assert sum("Inconclusive" in verdict for verdict in verdicts) == 1  # learned against none
    assert "Someone else's race" in text
    assert [element.label for element in app.button] == ["Larger"]  # the frame's button
    figures = app.get("plotly_chart")
    assert len(figures) == 1
    assert download_labels(app) == ["The table (.csv)"]


def test_scores_are_measured_at_the_width_of_the_address(visit: Visit) -> None:
    app = visit(WHY, part="scores", dk="16", seed="5")
    row = measure((16,), seed=5).set_index("score").loc["dot"]
    assert f"<td>{row['variance']:.3g}</td><td>16</td>" in visible_text(app)
    assert f"saturated in **{100 * row['saturated']:.0f}%**" in visible_text(app)
    assert len(app.get("plotly_chart")) == 3 + 3
    (button,) = (element for element in app.button if element.label == "New sample")
    button.click().run()
    assert not app.exception
    assert (app.query_params["seed"], app.query_params["dk"]) == ("6", "16")


def test_a_race_of_layers_is_started_shown_stopped_and_deleted(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE, race="layers")
    seeds = next(
        element for element in app.button_group if element.label == "Seeds of each setting"
    )
    seeds.set_value(1).run()
    assert "7 settings × 1 seed = 7 runs" in visible_text(app)
    app.button(key="start-race-layers").click().run()
    assert not app.exception
    (race_id,) = {run.race.id for run in race_runs(jobs)}
    assert app.query_params["race"] == race_id
    assert "number 5 in the queue" in visible_text(app)
    assert "Results appear after" in visible_text(app)
    for run in race_runs(jobs, race_id):
        accuracy = 1.0 if run.race.entry == "self-attention" else 0.125
        metrics = {"step": run.info.steps, "valid_loss": 1.0, "sequence_accuracy": accuracy}
        metrics["by_distance"] = {"3": 1.0, "64": accuracy}
        path = jobs.folder(run.info.name).path
        (path / "metrics.jsonl").write_text(json.dumps(metrics) + "\n")
        state = {"status": "finished", "reason": "by hand", "step": run.info.steps}
        (path / "state.json").write_text(json.dumps(state))
    live_jobs.recent_runs.clear()  # cached for a second
    app.run()
    assert "All 7 runs are finished." in visible_text(app)
    assert "<td>6 positions</td><td>100.0%</td><td>12.5%, chance 12.5%</td>" in visible_text(app)
    assert {*download_labels(app)} == {
        "Accuracy by distance (.csv)",
        "The table (.csv)",
    }
    next(element for element in app.button if element.label == "Delete the race").click().run()
    assert not app.exception
    assert race_runs(jobs) == []
    assert "race" not in app.query_params


def test_the_shipped_race_is_shown(visit: Visit, checkpoints: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoints, tmp_path / "checkpoints"))
    rows = [
        (entry, 1, 500, distance, 1 / distance, None, 0.125, 100, 8)
        for entry in RACES["layers"].entries
        for distance in (3, 6)
    ]
    lines = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    write_json(folder / "races" / "layers.json", {"when": 86400 * 31, "lines": lines})
    app = visit(PAGE, folder, race="layers")
    assert not messages(app)
    assert "Included with the app: 1 Feb 1970, 1 seed each, 500 steps." in visible_text(app)
    (chart,) = charts(app)
    assert set(RACES["layers"].entries) <= {trace.get("name") for trace in chart["data"]}
