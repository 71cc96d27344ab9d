"""The heatmap and the grid of heads as a file, compared with the data.

`tests/figures/scripts/matrix.test.js` checks merged words, combined heads, hidden tokens and scales
of colour.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import (
    PREDICTED,
    SRC,
    TGT,
    TRACE,
    cell_centres,
    colour_scale,
    head,
    open_explorer,
    pixels,
    tooltip_value,
    weights,
)


@pytest.mark.journey
def test_a_head_is_read_by_pointer_and_keyboard_and_coloured_by_its_weights(
    page: Page, tmp_path: Path
) -> None:
    open_explorer(page, tmp_path, TRACE, layer=1, head=2)
    title, canvas, tooltip = (page.locator(f".hu-{name}") for name in ("title", "canvas", "tip"))
    expect(title).to_have_text("Layer 2, head 3")
    expect(page.locator(".hu-code")).to_have_text('trace.weights("cross", layer=1)[2]')
    points = cell_centres(page, 5, 8)
    for row, column in [(0, 0), (2, 3), (4, 7)]:
        x, y = points[8 * row + column]
        canvas.hover(position={"x": x, "y": y})
        assert tooltip_value(page) == f"{head('cross', 1, 2)[row, column]:.4f}"
        expect(tooltip).to_contain_text(f"{TGT[row]} → {PREDICTED[row]}attends to {SRC[column]}")
    page.mouse.move(0, 0)
    expect(tooltip).to_be_hidden()
    x, y = points[8 * 3 + 2]
    canvas.click(position={"x": x, "y": y})  # pins the cell
    page.mouse.move(0, 0)
    assert float(tooltip_value(page)) == pytest.approx(head("cross", 1, 2)[3, 2], abs=1e-4)
    canvas.click(position={"x": x, "y": y})
    page.mouse.move(0, 0)
    expect(tooltip).to_be_hidden()

    page.get_by_role("radio", name="layer 2, head 3").focus()
    for key, layer, number in [
        ("ArrowRight", 1, 3),
        ("ArrowRight", 1, 3),
        ("ArrowDown", 2, 3),
        ("Home", 2, 0),
        ("ArrowUp", 1, 0),
        ("End", 1, 3),
    ]:
        page.keyboard.press(key)
        expect(title).to_have_text(f"Layer {layer + 1}, head {number + 1}")
        focused = page.get_by_role("radio", name=f"layer {layer + 1}, head {number + 1}")
        expect(focused).to_be_focused()
        expect(focused).to_be_checked()
    for _ in range(page.locator(".hu-controls :is(select, button):visible").count() + 1):
        page.keyboard.press("Tab")  # the options are between the thumbnails and the picture
    expect(canvas).to_be_focused()
    for key, row, column in [("ArrowDown", 0, 0), ("ArrowDown", 1, 0), ("ArrowRight", 1, 1)]:
        page.keyboard.press(key)
        assert tooltip_value(page) == f"{head('cross', 1, 3)[row, column]:.4f}"
    page.keyboard.press("Escape")
    expect(tooltip).to_be_hidden()

    page.get_by_role("radio", name="layer 3, head 1").click()
    expect(title).to_have_text("Layer 3, head 1")
    np.testing.assert_allclose(weights(page), head("cross", 2, 0), atol=6e-5)
    page.get_by_role("button", name="Decoder self-attention").click()
    expect(page.locator(".hu-code")).to_have_text('trace.weights("decoder", layer=2)[0]')
    expect(page.locator(".hu-data-table thead th")).to_have_count(7)
    displayed, expected = weights(page), head("decoder", 2, 0)
    future = np.triu(np.ones((5, 5), bool), 1)
    assert np.isnan(displayed[future]).all()
    np.testing.assert_allclose(displayed[~future], expected[~future], atol=6e-5)
    canvas.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(tooltip).to_contain_text("masked")
    expect(tooltip).to_contain_text("<s> → ▁r")

    open_explorer(page, tmp_path, TRACE, layer=1, head=1)
    expected = head("cross", 1, 1)
    points = cell_centres(page, 5, 8)
    before = pixels(page, points)
    levels = np.rint(255 * np.sqrt(expected)).astype(int).ravel()
    # Packing weights loses half a level, and colours are integers.
    assert np.abs(before - colour_scale(page)[levels]).max() <= 4
    special = page.get_by_role("combobox", name="Start and end")
    special.select_option("dimmed")
    after = pixels(page, points)
    ordinary = [i for i in range(40) if i % 8 != 7 and i // 8 != 4]
    assert (before[:, 3] == 255).all()
    np.testing.assert_array_equal(after[ordinary], before[ordinary])
    assert (np.delete(after, ordinary, axis=0)[:, 3] < 128).all()

    special.select_option("hidden")
    displayed = expected[:4, :7]  # "</s>" is the last output and the last source token
    # The bars are as long as the sums of the rows and the means of the columns.
    centres = np.array(cell_centres(page, 4, 7)).reshape(4, 7, 2)
    cell_width, cell_height = np.diff(centres[0, :, 0]).mean(), np.diff(centres[:, 0, 1]).mean()
    right, bottom = centres[0, -1, 0] + cell_width / 2, centres[-1, 0, 1] + cell_height / 2
    steps = np.arange(2, 46, 0.5)
    for sums, lines in (
        (displayed.sum(axis=1), [[(right + s, centres[r, 0, 1]) for s in steps] for r in range(4)]),
        (
            displayed.mean(axis=0),
            [[(centres[0, c, 0], bottom + s) for s in steps] for c in range(7)],
        ),
    ):
        lengths = np.array([(pixels(page, line)[:, 3] > 128).sum() / 2 for line in lines])
        assert lengths.max() > 25
        np.testing.assert_allclose(lengths / lengths.max(), sums / sums.max(), atol=0.05)
