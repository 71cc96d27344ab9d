"""The Train page without a browser: its cards, limits, and models of the browser."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file

from tests.pages.conftest import Visit, messages, send_choice, view, visible_text
from tests.pages.train_visits import PAGE
from transformer.jobs import Jobs
from transformer.model import Transformer
from transformer.text.tasks import TASKS
from transformer.training.recipe import default_settings, make_run_config
from transformer.training.run_config import TaskRun


def test_the_page_opens_with_three_cards_and_says_what_to_do_first(
    visit: Visit, jobs: Jobs
) -> None:
    app = visit(PAGE)
    labels = [link.proto.label for link in app.get("page_link")]
    assert "Other tasks and all settings →" in labels
    for title in ("Reverse a sequence", "Where French puts adjectives", "Your own sentences"):
        assert title in visible_text(app)
    assert visible_text(app).count("weights, ") == 2
    (folded,) = app.expander
    folded_buttons = {element.key for element in folded.button}
    first_buttons = [
        element.key for element in app.main.button if element.key not in folded_buttons
    ]
    assert first_buttons == [
        *("tab-reverse", "train-reverse", "tab-french", "train-french", "tab-pairs", "form-own")
    ]
    is_primary = {button.key: button.proto.type == "primary" for button in app.main.button}
    assert [key for key in first_buttons if is_primary[key]] == [
        *("tab-reverse", "tab-french", "tab-pairs")
    ]
    assert "Train a small model and watch its attention form" in visible_text(app)
    assert "Your runs" not in visible_text(app)
    assert not messages(app)
    assert view(app.button("tab-french").click().run()).here == "task=french"
    assert not jobs.runs()


@pytest.mark.parametrize("task", ["reverse", "french"])
def test_one_click_on_a_card_queues_its_run_and_shows_it(
    visit: Visit, jobs: Jobs, task: str
) -> None:
    app = visit(PAGE)
    app.button(f"train-{task}").click().run()
    assert not app.exception
    assert not messages(app)
    (run,) = jobs.runs()
    assert run.status == "queued"
    assert app.query_params["run"] == run.name == view(app).run
    assert "First in the queue" in visible_text(app)
    config = jobs.folder(run.name).config().to_dict()
    assert config["data"]["task"] == task
    assert config["training"]["steps"] == default_settings(task)["steps"]
    assert config["training"]["minutes"] == jobs.limits.minutes


def test_a_queued_run_shows_its_position(visit: Visit, jobs: Jobs) -> None:
    names = [jobs.submit(make_run_config("copy", title="Copy it"), f"visitor {n}") for n in "abc"]
    assert "Number 3 in the queue. You can close this page." in visible_text(
        visit(PAGE, run=names[-1])
    )


def test_a_click_over_a_limit_is_reported(visit: Visit, jobs: Jobs) -> None:
    app = visit(PAGE)
    visitor = app.session_state["visitor"]
    for n in range(3):
        jobs.submit(make_run_config("copy", settings={"seed": n}), visitor)
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


FILM = (np.arange(2 * 38) * 800).astype("<u2").reshape(2, 38)
"""Two frames of two heads: 9 encoder, 4 decoder and 6 cross-attention weights for each head."""


def test_a_model_of_the_browser_becomes_a_finished_run(
    visit: Visit, jobs: Jobs, tmp_path: Path
) -> None:
    """The component's message: the model in base64, its settings, curves, film and outputs."""
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
        "losses": [[1, 3.5], [25, 1.25]],
        "outputs": [{"src": "a b", "tgt": "b a", "output": "b b", "right": False}],
        "film": {
            "steps": [0, 25],
            "tokens": [
                {"src": ["a", "b", "</s>"], "tgt": ["<s>", "b"], "predicted": ["b", "</s>"]}
            ],
            "weights": base64.b64encode(FILM.tobytes()).decode(),
        },
    }
    app = send_choice(visit(PAGE, here="task=reverse"), "trainer", **message)
    name = view(app).run
    assert jobs.run(name).status == "finished"
    stored = jobs.folder(name).readable_config()
    assert isinstance(stored, TaskRun)
    assert stored.model == model.config
    folder = jobs.folder(name)
    assert folder.metrics() == [
        {"step": 1, "loss": 3.5},
        {"step": 25, "loss": 1.25, "sequence_accuracy": 0.5},
    ]
    assert folder.snapshots() == [0, 25]
    cross = folder.snapshot(25)["0.cross"]  # after two times 9 encoder and 4 decoder weights
    np.testing.assert_allclose(
        cross, FILM[1, 26:].reshape(1, 2, 2, 3) / 65_535, rtol=0, atol=2**-11
    )
    text = visible_text(app)
    assert "Outputs for held-out examples at step 25" in text
    assert "<td>b a</td><td>b b</td><td>wrong</td>" in text

    film = message["film"]
    assert isinstance(film, dict)
    for wrong in (
        *({"model": "AAAA"}, {"points": []}, {"settings": {"task": "no such task"}}),
        *({"settings": {}}, {"title": "\u202ex"}, {"points": None}, {"losses": [[1, None]]}),
        *({"film": {**film, "weights": weights}} for weights in ("AAAA", "AAA", "é", "")),
        *({"film": {**film, "steps": steps}} for steps in ([25, 0], [25], [0, 25, 50])),
        *({"model": "AAA"}, {"outputs": [{}]}, {"film": {}}),
    ):
        app = send_choice(visit(PAGE, here="task=reverse"), "trainer", **{**message, **wrong})
        assert len(app.warning) == 1
        assert view(app).run == ""
