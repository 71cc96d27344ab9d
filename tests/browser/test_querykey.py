"""The query–key view: every number on the page equals numpy's result from the same trace."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import open_html
from transformer.config import ModelConfig
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


def trace_of(vocabulary: Vocabulary, model: Transformer) -> Trace:
    return Translator(model, vocabulary).trace(TEXT, max_len=7)


def trace_with_score(vocabulary: Vocabulary, score: Any) -> Trace:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        config = ModelConfig.preset("tiny", vocab_size=len(vocabulary), score=score)
        return trace_of(vocabulary, Transformer(config).eval())


@pytest.fixture(scope="module")
def trace(tiny_model: Transformer, vocabulary: Vocabulary) -> Trace:
    return trace_of(vocabulary, tiny_model)


def open_query_key(page: Page, folder: Path, trace: Trace, **start: int | str) -> Page:
    state = {"view": "query-key", "layer": LAYER, "head": HEAD, "exact": 1, "more": 1, **start}
    open_html(page, folder, explorer_page([PackedTrace(trace)], state))
    page.locator(".hu-querykey").wait_for()
    return page


def vectors(trace: Trace, kind: str, quantity: str, head: int = HEAD) -> Rows:
    return np.asarray(trace[HOOK_PREFIXES[kind].format(LAYER) + quantity][head], np.float64)


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def tokens(page: Page, side: str) -> Locator:
    return page.get_by_role("radiogroup", name=side, exact=True)


def titles(page: Page) -> list[str]:
    expect(page.locator(".hu-work h3").last).not_to_be_empty()
    return page.locator(".hu-work h3").all_inner_texts()


def last_number(text: str) -> float:
    return number(re.findall(r"[−-]?\d+\.\d+", text)[-1])


def test_a_weight_is_calculated_from_its_vectors(
    page: Page, tmp_path: Path, trace: Trace, vocabulary: Vocabulary
) -> None:
    for kind, row, column in (("cross", 2, 3), ("encoder", 0, 5), ("decoder", 4, 1)):
        displayed = titles(open_query_key(page, tmp_path, trace, kind=kind, row=row, column=column))
        query, key = vectors(trace, kind, "query")[row], vectors(trace, kind, "key")[column]
        assert last_number(displayed[2]) == pytest.approx(query @ key, abs=6e-5)
        assert last_number(displayed[3]) == pytest.approx(
            query @ key / math.sqrt(len(query)), abs=6e-5
        )
        assert last_number(displayed[4]) == pytest.approx(
            trace.weights(kind, LAYER)[HEAD, row, column], abs=6e-5
        )
        checks = page.locator(".hu-check")
        for index, quantity in [(3, "q·k/√d_k"), (4, "softmax"), (5, "Σ α·v")]:
            expect(checks.nth(index)).to_contain_text(f"✓ {quantity} computed here")
        assert page.locator(".hu-differs").count() == 0

    name = HOOK_PREFIXES["cross"].format(LAYER) + "heads"
    changed = replace(
        trace, tensors={**trace.tensors, name: torch.as_tensor(trace.tensors[name]) + 0.5}
    )
    open_query_key(page, tmp_path, changed, row=2)
    expect(page.locator(".hu-check").nth(5)).to_contain_text("≠ Σ α·v")
    expect(page.locator(".hu-check").nth(5)).to_contain_text("5e-1")
    assert page.locator(".hu-differs").count() == 1

    open_query_key(page, tmp_path, trace, kind="decoder", row=0)
    queries, keys = (tokens(page, name) for name in ("Query", "Key"))
    selected = "[aria-checked=true]"

    def check_selected(row: int, column: int) -> None:
        assert last_number(titles(page)[2]) == pytest.approx(
            vectors(trace, "decoder", "query")[row] @ vectors(trace, "decoder", "key")[column],
            abs=6e-5,
        )
        for elements, position in ((queries, row), (keys, column)):
            assert (
                elements.get_by_role("radio").nth(position).get_attribute("aria-checked") == "true"
            )

    check_selected(0, 0)
    queries.locator(selected).focus()
    for key, row, column in [
        ("ArrowUp", 0, 0),
        ("ArrowDown", 1, 0),
        ("ArrowDown", 2, 0),
        ("ArrowRight", 2, 1),
    ]:
        page.keyboard.press(key)
        check_selected(row, column)
        expect(queries.locator(selected)).to_be_focused()
    queries.get_by_role("radio").nth(5).click()
    check_selected(5, int(trace.weights("decoder", LAYER)[HEAD, 5].argmax()))
    keys.get_by_role("radio").nth(3).click()
    check_selected(5, 3)

    open_query_key(page, tmp_path, trace, kind="decoder", row=2, column=4)
    assert "−∞" in titles(page)[4]
    expect(page.locator(".hu-work")).to_contain_text(
        f"{len(trace.tgt_tokens) - 3} keys get the score −∞"
    )
    assert page.locator(".hu-off").count() == len(trace.tgt_tokens) - 3

    trace = trace_with_score(vocabulary, "dot")
    displayed = titles(open_query_key(page, tmp_path, trace, row=2, column=1))
    assert last_number(displayed[2]) == pytest.approx(
        vectors(trace, "cross", "query")[2] @ vectors(trace, "cross", "key")[1], abs=6e-5
    )
    assert "itself" in displayed[3]
    expect(page.locator(".hu-check").nth(3)).to_contain_text("✓ q·k computed here")

    trace = trace_with_score(vocabulary, "additive")
    displayed = titles(open_query_key(page, tmp_path, trace, row=2, column=1))
    assert last_number(displayed[3]) == pytest.approx(
        vectors(trace, "cross", "scores")[2, 1], abs=6e-5
    )
    expect(page.locator(".hu-work")).to_contain_text("vᵀ·tanh(W q + U k)")
    page.locator(".hu-canvas").first.focus()
    page.keyboard.press("Shift+ArrowRight")
    hidden = np.tanh(vectors(trace, "cross", "query")[2, 0] + vectors(trace, "cross", "key")[1, 0])
    tooltip = page.locator(".hu-tip strong").first
    assert number(tooltip.inner_text()) == pytest.approx(hidden, abs=6e-5)
