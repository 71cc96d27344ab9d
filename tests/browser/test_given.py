"""Attention that other models computed, in every view: drawn, or what is missing said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.opened import opened
from transformer import Trace
from transformer.figures.views import EXPLORER

pytestmark = pytest.mark.browser
SRC = ["[CLS]", "un", "##seen", "<b>", "[SEP]"]
TGT = ["The", "Ġcat", "Ġsat", "Ġ<b>"]


def weights(rows: int, columns: int) -> list[np.ndarray]:
    return list(np.random.default_rng(5).dirichlet(np.ones(columns), size=(3, 2, rows)))


def causal(n: int) -> list[np.ndarray]:
    made = [np.tril(one) for one in weights(n, n)]
    return [one / one.sum(-1, keepdims=True) for one in made]


GIVEN = {
    "encoder": lambda: Trace.from_weights(SRC, encoder=weights(5, 5)),
    "decoder": lambda: Trace.from_weights(tgt_tokens=TGT, decoder=causal(4)),
    "deeper": lambda: Trace.from_weights(
        SRC, TGT, encoder=weights(5, 5), decoder=causal(4)[:1], cross=weights(4, 5)[:2]
    ),
    "both": lambda: Trace.from_weights(SRC, TGT, encoder=weights(5, 5), cross=weights(4, 5)),
}
MISSING = {
    "query-key": "The vectors of the heads are not in this file",
    "decoding": "How this text was written is not in this trace",
    "compare": "Choose something to compare with above",
}


@pytest.mark.parametrize("view", EXPLORER)
@pytest.mark.parametrize("kind", GIVEN)
def test_every_view_draws_it_or_says_what_is_missing(
    kind: str, view: str, page: Page, tmp_path: Path
) -> None:
    trace = GIVEN[kind]()
    opened(page, tmp_path, trace, view=view)
    body = page.locator("body")
    if view in MISSING:
        expect(body).to_contain_text(MISSING[view])
        return
    expect(page.locator(".hu-view canvas").first).to_be_visible()
    word = "cat" if kind == "decoder" else "unseen"
    page.get_by_role("button", name=word, exact=True).first.click()
    expect(body).to_contain_text("of its attention, in layer")


def test_a_kind_with_fewer_layers_is_looked_at_where_it_ends(page: Page, tmp_path: Path) -> None:
    last = {"kind": "encoder", "layer": 2, "head": 1, "exact": 0}
    opened(page, tmp_path, GIVEN["deeper"](), view="heads", **last)
    heading = page.get_by_role("heading", level=3)
    expect(heading).to_have_text("Layer 3, head 2")
    page.locator(".hu-kinds [data-kind=decoder]").click()
    expect(heading).to_have_text("Layer 1, head 2")
    page.get_by_role("tab", name="Model").click()
    expect(page.locator(".hu-view .hu-thumb")).to_have_count(2 * (3 + 1 + 2))
