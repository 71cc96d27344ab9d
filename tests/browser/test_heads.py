"""The Heads view: tokens and heads are selected, read and drawn in their colours.

`tests/figures/scripts/matrix.test.js` checks the lines, and means and sums over pinned tokens.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.heads_page import (
    SRC,
    TGT,
    TOLERANCE,
    TRACE,
    check_readout,
    open_heads_view,
    option,
    point,
    readout_weights,
    state,
)
from tests.figures.fake_traces import fake_trace

# Count the pixels of exactly this colour in each row of the picture of lines.
COUNT_PIXELS = """(colour) => {
  const canvas = document.querySelector(".hu-lines");
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const [r, g, b] = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  return Array.from({ length: canvas.height }, (_, y) => {
    let count = 0;
    for (let i = 4 * y * canvas.width; i < 4 * (y + 1) * canvas.width; i += 4) {
      count += data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255;
    }
    return count;
  });
}"""


def drawn_colours(page: Page) -> set[int]:
    """Return the indices of the heads' colours that the picture contains."""
    series = page.evaluate("view.ctx.theme.series")
    return {
        index
        for index, colour in enumerate(series)
        if sum(page.evaluate(COUNT_PIXELS, colour)) > 50
    }


def test_heads_and_tokens_are_selected_and_drawn_in_their_colours(
    page: Page, new_page: NewPage, tmp_path: Path
) -> None:
    open_heads_view(page, tmp_path)
    weights = TRACE.weights("cross", 1)[2]
    check_readout(page, "Hover over a token")
    for side, index, texts, values in (
        ("q", 3, SRC, weights[3]),
        ("k", 6, TGT, weights[:, 6]),
    ):
        point(page, side, index)
        order = np.argsort(-values)[:3]
        check_readout(
            page, "son → ▁est" if side == "q" else "gets most attention from", texts[order[0]]
        )
        assert readout_weights(page) == pytest.approx(values[order], abs=TOLERANCE)
    assert page.locator(".hu-lines").evaluate("(node) => node.style.opacity") == "0.1"
    page.mouse.move(0, 0)
    check_readout(page, "Hover over a token")
    assert page.locator(".hu-lines").evaluate("(node) => node.style.opacity") == "1"
    assert state(page, "tokens") == ""

    page.locator(".hu-canvas").focus()
    for key, token in [
        ("ArrowDown", "<s>"),
        ("ArrowDown", "▁la"),
        ("End", "▁la"),
        ("ArrowDown", "▁la"),
        ("ArrowUp", "▁est"),
    ]:
        page.keyboard.press(key)
        expect(page.locator(".hu-reading strong")).to_contain_text(f"{token} → ")
    page.keyboard.press("Enter")
    assert state(page, "tokens") == "q4"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    check_readout(page, "attends to </s>")
    assert readout_weights(page) == pytest.approx([weights[4, 6]], abs=TOLERANCE)
    page.keyboard.press("Escape")
    assert state(page, "tokens") == ""
    check_readout(page, "Hover over a token")
    chip = page.get_by_role("button", name="layer 2, head 4")
    chip.focus()
    page.keyboard.press("Space")
    assert state(page, "heads") == "1.2,1.3"
    expect(chip).to_be_focused()
    chip.press("Space")
    assert state(page, "heads") == ""

    page.get_by_role("button", name="all of layer 2").click()
    expect(page.locator(".hu-title")).to_have_text("Layer 2, all heads")
    expect(page.locator(".hu-code")).to_have_text('trace.weights("cross", layer=1)')
    point(page, "q", 1, click=True)
    point(page, "q", 4, click=True)
    assert state(page, "tokens") == "q1,q4"
    weights = TRACE.weights("cross", 1)
    check_readout(page, "▁la → ▁mai attends most to", "▁est → ▁la attends most to")
    point(page, "k", 4)
    check_readout(page, "▁la → ▁mai, ▁est → ▁la attend to ▁the, mean of 2: ", "L2·H4")
    expected = weights[:, [1, 4], 4].mean(axis=1)
    assert readout_weights(page) == pytest.approx(expected, abs=2 * TOLERANCE)
    point(page, "q", 4, click=True)
    assert state(page, "tokens") == "q1"
    point(page, "q", 1, click=True)
    point(page, "k", 2, click=True)
    point(page, "k", 5, click=True)
    assert state(page, "tokens") == "k2,k5"
    page.get_by_role("button", name="Unpin").click()
    assert state(page, "tokens") == ""
    expect(page.get_by_role("button", name="Unpin")).to_be_hidden()

    # Each head attends to a single token, its own: all lines have weight 1 and are opaque.
    one_hot = np.zeros((3, 4, 6, 7), np.float32)
    for head in range(4):
        one_hot[:, head, np.arange(6), head] = 1
    trace = fake_trace(SRC, TGT, cross=one_hot)
    dark = open_heads_view(new_page(scheme="dark"), tmp_path, trace)
    assert drawn_colours(dark) == {2}  # the colour with the head's index
    page = open_heads_view(new_page(), tmp_path, trace)
    chip = page.get_by_role("button", name="layer 2, head", exact=False)
    expect(chip).to_have_count(4)
    assert drawn_colours(page) == {2}
    chip.nth(0).click()
    assert state(page, "heads") == "1.2,1.0"
    assert drawn_colours(page) == {0, 2}  # a head keeps its colour when another is added
    stroke = page.evaluate("view.ctx.theme.series[0]")
    expect(chip.nth(0).locator("line")).to_have_attribute("stroke", stroke)
    option(page, "Heads of layer").select_option("3")
    page.get_by_role("button", name="layer 3, head 4").click()
    expect(page.locator(".hu-title")).to_have_text("3 heads: L2·H3, L2·H1, L3·H4")
    for name in ("layer 2, head 3", "layer 2, head 1", "layer 3, head 4"):
        page.get_by_role("button", name=name).click()
    assert state(page, "heads") == "none"
    expect(page.locator(".hu-empty")).to_contain_text("No head is selected. Choose one")
    expect(page.locator(".hu-canvas")).to_be_hidden()
    # A click in the grid selects only this head.
    page.get_by_role("radio", name="layer 1, head 2").click()
    assert (state(page, "heads"), state(page, "layer"), state(page, "head")) == ("", 0, 1)
    expect(page.locator(".hu-title")).to_have_text("Layer 1, head 2")
    expect(page.locator(".hu-canvas")).to_be_visible()
