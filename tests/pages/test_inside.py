"""The tab Figure 1: selections are in the address, and all numbers are those of the model."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import (
    Visit,
    browser_views,
    charts,
    numbers,
    open_address,
    run_program,
)
from transformer import Translator
from transformer.analysis.inside import opened_box
from transformer.figures.figure1 import STOPS
from transformer.figures.packing import unpack
from transformer.measures.naming import display_text
from transformer.ui.pages.inside import SECTION_LABELS

PAGE = "pages/inside.py"
TEXT = "The baker paints a boat."


def view_data(app: AppTest) -> list[tuple[dict[str, Any], Any]]:
    """Return headers and arrays of the page's browser views, the map first."""
    return [unpack(element.proto.bytes) for element in browser_views(app)]


def tables(app: AppTest) -> dict[str, tuple[dict[str, Any], Any]]:
    """Return the tables by title."""
    return {h["title"]: (h, parts["values"].array) for h, parts in view_data(app) if "kind" in h}


def warnings(app: AppTest) -> list[str]:
    return [box.value.replace("\\", "") for box in app.warning]


def counted_from_1(label: str) -> str:
    """Return the label of a row with the numbers of dimensions and heads from 1."""
    if re.fullmatch(r"\d+|head \d+, \d+", label):
        return re.sub(r"\d+", lambda match: str(int(match[0]) + 1), label)
    return label


def test_a_box_shows_the_numbers_of_the_analysis(visit: Visit, translator: Translator) -> None:
    app = visit(PAGE, text=TEXT, layer="1", head="2", exact="1")
    trace = translator.trace(TEXT)
    for name in STOPS[::6]:
        open_address(app, box=name)
        head, _, part = name.partition(".")
        is_in_a_layer = part.startswith(("self_attn", "cross_attn", "ffn"))
        box_tables = opened_box(trace, translator, f"{head}.1.{part}" if is_in_a_layer else name, 2)
        displayed = tables(app)
        for panel in box_tables.panels:
            if panel.collapsed:
                assert display_text(panel.title, exact=True) not in displayed
                continue
            header, values = displayed[display_text(panel.title, exact=True)]
            np.testing.assert_allclose(values, panel.values, rtol=1e-5, atol=1e-5)
            assert header["rows"] == [counted_from_1(label) for label in panel.rows]
        assert box_tables.box.section in " ".join(caption.value for caption in app.caption)
        *functions, program = (code.value for code in app.code)
        assert functions, "the functions that compute the selected number"
        assert f"opened_box(trace, translator, {box_tables.box.name!r}" in program


def test_the_selected_number_is_computed_and_its_code_prints_it(
    visit: Visit, translator: Translator
) -> None:
    address = {"box": "decoder.cross_attn.softmax", "layer": "1", "head": "3"}
    app = visit(PAGE, text=TEXT, row="2", column="1", exact="1", **address)
    trace = translator.trace(TEXT)
    expected = float(trace.weights("cross", 1)[3, 2, 1])
    (number,) = [text.value for text in app.markdown if text.value.startswith("**This number")]
    assert float(number.split("**")[1].split(": ")[1]) == pytest.approx(expected, rel=1e-4)
    assert trace.tgt_tokens[2].strip("▁") in number
    assert float(run_program(app.code[-1].value)["printed"]) == pytest.approx(expected, rel=1e-4)
    header, _ = tables(app)["Attention weights"]
    assert header["cell"] == {"row": 2, "column": 1, "in_this_table": True}
    header, _ = tables(app)["Masked scores"]
    assert header["cell"] == {"row": 2, "column": 1, "in_this_table": False}


def test_invalid_address_fields_are_reported(visit: Visit) -> None:
    app = visit(PAGE, box="encoder.7.nothing", section="all", panel="<b>x</b>", layer="9")
    assert not app.exception
    page_warnings = " ".join(warnings(app))
    assert "box='encoder.7.nothing'" in page_warnings
    assert "section='all'" in page_warnings
    assert "The address has layer=9, counted from 0" in page_warnings
    assert tables(app)


def test_an_empty_or_too_long_sentence_is_reported(visit: Visit) -> None:
    app = visit(PAGE)
    for section in SECTION_LABELS:
        for text in ("", "x " * 2500):
            open_address(app, section=section, text=text)
            assert len(app.warning) == 1, (section, text)


def test_training_predicts_every_position_in_one_pass(visit: Visit, translator: Translator) -> None:
    target = "Ma tante cache un bateau."
    app = visit(PAGE, text=TEXT, target=target, section="training", exact="1")
    trace = translator.trace(TEXT, target)
    logits = torch.tensor(trace["hook_logits"])
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(trace.predicted_ids))
    (formula,) = [latex.value for latex in app.latex]
    assert float(formula.split("= ")[-1].split("\\")[0]) == pytest.approx(loss.item(), abs=1e-4)
    body = next(html.proto.body for html in app.get("html") if "hu-shifted" in html.proto.body)
    assert body.count('<th scope="row">') == len(trace.predicted_ids)
    assert "&lt;s&gt;" in body


def test_the_last_row_of_the_lens_is_the_models_prediction(
    visit: Visit, translator: Translator
) -> None:
    app = visit(PAGE, text=TEXT, section="lens")
    (lens,) = charts(app)
    trace = translator.trace(TEXT)
    probabilities = torch.tensor(trace["hook_logits"]).double().softmax(-1)
    heatmap = lens["data"][0]
    last = numbers(heatmap["z"])[-1]
    np.testing.assert_allclose(last, probabilities.max(-1).values, rtol=1e-4)
