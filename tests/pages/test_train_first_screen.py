"""A run's first screen: heads beside curves, a film from its beginning; and what a toy has seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, messages, shown
from tests.pages.test_shipped import folder  # noqa: F401  a fixture
from tests.pages.train_visits import told
from transformer.text.tasks import TASKS

PAGE = "pages/train.py"


def film(app: AppTest) -> dict[str, Any]:
    return next(data for data in shown(app) if "probes" in data)


def test_heads_stand_beside_the_curves_with_what_to_look_for(
    visit: Visit,
    folder: Path,  # noqa: F811
) -> None:
    app = visit(PAGE, folder, run="toy-reverse")
    assert not messages(app)
    assert TASKS["reverse"].look_for in told(app)
    kinds = [[one.type for one in column] for column in app.columns[:2]]
    assert "bidi_component" in kinds[0]
    assert kinds[1].count("plotly_chart") == 2


def test_the_film_of_a_run_that_is_over_begins_at_its_beginning_in_words(
    visit: Visit,
    folder: Path,  # noqa: F811
) -> None:
    app = visit(PAGE, folder, run="toy-reverse")
    data = film(app)
    assert data["start"]["step"] == data["steps"][0] == 0
    first, last = data["probes"][0]["captions"]["cross"]
    assert first.startswith("Before the first step: the greatest weight of a row is 50% on average")
    assert last.startswith("At the end:")


def test_a_trained_toy_says_what_it_knows_and_marks_what_it_never_saw(
    visit: Visit,
    folder: Path,  # noqa: F811
) -> None:
    run = folder / "runs" / "toy-reverse"
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": 2, "valid_loss": 0.3, "elapsed": 41.2}) + "\n")
    options = json.loads((run / "config.json").read_text())["data"]["options"]
    letters = "abcdefghijklmnopqrstuvwxyz"[: options["letters"]]
    app = visit(
        "pages/translate.py", folder, model="toy-reverse", text=f"{letters[0]} z {letters[1]}"
    )
    assert not messages(app)
    assert f"It knows {len(letters)} symbols: {' '.join(letters)}." in told(app)
    assert "Trained for 2 steps, 41 s." in told(app)
    assert ":red-badge[z]" in told(app)
    assert f":red-badge[{letters[0]}]" not in told(app)
    assert "It knows" not in told(visit("pages/translate.py", folder, model="tiny"))


@pytest.mark.parametrize("options", [{"letters": 99}, {"no": 1}])
def test_options_that_no_task_has_close_no_page(
    options: dict[str, int],
    visit: Visit,
    folder: Path,  # noqa: F811
) -> None:
    path = folder / "runs" / "toy-reverse" / "config.json"
    config = json.loads(path.read_text())
    config["data"]["options"] = options
    path.write_text(json.dumps(config))
    app = visit("pages/translate.py", folder, model="toy-reverse", text="a b")
    assert not app.exception
