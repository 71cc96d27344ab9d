"""The Model view: small pictures of all heads with a measure, as computed with numpy; a click
enlarges one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import (
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


def weights(kind: str) -> Numbers:
    return np.stack([TRACE.weights(kind, layer) for layer in range(LAYERS)]).astype(np.float64)


def measured(kind: str, measure: str) -> Numbers:
    """Return a measure of all heads, (layers, heads)."""
    return np.stack([measure_heads(TRACE, kind, layer)[measure] for layer in range(LAYERS)])


def section(page: Page, kind: str) -> Locator:
    return page.locator(f".hu-model section[data-kind={kind}]")


def head(page: Page, kind: str, layer: int, number: int) -> Locator:
    return section(page, kind).get_by_role("radio", name=f"layer {layer + 1}, head {number + 1}")


def thumbnail_pixels(picture: Locator) -> Numbers:
    """Return the pixels of a small picture, (height, width, 4)."""
    height, width, data = picture.locator("canvas").evaluate(
        """(canvas) => {
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const pen = copy.getContext("2d", { willReadFrequently: true });
          pen.drawImage(canvas, 0, 0);
          const { data } = pen.getImageData(0, 0, copy.width, copy.height);
          return [copy.height, copy.width, [...data]];
        }"""
    )
    return np.array(data, float).reshape(height, width, 4)


def test_all_heads_are_measured_sorted_and_exported(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, view="model", measure="entropy")
    colours = colour_scale(page)
    for kind in KINDS:
        assert section(page, kind).get_by_role("radio").count() == LAYERS * HEADS
        for layer, number in [(0, 0), (1, 2), (2, 3)]:
            levels = np.rint(np.sqrt(weights(kind)[layer, number]) * 255).astype(int)
            displayed = thumbnail_pixels(head(page, kind, layer, number))
            if kind == "decoder":
                future = np.triu(np.ones(levels.shape, bool), 1)
                assert (displayed[future] == 0).all()
                displayed, levels = displayed[~future], levels[~future]
            np.testing.assert_array_equal(displayed, colours[levels])
    for name in ("entropy", "first"):
        page.get_by_label("Number below each head").select_option(name)
        all_values = []
        for kind in KINDS:
            chips = section(page, kind).locator(".hu-chip-value").all_inner_texts()
            expected = measured(kind, name).ravel()
            np.testing.assert_allclose([float(text) for text in chips], expected, atol=0.0051)
            all_values.append(expected)
        expect(page.locator(".hu-chip-value")).to_have_count(LAYERS * HEADS * len(KINDS))
        caption = page.locator(".hu-model .hu-legend strong").inner_text()
        assert [float(word) for word in caption.split() if word[0].isdigit()] == pytest.approx(
            [np.min(all_values), np.max(all_values)], abs=0.0051
        )

    open_explorer(page, tmp_path, TRACE, view="model", measure="distance", kind="decoder")
    page.get_by_label("Order").select_option("measure")
    for kind in KINDS:
        order = np.argsort(-measured(kind, "distance").ravel(), kind="stable")
        names = [f"L{i // HEADS + 1}·H{i % HEADS + 1}" for i in order]
        expect(section(page, kind).locator(".hu-head-name")).to_have_text(names)
        first = section(page, kind).get_by_role("radio").first
        layer, number = divmod(int(order[0]), HEADS)
        expect(first).to_have_attribute("aria-label", f"layer {layer + 1}, head {number + 1}")
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
    last = names.index("last")
    for kind in KINDS:
        kind_rows = [row for row in rows if row[0] == kind]
        assert [float(row[last]) for row in kind_rows] == sorted(
            [float(row[last]) for row in kind_rows], reverse=True
        )
        for row in kind_rows:
            layer, number = int(row[1]), int(row[2])
            for name, measure in (("entropy (bits)", "entropy"), ("first", "first")):
                expected = measured(kind, measure)[layer, number]
                assert float(row[names.index(name)]) == pytest.approx(expected, abs=1e-4)
        # Cross-attention has no such measure, as its keys are another text.
        is_empty = [row[names.index("previous")] == "" for row in kind_rows]
        assert all(is_empty) if kind == "cross" else not any(is_empty)
    page.get_by_label("Number below each head").select_option("positional")
    svg = download_text(page, "SVG")
    assert svg.count("<image") == len(KINDS) * LAYERS * HEADS
    for text in ("Cross-attention", ">1.00<", ">L2·H3<", ">−1<"):
        assert text in svg
