"""The Model view: small pictures of all heads, sorted by a measure; `tests/figures/test_drawn.py`
checks the measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import (
    canvas_pixels,
    colour_scale,
    download_text,
    open_explorer,
    table,
)
from tests.figures.fake_traces import HOSTILE, fake_trace
from transformer.measures import KINDS
from transformer.measures.registry import measure_heads

LAYERS, HEADS = 3, 4
SRC = [*HOSTILE, "▁it", "</s>"]
TGT = ["<s>", "▁le", "<i>x</i>", "s", "▁la", "▁la"]
# Each token attends to the previous one, the first token to itself.
PREVIOUS_TOKEN = np.eye(len(SRC), k=-1, dtype=np.float32)
PREVIOUS_TOKEN[0, 0] = 1
ENCODER = np.random.default_rng(5).dirichlet(np.full(len(SRC), 0.4), (LAYERS, HEADS, len(SRC)))
ENCODER[1, 2] = PREVIOUS_TOKEN
TRACE = fake_trace(SRC, TGT, layers=LAYERS, heads=HEADS, encoder=ENCODER.astype(np.float32))
Numbers = npt.NDArray[np.float64]


def measured(kind: str, measure: str) -> Numbers:
    """Return a measure of all heads, (layers, heads)."""
    return np.stack([measure_heads(TRACE, kind, layer)[measure] for layer in range(LAYERS)])


def section(page: Page, kind: str) -> Locator:
    return page.locator(f".hu-model section[data-kind={kind}]")


def test_all_heads_are_drawn_sorted_and_exported(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, view="model", measure="entropy")
    colours = colour_scale(page)
    for kind in KINDS:
        assert section(page, kind).get_by_role("radio").count() == LAYERS * HEADS
        levels = np.rint(np.sqrt(TRACE.weights(kind, 1)[2]) * 255).astype(int)
        picture = section(page, kind).get_by_role("radio", name="layer 2, head 3")
        displayed = canvas_pixels(picture.locator("canvas"))
        if kind == "decoder":
            future = np.triu(np.ones(levels.shape, bool), 1)
            assert (displayed[future] == 0).all(), "a masked cell is coloured"
            displayed, levels = displayed[~future], levels[~future]
        np.testing.assert_array_equal(displayed, colours[levels])
    open_explorer(page, tmp_path, TRACE, view="model", measure="distance", kind="decoder")
    page.get_by_label("Order").select_option("measure")
    for kind in KINDS:
        order = np.argsort(-measured(kind, "distance").ravel(), kind="stable")
        names = [f"L{i // HEADS + 1}·H{i % HEADS + 1}" for i in order]
        expect(section(page, kind).locator(".hu-head-name")).to_have_text(names)
    # The arrow keys follow the displayed order.
    buttons = section(page, "encoder").get_by_role("radio")
    buttons.nth(5).focus()
    page.keyboard.press("ArrowRight")
    expect(buttons.nth(6)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(buttons.nth(10)).to_be_checked()

    page.get_by_label("Number below each head").select_option("last")
    names, rows = table(page)
    assert len(rows) == len(KINDS) * LAYERS * HEADS
    for kind in KINDS:
        kind_rows = [row for row in rows if row[0] == kind]
        values = [float(row[names.index("last")]) for row in kind_rows]
        assert values == sorted(values, reverse=True)
        # Cross-attention has no such measure, as its keys are another text.
        is_empty = [row[names.index("previous")] == "" for row in kind_rows]
        assert all(is_empty) if kind == "cross" else not any(is_empty)
    page.get_by_label("Number below each head").select_option("positional")
    svg = download_text(page, "SVG")
    assert svg.count("<image") == len(KINDS) * LAYERS * HEADS
    for text in ("Cross-attention", ">1.00<", ">L2·H3<", ">−1<"):
        assert text in svg
