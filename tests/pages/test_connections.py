"""The film of connections on the page of a run."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import IdleExecutor
from tests.pages.conftest import Visit, component_data, measure, messages, visible_text
from tests.training.conftest import COPY_RUN
from transformer.jobs import Jobs, Limits
from transformer.jobs.shipped import RUNS
from transformer.training import evaluation_callback
from transformer.training.run import RunFolder
from transformer.training.train_folder import train_run
from transformer.ui.services import live_jobs

PAGE = "pages/train.py"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """Return a shipped run that still has the weights of its steps."""
    run = RunFolder(tmp_path / "checkpoints" / RUNS / "toy-copy")
    run.path.mkdir(parents=True)
    run.write_config(COPY_RUN)
    monkeypatch.setattr(evaluation_callback, "FREE_SECONDS", math.inf)
    assert train_run(run.path) == "finished"
    jobs = Jobs(
        tmp_path / "runs",
        Limits(),
        executor=lambda queue, limits: IdleExecutor(),
        shipped=run.path.parent,
    )
    monkeypatch.setattr(live_jobs, "jobs", lambda: jobs)
    return run


def test_connections_are_computed_and_drawn(visit: Visit, run: RunFolder) -> None:
    app = visit(PAGE, run.path.parents[1], run="toy-copy")
    assert "Connections as they formed" in visible_text(app)
    assert not run.connection_steps()
    measure(app, "Compute connections")
    assert run.connection_steps() == run.weight_steps()
    film = next(data for data in component_data(app) if isinstance(data, dict) and "frames" in data)
    assert [frame["step"] for frame in film["frames"]] == run.weight_steps()
    edges = film["frames"][-1]["edges"]
    stored = run.connections(8)["table"]
    assert [edge[3:] for edge in edges] == [[row["score"], row["effect"]] for row in stored]
    assert film["nodes"][edges[0][0]] == stored[0]["upstream"]
    assert not messages(app)


def test_a_run_with_only_its_final_model_has_one_step(visit: Visit, run: RunFolder) -> None:
    shutil.rmtree(run.step_weights_path)
    app = visit(PAGE, run.path.parents[1], run="toy-copy")
    assert "Only the final model of this run was kept" in visible_text(app)
    assert "Compute connections" in {button.label for button in app.button}


def test_a_run_without_weights_says_why(visit: Visit, run: RunFolder) -> None:
    shutil.rmtree(run.step_weights_path)
    shutil.rmtree(run.checkpoint_path)
    app = visit(PAGE, run.path.parents[1], run="toy-copy")
    assert "The weights of this run's steps were not kept; train a similar run" in visible_text(app)
    assert "Compute connections" not in {button.label for button in app.button}
