"""Traces of other models: every view draws them or says what they lack."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import open_explorer
from transformer import Trace
from transformer.figures.views import EXPLORER

SRC = ["[CLS]", "un", "##seen", "<b>", "[SEP]"]
TGT = ["The", "Ġcat", "Ġsat", "Ġ<b>"]
MISSING = {
    "query-key": "This file does not contain the vectors of the heads",
    "decoding": "its decoding steps are unknown",
    "compare": "Choose something to compare with above",
}


def weights(rows: int, columns: int) -> list[np.ndarray]:
    return list(np.random.default_rng(5).dirichlet(np.ones(columns), size=(3, 2, rows)))


def causal(n: int) -> list[np.ndarray]:
    lower = [np.tril(matrix) for matrix in weights(n, n)]
    return [matrix / matrix.sum(-1, keepdims=True) for matrix in lower]


TRACES = {
    "encoder": lambda: Trace.from_weights(SRC, encoder=weights(5, 5)),
    "decoder": lambda: Trace.from_weights(tgt_tokens=TGT, decoder=causal(4)),
    "fewer decoder layers": lambda: Trace.from_weights(
        SRC, TGT, encoder=weights(5, 5), decoder=causal(4)[:1], cross=weights(4, 5)[:2]
    ),
    "encoder and cross": lambda: Trace.from_weights(
        SRC, TGT, encoder=weights(5, 5), cross=weights(4, 5)
    ),
}


def test_every_view_draws_the_trace_or_says_what_it_lacks(page: Page, tmp_path: Path) -> None:
    body = page.locator("body")
    for kind, make_trace in TRACES.items():
        open_explorer(page, tmp_path, make_trace(), view="heads", exact=0)
        for view in EXPLORER:
            page.locator(f".hu-tabs [data-view={view}]").click()
            if view in MISSING:
                expect(body).to_contain_text(MISSING[view])
                continue
            expect(page.locator(".hu-view canvas").first).to_be_visible()
            word = page.get_by_role(
                "button", name="cat" if kind == "decoder" else "unseen", exact=True
            )
            word.first.click()
            pinned = page.locator(".hu-pinned")
            expect(pinned).to_be_visible()
            expect(pinned).to_contain_text("of its attention, in layer")
            word.first.click()  # unpins it
            expect(pinned).to_be_hidden()

    selected = {"kind": "encoder", "layer": 2, "head": 1, "exact": 0}
    open_explorer(page, tmp_path, TRACES["fewer decoder layers"](), view="heads", **selected)
    heading = page.locator(".hu-title")
    expect(heading).to_have_text("Layer 3, head 2")
    page.locator(".hu-kinds [data-kind=decoder]").click()
    expect(heading).to_have_text("Layer 1, head 2")
    page.get_by_role("tab", name="Model").click()
    expect(page.locator(".hu-view .hu-thumb")).to_have_count(2 * (3 + 1 + 2))
