"""The parts of the tab “Why self-attention” that evaluate, count and measure."""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, charts, download_labels, measure, visible_text
from transformer.analysis.table1 import score_scale
from transformer.analysis.table1.complexity import count_multiplications, evaluate_formulas
from transformer.analysis.table1.paths import path_length, sequential_operations
from transformer.model.table1_layers import TABLE1_LAYERS
from transformer.text.files import write_json
from transformer.training import layer_race
from transformer.training.layer_race import COLUMNS, ENTRIES
from transformer.ui.pages.inside.why.sizes import NAMES, format_count

PAGE = "pages/inside.py?tab=why"
main_text = partial(visible_text, kinds=("markdown", "caption", "header"))


def rows_by_label(app: AppTest, caption: str) -> dict[str, list[str]]:
    """Return the cells of the table whose caption starts with this, by row label."""
    bodies = [element.proto.body for element in app.get("html")]
    [table] = [body for body in bodies if f"<caption>{caption}" in body]
    cells = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        for row in re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2])
    ]
    return {first: row_cells for first, *row_cells in cells}


def test_table_1_is_evaluated_and_counted_at_the_sizes_of_the_address(visit: Visit) -> None:
    app = visit(PAGE, part="table", n="96", d="48", k="5", r="9")
    table_rows, costs = (
        rows_by_label(app, "Table 1 at n = 96"),
        evaluate_formulas(96, 48, 5, 9)["cost"],
    )
    for name in TABLE1_LAYERS:
        assert table_rows[NAMES[name]][1].startswith(format_count(costs[name]))
    assert table_rows["Restricted self-attention"][1].endswith("lowest")
    assert "n = 96 > d = 48: self-attention costs 2 times more than recurrence" in main_text(app)
    assert "n = k·d = 240" in main_text(app)
    assert not app.warning
    table_rows = rows_by_label(app, "Multiplications at n = 96, d = 48")
    for name in TABLE1_LAYERS:
        operations = count_multiplications(name, 96, 48, 5, 9)
        assert table_rows[NAMES[name]][1] == format_count(operations.mixing)
        assert table_rows[NAMES[name]][3] == format_count(operations.total)
    assert table_rows["Self-attention"][2] == "2"


@pytest.mark.parametrize(("letter", "value"), [("k", "4"), ("r", "6")])
def test_an_even_kernel_is_reported_and_the_sliders_stay(
    visit: Visit, letter: str, value: str
) -> None:
    app = visit(PAGE, part="table", **{letter: value})
    assert [box.value.replace("\\", "") for box in app.warning] == [
        f"The size {letter} must be odd, not {value}, because it is centred on a position. "
        "Choose an odd value with the slider."
    ]
    app.select_slider[2 if letter == "k" else 3].set_value(7).run()
    assert not app.warning


def test_paths_are_measured_and_compared_with_their_formula(visit: Visit) -> None:
    app = visit(PAGE, part="paths", n="20", k="5", r="7")
    table_rows = rows_by_label(app, "n = 20, k = 5, r = 7")
    for name, label in NAMES.items():
        expected = format_count(path_length(name, 20, 5, 7))
        assert table_rows[label][2] == expected
        assert table_rows[label][3].split(",")[0] == expected
    assert table_rows["Recurrent"][3] == "1, 19 steps"
    chains = {label: int(cells[4].replace("–", "0")) for label, cells in table_rows.items()}
    assert chains["Recurrent"] == sequential_operations("recurrent", 20)
    assert chains["Recurrent"] > max(
        chains[NAMES[name]] for name in ("self-attention", "restricted")
    )
    assert len(app.get("plotly_chart")) == 1


def test_scores_are_measured_at_the_width_of_the_address(visit: Visit) -> None:
    app = visit(PAGE, part="scores", dk="16", seed="5")
    row = score_scale.measure((16,), seed=5).set_index("score").loc["dot"]
    assert f"<td>{row['variance']:.3g}</td><td>16</td>" in visible_text(app)
    assert f"saturated in **{100 * row['saturated']:.0f}%**" in visible_text(app)
    assert len(app.get("plotly_chart")) == 3 + 3
    (button,) = (element for element in app.button if element.label == "New sample")
    button.click().run()
    assert not app.exception
    assert (app.query_params["seed"], app.query_params["dk"]) == ("6", "16")


def test_the_race_of_layers_shows_the_included_result_and_can_be_run(
    visit: Visit, checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(checkpoints, tmp_path / "checkpoints"))
    lines = [
        dict(zip(COLUMNS, (entry, seed, distance, accuracy, reach, 0.125, 100, 8), strict=True))
        for entry in ENTRIES
        for reach in [6 if entry == "convolutional" else None]
        for seed in (1, 2, 3)
        for distance in (3, 64)
        for accuracy in [0.125 if distance > (reach or 64) else 1 - seed / 100]
    ]
    write_json(folder / "races" / "layers.json", {"when": 86400 * 31, "lines": lines})
    app = visit(PAGE, folder, part="race")
    text = visible_text(app)
    assert "1 Feb 1970" in text
    assert "mean of 3 seeds" in text
    assert "<td>6 positions</td><td>98.0%</td><td>12.5%</td>" in text
    assert "<td>everything</td><td>98.0%</td><td>–</td>" in text
    [chart] = charts(app)
    assert {*ENTRIES} <= {trace.get("name") for trace in chart["data"]}
    assert "mean accuracy 98.0% against 55.2%" in text
    assert download_labels(app) == ["Accuracy by distance (.csv)"]
    monkeypatch.setattr(layer_race, "STEPS", 1)
    measure(app, "Race the layers on this machine")
    assert not app.run().exception
    assert "1 Feb 1970" not in visible_text(app)
    assert "Race the layers on this machine" not in [element.label for element in app.button]


def test_the_race_of_layers_is_offered_without_an_included_result(visit: Visit) -> None:
    app = visit(PAGE, part="race")
    assert "Race the layers on this machine" in [element.label for element in app.button]
    assert not app.get("plotly_chart")
