"""Below an open box of Inside: two convolutions, and the shapes of a batch."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit
from transformer import Translator
from transformer.ui.about import About

PAGE = "pages/inside.py"
TEXT = "The baker paints a boat."


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def cells(body: str, caption: str) -> list[list[str]]:
    """The rows of the table with this caption."""
    table = body.split(f"<caption>{caption}")[1].split("</table>")[0].split("<tbody>")[1]
    rows = re.findall(r"<tr>(.*?)</tr>", table)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_the_network_is_shown_in_both_forms(visit: Visit, checkpoints: object) -> None:
    app = visit(PAGE, text=TEXT, box="encoder.ffn.output", layer="1", row="2")
    assert "two convolutions</th>" not in html(app)
    app.toggle(key="inside-convolutions").set_value(True).run()
    assert not app.exception
    translator = Translator.load(f"{checkpoints}/tiny", device="cpu")
    trace = translator.trace(TEXT)
    shown = cells(html(app), "What the network says at")
    wanted = trace["encoder.layers.1.ffn.hook_output"][2]
    for at, (_, linear, convolved) in enumerate(shown):
        assert float(linear) == pytest.approx(wanted[at], abs=2e-6)
        assert float(convolved) == pytest.approx(wanted[at], abs=1e-4)
    assert np.abs(wanted[: len(shown)]).max() > 1e-3


@pytest.mark.parametrize("block", ["encoder.self_attn", "decoder.self_attn", "decoder.cross_attn"])
def test_a_batch_has_an_axis_more(visit: Visit, checkpoints: object, block: str) -> None:
    app = visit(PAGE, text=TEXT, box=f"{block}.softmax")
    app.toggle(key="inside-batch").set_value(True).run()
    assert not app.exception
    shown = {axes: here for _, axes, here in cells(html(app), "Tensors of this attention")}
    config = Translator.load(f"{checkpoints}/tiny", device="cpu").model.config
    sizes = shown["(B, h, L, d_k)"].strip("()").split(", ")
    assert (int(sizes[0]), int(sizes[1]), int(sizes[3])) == (3, config.n_heads, config.d_k)
    assert shown["(B, h, L, S)"].startswith(f"(3, {config.n_heads}, {sizes[2]}, ")
    assert "&lt;pad&gt;" in html(app)


def test_where_there_is_neither_nothing_is_offered(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT, box="encoder.memory")
    assert {toggle.label for toggle in app.toggle} == {"Exact"}


def test_an_example_is_not_read_twice(visit: Visit) -> None:
    app = visit(PAGE, text=About().examples[1], box="encoder.self_attn.query")
    app.toggle(key="inside-batch").set_value(True).run()
    rows = cells(html(app), "What is asked, sentence by sentence")
    assert len({line for _, line in rows}) == 3
