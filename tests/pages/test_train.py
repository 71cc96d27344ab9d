"""The Train page without a browser: example runs, limits and ownership."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import pytest
import streamlit as st
from safetensors.torch import save_file

from tests.pages.conftest import Visit, messages, send_choice, view, visible_text
from tests.pages.train_visits import PAGE
from transformer.jobs import Jobs
from transformer.model import Transformer
from transformer.text.tasks import TASKS
from transformer.training.races import RACES
from transformer.training.recipe import default_settings, make_run_config
from transformer.training.run_config import TaskRun
from transformer.ui.base.registry import PAGES
from transformer.ui.pages.training import example_runs
from transformer.ui.services import live_jobs


def test_the_page_opens_with_example_runs_and_says_what_to_do_first(
    visit: Visit, jobs: Jobs
) -> None:
    app = visit(PAGE)
    labels = [link.proto.label for link in app.get("page_link")]
    titles = [entry.title for entry in PAGES.values()]
    assert labels[: len(titles)] == titles
    for example_run in example_runs.EXAMPLE_RUNS:
        assert example_run.title in visible_text(app)
        assert app.button(f"train-{example_run.task}")
    assert visible_text(app).count("steps, about 9 s") == len(example_runs.EXAMPLE_RUNS)
    assert "Train a small model and watch its attention form" in visible_text(app)
    assert "Your runs" not in visible_text(app)
    assert not messages(app)
    assert not jobs.runs()


@pytest.mark.parametrize(
    "example_run", example_runs.EXAMPLE_RUNS, ids=lambda example_run: example_run.task
)
def test_one_click_on_an_example_queues_its_run_and_shows_it(
    visit: Visit, jobs: Jobs, example_run: example_runs.ExampleRun
) -> None:
    app = visit(PAGE)
    app.button(f"train-{example_run.task}").click().run()
    assert not app.exception
    assert not messages(app)
    (run,) = jobs.runs()
    assert run.status == "queued"
    assert app.query_params["run"] == run.name == view(app).run
    assert "First in the queue" in visible_text(app)
    config = jobs.folder(run.name).config().to_dict()
    assert config["data"]["task"] == example_run.task
    assert config["training"]["steps"] == default_settings(example_run.task)["steps"]
    assert config["training"]["minutes"] == jobs.limits.minutes


def test_a_queued_run_shows_its_start_time_and_another_run_to_watch(
    visit: Visit, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit(PAGE)
    copy_config = make_run_config("copy", title="Copy it")
    running, *names = [jobs.submit(copy_config, f"visitor {n}") for n in range(4)]
    folder = jobs.folder(running)
    with folder.locked():  # as its trainer does
        folder.change_state("running")
        step = {"step": 100, "share": 0.2, "seconds": 5.0, "loss": 1.0}
        lines = "".join(f"{json.dumps(step | {'share': s})}\n" for s in (0.2, 0.4))
        folder.metrics_path.write_text(lines)
        app = visit(PAGE, run=names[-1])
        (seconds_left,) = (info.seconds_left for info in jobs.runs() if info.name == running)
        assert seconds_left == pytest.approx(0.6 * 5 / 0.2)
        assert (
            f"Number 3 in the queue. Starts in about {15 + 2 * 9} s. You can close"
            in visible_text(app)
        )
        links = [link.proto.label for link in app.get("page_link")]
        assert "Meanwhile, watch **Copy it** train →" in links
        monkeypatch.setattr(live_jobs, "time_estimate", lambda config, pairs=(): "unknown time")
        st.cache_resource.clear()
        assert "Number 3 in the queue. You can close this page." in visible_text(
            visit(PAGE, run=names[-1])
        )


def test_three_cards_come_first_and_the_rest_is_folded(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    (folded,) = app.expander
    assert folded.label == "More tasks and races"
    folded_buttons = {element.key for element in folded.button}
    first_buttons = [
        element.key
        for element in app.main.button
        if element.key not in folded_buttons and element.key != "larger"
    ]
    assert first_buttons == ["train-reverse", "train-french", "change-own"]
    for task in ("sort", "addition", "brackets", "induction", "modular"):
        assert f"train-{task}" in folded_buttons
    assert {f"start-race-{name}" for name in RACES} <= folded_buttons


def test_a_click_over_a_limit_is_reported(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    for task in ("reverse", "sort", "addition"):
        app.button(f"train-{task}").click().run()
        app.query_params.clear()
        app.run()
    app.button("train-french").click().run()
    assert messages(app) == ["You keep 3 runs and this app allows 3: delete one first."]
    assert len(jobs.runs()) == 3


def test_an_invalid_limits_file_is_reported(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limits.toml").write_text("workers = 'many'\n")
    monkeypatch.setenv("HEADS_UP_LIMITS", str(tmp_path / "limits.toml"))
    start = time.monotonic()
    app = visit(PAGE)
    assert "workers must be a whole number" in messages(app)[0]
    assert time.monotonic() - start < 60


def test_a_model_of_the_browser_becomes_a_finished_run(
    visit: Visit, jobs: Jobs, tmp_path: Path
) -> None:
    """The component's message: the model as one file in base64, its settings and its curve."""
    settings = {"n_layers": 1, "n_heads": 2, "d_model": 16, "d_ff": 16}
    model = Transformer(make_run_config("reverse", settings=settings).model)
    file = tmp_path / "model.safetensors"
    symbols = [*TASKS["reverse"].symbols]
    metadata = {"config": json.dumps(model.config.to_dict()), "symbols": json.dumps(symbols)}
    save_file({name: p.detach() for name, p in model.named_parameters()}, file, metadata)
    message = {
        "model": base64.b64encode(file.read_bytes()).decode(),
        "settings": {"task": "reverse", "batch": 16, "off": "", **settings},
        "title": "Reverse a sequence",
        "points": [[25, 0.5]],
    }
    app = send_choice(visit(PAGE, here="task=reverse"), "trainer", **message)
    name = view(app).run
    assert jobs.run(name).status == "finished"
    stored = jobs.folder(name).readable_config()
    assert isinstance(stored, TaskRun)
    assert stored.model == model.config
    assert "This run has no film of its heads" in visible_text(app)

    for wrong in ({"model": "AAAA"}, {"points": []}, {"settings": {"task": "no such task"}}):
        app = send_choice(visit(PAGE, here="task=reverse"), "trainer", **{**message, **wrong})
        assert len(app.warning) == 1
        assert view(app).run == ""
