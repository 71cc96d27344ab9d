"""Attribution: methods for an output token, and direct logit attribution."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from tests.pages.conftest import (
    Visit,
    charts,
    messages,
    run_program,
    view,
    visible_text,
)
from transformer import Translator
from transformer.analysis.attribution import norms
from transformer.ui.services import trace_cache

TEXT = "The baker hides books."
PAGE = "pages/research.py"
SHORT_TARGET = {"method": "forced", "target": "Elle cache la lampe."}  # for value zeroing
main_text = partial(visible_text, kinds=("markdown", "caption"))


def open_experiment(visit: Visit, **params: str) -> AppTest:
    return visit(PAGE, experiment="attribution", **{"text": TEXT, "exact": "1", **params})


def contrast_menu(app: AppTest) -> Selectbox[int]:
    return next(box for box in app.selectbox if box.label.startswith("Compare with token"))


def test_a_contrast_token_is_selected_and_stored_in_the_address(visit: Visit) -> None:
    app = open_experiment(visit, step="2", **SHORT_TARGET)
    assert view(app).against == -1
    menu = contrast_menu(app)
    assert len(menu.options) > 2
    menu.select_index(1).run()
    assert not messages(app)
    assert view(app).against >= 0
    assert app.query_params["against"] == str(view(app).against)
    page_text = main_text(app)
    assert "Rollout and value zeroing do not apply" in page_text
    assert len(app.get("plotly_chart")) == 3  # bars of the token, two grids of heads
    assert list(run_program(app.code[0].value)["table"].columns[3:]) == ["gradient"]


def test_the_python_code_prints_the_same_numbers(visit: Visit) -> None:
    app = open_experiment(
        visit, kind="encoder", layer="1", head="3", step="1", method="sample", seed="3"
    )
    assert "table" in run_program(app.code[0].value)


def test_a_computation_over_the_time_limit_is_cancelled(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every computation of a page checks for cancellation, value zeroing as well as the search."""
    checks: list[str] = []
    monkeypatch.setattr(norms, "check_cancelled", lambda: checks.append("norms"))
    assert not messages(open_experiment(visit, text="A boat hides.", step="2", **SHORT_TARGET))
    assert checks
    monkeypatch.setattr(trace_cache, "MAX_CPU_SECONDS", -1)
    app = open_experiment(visit, text="The pilot hides a boat.", step="2", **SHORT_TARGET)
    assert "took more than -1 seconds of CPU time" in messages(app)[0]


def test_the_head_grids_belong_to_the_token_and_the_code_prints_them(
    visit: Visit, translator: Translator
) -> None:
    app = visit("pages/research.py", experiment="attribution", text=TEXT, step="2", exact="1")
    assert not messages(app)
    sentence = next(box.value for box in app.markdown if box.value.startswith("The logit of"))
    trace = translator.trace(TEXT)
    with torch.no_grad():
        src, tgt = torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids])
        logits = translator.model(src, tgt)[0, 2].double()
    difference = float(logits[trace.predicted_ids[2]] - logits.mean())
    assert f"is {difference:+.2f} above the mean".replace("-", "−") in sentence
    parts = [
        float(number.replace("−", "-")) for number in re.findall(r"[+−]\d+\.\d\d(?=,|:)", sentence)
    ]
    np.testing.assert_allclose(sum(parts), difference, atol=0.005 * (len(parts) + 1))

    grids = charts(app)[-2:]
    layers, heads = translator.model.config.n_layers, translator.model.config.n_heads
    for grid in grids:
        assert len(grid["layout"]["yaxis"]["ticktext"]) == layers
        assert len(grid["layout"]["xaxis"]["ticktext"]) == heads
    reliability = next(box.value for box in app.markdown if "How reliable is this?" in box.value)
    assert re.search(r"correlation [+−][01]\.\d\d over all heads", reliability)
