"""Runs shipped with the app: everybody sees them, and nobody can control them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.jobs.conftest import IdleExecutor
from tests.pages.conftest import (
    Visit,
    component_data,
    messages,
    view,
    visible_text,
)
from tests.pages.train_visits import labels, write_checkpoint
from transformer.app_folders import SHIPPED_RUNS
from transformer.jobs import Jobs, Limits
from transformer.training.recipe import make_run_config
from transformer.training.run_config import FilmRun, RunConfig
from transformer.training.run_folder import RunFolder
from transformer.ui.services import live_jobs

PAGE = "pages/train.py"
TOKENS = {"src": ["a", "b"], "tgt": ["<s>", "b"], "predicted": ["b", "a"]}


def write_run(folder: Path, name: str, config: RunConfig) -> RunFolder:
    """Write a run of two steps with a film."""
    run = RunFolder(folder / name)
    run.path.mkdir(parents=True)
    run.write_config(config)
    run.write_state("finished", "all 2 steps taken", step=2)
    for step in (0, 2):
        weights = np.full((2, 4, 2, 2), 0.5, np.float16)
        run.write_snapshot(step, {"0.cross": weights}, [TOKENS])
    return run


@pytest.fixture
def folder(tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with `tiny` and two shipped runs: reverse, and the training of `tiny`."""
    copy = Path(shutil.copytree(checkpoints, tmp_path / "checkpoints"))
    toy = write_run(
        copy / SHIPPED_RUNS, "toy-reverse", make_run_config("reverse", title="Reverse a sequence")
    )
    write_checkpoint(toy.path)
    toy.append_metrics({"step": 2, "loss": 0.5})
    toy.append_metrics({"step": 2, "valid_loss": 0.4, "sequence_accuracy": 0.75})
    film = FilmRun(title="The training of tiny", checkpoint="tiny")
    early_run = write_run(copy / SHIPPED_RUNS, "training", film)
    early_run.append_metrics({"step": 2, "valid_loss": 2.5, "bleu": 31.2})
    jobs = Jobs(
        tmp_path / "runs",
        Limits(),
        executor=lambda queue: IdleExecutor(),
        shipped=copy / SHIPPED_RUNS,
    )
    monkeypatch.setattr(live_jobs, "jobs", lambda: jobs)
    return copy


def test_the_train_page_lists_shipped_runs_to_a_new_visitor(visit: Visit, folder: Path) -> None:
    app = visit(PAGE, folder)
    assert "Trained runs" in visible_text(app)
    assert "step 2 · 75% correct" in visible_text(app)
    links = [link.proto.label.replace("\\", "") for link in app.get("page_link")]
    assert "**Reverse a sequence**" in links
    assert "**The training of tiny**" in links
    assert links.count("Open a trained model: reverse →") == 1  # on the card of its task
    assert "Your runs" not in visible_text(app)
    assert "Other visitors' runs" not in visible_text(app)


def test_a_shipped_run_has_a_film_and_no_controls(visit: Visit, folder: Path) -> None:
    app = visit(PAGE, folder, run="toy-reverse")
    assert not messages(app)
    assert "all 2 steps taken" in visible_text(app).lower()
    assert "Included with the app" in visible_text(app)
    assert "Someone else's" not in visible_text(app)
    assert not labels(app) & {"Resume", "Stop", "Pause", "Save now", "Delete it", "Delete …"}
    assert [data["steps"] for data in component_data(app) if "probes" in data] == [[0, 2]]
    assert "held-out examples at step 1. 0 of 2 answers are right." in visible_text(app)
    assert "Train a similar one →" in [link.proto.label for link in app.get("page_link")]


def test_a_shipped_run_is_a_model_on_the_other_pages(visit: Visit, folder: Path) -> None:
    app = visit(PAGE, folder, run="toy-reverse")
    app.button("go-try").click().run()
    assert not messages(app)
    assert dict(app.query_params) == {"model": "toy-reverse", "text": "a b c"}
    app = visit("pages/inside.py", folder)
    model = next(box for box in app.selectbox if box.label == "Model")
    names = [option.split(" · ")[0] for option in model.options]  # without the number of weights
    assert names == ["tiny", "toy: reverse"]
    model.select("toy-reverse").run()
    assert view(app).text == "a b c"


def test_early_saves_link_to_their_final_checkpoint(visit: Visit, folder: Path) -> None:
    app = visit(PAGE, folder, run="training")
    assert not messages(app)
    assert "Train a similar one →" not in [link.proto.label for link in app.get("page_link")]
    assert [box.value for box in app.selectbox][:2] == ["loss", "bleu"]
    assert [data["steps"] for data in component_data(app) if "probes" in data] == [[0, 2]]
    app.button("go-app.py").click().run()
    assert not messages(app)
    assert view(app).model == "tiny"


def test_an_invalid_shipped_run_is_ignored(visit: Visit, folder: Path) -> None:
    (folder / SHIPPED_RUNS / "toy-reverse" / "config.json").unlink()
    (folder / SHIPPED_RUNS / "training" / "config.json").write_text(json.dumps([1]))
    app = visit(PAGE, folder)
    assert not messages(app)
    assert "Open a trained model" not in " ".join(link.proto.label for link in app.get("page_link"))
    assert not messages(visit("app.py?depth=steps", folder))


def test_a_shipped_task_model_describes_its_task_and_marks_unknown_words(
    visit: Visit,
    folder: Path,
) -> None:
    run = folder / "runs" / "toy-reverse"
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": 2, "valid_loss": 0.3, "elapsed": 41.2}) + "\n")
    options = json.loads((run / "config.json").read_text())["data"]["options"]
    letters = "abcdefghijklmnopqrstuvwxyz"[: options["letters"]]
    app = visit("pages/inside.py", folder, model="toy-reverse", text=f"{letters[0]} z {letters[1]}")
    assert not messages(app)
    assert f"Its vocabulary has {len(letters)} symbols: {' '.join(letters)}." in visible_text(app)
    assert "Trained for 2 steps, 41 s." in visible_text(app)
    assert ":red-badge[z]" in visible_text(app)
    assert f":red-badge[{letters[0]}]" not in visible_text(app)
    assert "Its vocabulary has" not in visible_text(visit("pages/inside.py", folder, model="tiny"))
