"""Direct logit attribution of one output token."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, charts, messages, numbers, view
from transformer import Translator
from transformer.inference import Trace

TEXT = "The baker hides books."


def open_experiment(visit: Visit, **params: str) -> AppTest:
    fields = {"experiment": "attribution", "text": TEXT, "step": "2", "exact": "1"}
    return visit("pages/research.py", **{**fields, **params})


def sentence(app: AppTest) -> str:
    return next(box.value for box in app.markdown if box.value.startswith("The logit of"))


@pytest.fixture
def logits(translator: Translator) -> tuple[Trace, torch.Tensor]:
    """Return the trace of the sentence and the logits of its third token."""
    trace = translator.trace(TEXT)
    src, tgt = torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids])
    with torch.no_grad():
        return trace, translator.model(src, tgt)[0, 2].double()


def test_the_parts_of_the_sentence_sum_to_the_logit(
    visit: Visit, logits: tuple[Trace, torch.Tensor]
) -> None:
    app = open_experiment(visit)
    assert not messages(app)
    trace, token_logits = logits
    difference = float(token_logits[trace.predicted_ids[2]] - token_logits.mean())
    assert f"is **{difference:+.2f}** above the mean".replace("-", "−") in sentence(app)
    text = next(box.value for box in app.markdown if box.value.startswith("The logit is the sum"))
    parts = [
        float(number.replace("−", "-")) for number in re.findall(r" ([+−]\d+\.\d\d)(?=,|\.)", text)
    ]
    assert len(parts) == 6
    np.testing.assert_allclose(sum(parts), difference, atol=0.005 * (len(parts) + 1))
    assert re.search(r"correlation [+−][01]\.\d\d over all heads", text)


def test_the_grids_have_the_numbers_of_the_table(visit: Visit) -> None:
    app = open_experiment(visit, method="sample", seed="3", step="1")
    table = app.dataframe[0].value
    for kind, grid in zip(("cross", "decoder"), charts(app), strict=True):
        drawn = numbers(grid["data"][0]["z"])
        assert drawn.ravel() == pytest.approx(table[table["part"] == kind]["adds"].to_numpy())


def test_a_contrast_token_is_selected_and_stored_in_the_address(
    visit: Visit, logits: tuple[Trace, torch.Tensor]
) -> None:
    app = open_experiment(visit)
    assert view(app).against == -1
    menu = next(box for box in app.selectbox if box.label.startswith("Compare with token"))
    assert len(menu.options) > 2
    menu.select_index(1).run()
    assert not messages(app)
    against = view(app).against
    assert against >= 0
    assert app.query_params["against"] == str(against)
    trace, token_logits = logits
    difference = float(token_logits[trace.predicted_ids[2]] - token_logits[against])
    assert f"is **{difference:+.2f}** above that of".replace("-", "−") in sentence(app)
