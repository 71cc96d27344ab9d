"""Figure 1: optional views of a box, the next token, and the section on training."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
import torch

from tests.pages.conftest import (
    Visit,
    charts,
    component_data,
    messages,
    numbers,
    view,
    visible_text,
)
from transformer import Translator
from transformer.figures.figure1 import STOPS
from transformer.measures.naming import token_name
from transformer.ui.base.address import View

PAGE = "pages/inside.py"
TEXT = "The baker paints a boat."
SENTENCE = "The baker hides books."
html = partial(visible_text, kinds=["html"])


@pytest.mark.parametrize("block", ["encoder.self_attn", "decoder.self_attn", "decoder.cross_attn"])
def test_a_weight_links_to_its_query_and_key(visit: Visit, block: str) -> None:
    app = visit(PAGE, text=TEXT, box=f"{block}.softmax", layer="1", row="2")
    (link,) = (link.proto for link in app.get("page_link") if "Query–key" in link.proto.label)
    fields = {"depth=heads", "view=query-key", "layer=1", "row=2"}
    if block != "decoder.cross_attn":  # the default
        fields.add(f"kind={block.partition('.')[0]}")
    assert fields <= {*link.query_string.split("&")}


@pytest.mark.parametrize("row", [0, 2])
def test_the_walkthrough_ends_with_the_most_probable_token_and_alternatives(
    visit: Visit, translator: Translator, row: int
) -> None:
    trace = translator.trace(SENTENCE)
    with torch.no_grad():
        logits = translator.model(torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids]))
    probabilities, ids = logits[0, row].double().softmax(-1).topk(5)
    app = visit(PAGE, text=SENTENCE, box=STOPS[-1], row=str(row))
    assert not messages(app)
    tables = [
        element.proto.body
        for element in app.get("html")
        if "The most probable tokens" in element.proto.body
    ]
    (table,) = tables
    assert [float(share) for share in re.findall(r">([\d.]+)%</td>", table)] == pytest.approx(
        [100 * float(p) for p in probabilities], abs=0.06
    )
    best_token = translator.vocabulary.token(int(ids[0]))
    assert f"with a probability of **{100 * float(probabilities[0]):.1f}%**" in "\n".join(
        element.value for element in app.markdown
    )
    header = next(data for data in component_data(app) if data.get("figure") == "figure-1")
    box = next(element for element in header["boxes"] if element["id"] == STOPS[-1])
    assert box["hint"] == (token_name(best_token).replace("▁", "") or "▁")


def test_the_rate_is_equation_3_and_its_sliders_are_in_the_address(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT, section="learning", d_model="128", warmup="400")
    trace, *terms = charts(app)[0]["data"]
    steps, rate = numbers(trace["x"]), numbers(trace["y"])
    assert rate == pytest.approx(np.minimum(*(numbers(term["y"]) for term in terms)))
    assert rate.max() == pytest.approx((128 * 400) ** -0.5)
    assert steps[rate.argmax()] == 400
    app.select_slider(key=f"{PAGE}:warmup").set_value(1000).run()
    assert not app.exception
    assert view(app).warmup == 1000
    assert app.query_params["warmup"] == "1000"
    assert f"{(128 * 1000) ** -0.5:.3g}" in visible_text(app)


def test_another_dropout_mask_drops_other_numbers(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT, section="learning", dropout="0.5", layer="1")

    def dropped_text() -> str:
        lines = visible_text(app).split("\n")
        return next(line for line in lines if "numbers are dropped" in line)

    first = dropped_text()
    count, total = map(int, re.findall(r"\d+", first)[:2])
    assert 0 < count < total
    app.button[-1].click().run()
    assert not app.exception
    assert view(app).seed == View().seed + 1
    assert dropped_text() != first
    app.slider(key=f"{PAGE}:dropout").set_value(0.0).run()
    assert "Nothing is dropped" in visible_text(app)


def test_the_loss_of_a_smoothed_target_equals_torch(visit: Visit, translator: Translator) -> None:
    app = visit(PAGE, text=TEXT, section="learning", smoothing="0.2", row="1")
    trace = translator.trace(TEXT)
    logits = torch.tensor(trace["hook_logits"])[1].double()
    gold = torch.tensor(trace.predicted_ids[1])
    displayed = re.findall(r"<td>([\d.]+)</td>", html(app).split("Loss at this position")[1])
    for value, smoothing in ((displayed[0], 0.0), (displayed[2], 0.2)):
        expected = torch.nn.functional.cross_entropy(logits, gold, label_smoothing=smoothing)
        assert float(value) == pytest.approx(expected.item(), abs=1e-4)
    app.selectbox(key="learning-target").set_value(0).run()
    assert not app.exception
    assert view(app).row == 0
