"""The query–key view: the numbers on the page equal numpy's result from the same trace.

`tests/figures/scripts/calculation.test.js` checks the calculation with each score function.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import open_html
from transformer.figures import PackedTrace, explorer_page
from transformer.inference import Translator
from transformer.inference.trace import Trace
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import Vocabulary

TEXT, LAYER, HEAD = "The baker paints a boat today.", 1, 2
HOOK_PREFIXES = {
    "encoder": "encoder.layers.{}.self_attn.hook_",
    "decoder": "decoder.layers.{}.self_attn.hook_",
    "cross": "decoder.layers.{}.cross_attn.hook_",
}
Rows = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def trace(tiny_model: Transformer, vocabulary: Vocabulary) -> Trace:
    return Translator(tiny_model, vocabulary).trace(TEXT, max_len=7)


def open_query_key(page: Page, folder: Path, trace: Trace, **start: int | str) -> None:
    state = {"view": "query-key", "layer": LAYER, "head": HEAD, "exact": 1, "more": 1, **start}
    open_html(page, folder, explorer_page([PackedTrace(trace)], state))
    page.locator(".hu-querykey").wait_for()


def vectors(trace: Trace, kind: str, quantity: str) -> Rows:
    return np.asarray(trace[HOOK_PREFIXES[kind].format(LAYER) + quantity][HEAD], np.float64)


def tokens(page: Page, side: str) -> Locator:
    return page.get_by_role("radiogroup", name=side, exact=True)


def titles(page: Page) -> list[str]:
    expect(page.locator(".hu-work h3").last).not_to_be_empty()
    return page.locator(".hu-work h3").all_inner_texts()


def last_number(text: str) -> float:
    return float(re.findall(r"[−-]?\d+\.\d+", text)[-1].replace("−", "-"))


def test_a_weight_is_calculated_from_its_vectors(page: Page, tmp_path: Path, trace: Trace) -> None:
    for kind, row, column in (("cross", 2, 3), ("encoder", 0, 5), ("decoder", 4, 1)):
        open_query_key(page, tmp_path, trace, kind=kind, row=row, column=column)
        query, key = vectors(trace, kind, "query")[row], vectors(trace, kind, "key")[column]
        product, weight = query @ key, trace.weights(kind, LAYER)[HEAD, row, column]
        expected = [product, product / math.sqrt(len(query)), weight]
        assert [*map(last_number, titles(page)[2:5])] == pytest.approx(expected, abs=6e-5)
        expect(page.locator(".hu-check", has_text="✓")).to_have_count(3)
        assert page.locator(".hu-differs").count() == 0

    open_query_key(page, tmp_path, trace, kind="decoder", row=0)
    queries, keys = (tokens(page, name) for name in ("Query", "Key"))
    selected = "[aria-checked=true]"

    def check_selected(row: int, column: int) -> None:
        for elements, position in ((queries, row), (keys, column)):
            radio = elements.get_by_role("radio").nth(position)
            expect(radio).to_have_attribute("aria-checked", "true")

    queries.locator(selected).focus()
    for key, row, column in [("ArrowUp", 0, 0), ("ArrowDown", 1, 0), ("ArrowRight", 1, 1)]:
        page.keyboard.press(key)
        check_selected(row, column)
        expect(queries.locator(selected)).to_be_focused()
    queries.get_by_role("radio").nth(5).click()
    check_selected(5, int(trace.weights("decoder", LAYER)[HEAD, 5].argmax()))
    keys.get_by_role("radio").nth(3).click()
    check_selected(5, 3)

    open_query_key(page, tmp_path, trace, kind="decoder", row=2, column=4)
    assert "−∞" in titles(page)[4]
    n_masked = len(trace.tgt_tokens) - 3
    expect(page.locator(".hu-work")).to_contain_text(f"{n_masked} keys get the score −∞")
    expect(page.locator(".hu-off")).to_have_count(n_masked)
