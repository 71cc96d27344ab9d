"""Two sentences compared: every cell's difference, its colours, and what one of them lacks.

`tests/figures/scripts/compare.test.js` checks how tokens are aligned.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.comparison_traces import (
    AXIS_PAIRS,
    HEADS,
    LAYERS,
    SRC_A,
    SRC_PAIRS,
    TGT_A,
    TGT_PAIRS,
    A,
    B,
    canvas,
    cells,
    difference,
)
from tests.browser.explorer_file import Numbers, bounding_box, download_text, open_explorer, table
from tests.figures.fake_traces import fake_trace


def tooltip(page: Page, position: int) -> Locator:
    return page.locator(".hu-panels .hu-tip").nth(position)


def colours(page: Page, scale: int) -> Numbers:
    """Return the colours of a legend: 0 for weights, 1 for differences."""
    values = (
        page.locator(".hu-legends .hu-scale")
        .nth(scale)
        .evaluate("(node) => [...node.getContext('2d').getImageData(0, 0, 256, 1).data]")
    )
    return np.array(values, float).reshape(256, 4)


def check_table(page: Page, kind: str) -> None:
    """Check that the table has every cell of both traces, and its difference."""
    names, rows = table(page)
    column_by_name = {name: names.index(name) for name in names}
    a, b = (side.weights(kind, 1)[2] for side in (A, B))
    assert len(rows) == len(cells(kind))
    for row, (cell_a, cell_b) in zip(rows, cells(kind), strict=True):
        for name, w, cell in (("A", a, cell_a), ("B", b, cell_b)):
            text = row[column_by_name[name]]
            assert float(text) == pytest.approx(w[cell], abs=1e-4) if cell else text == ""
        if cell_a and cell_b:
            displayed = float(row[column_by_name["B − A"]])
            assert displayed == pytest.approx(b[cell_b] - a[cell_a], abs=2e-4)
        else:
            assert row[column_by_name["B − A"]] == ""


def check_ranking(page: Page, kind: str) -> None:
    """Check the heads that differ most, and their mean difference."""
    means = {
        (layer, head): abs(difference(kind, layer, head)).mean()
        for layer in range(LAYERS)
        for head in range(HEADS)
    }
    buttons = page.locator(".hu-most .hu-button")
    expect(buttons).to_have_count(8)
    expect(page.locator(".hu-most p")).to_contain_text("12 of 12 heads differ")
    displayed_means = []
    for text in buttons.all_inner_texts():
        name, value = text.split()
        layer, head = (int(number) - 1 for number in re.findall(r"\d+", name))
        displayed_means.append(float(value))
        assert displayed_means[-1] == pytest.approx(means[layer, head], abs=2e-3)
    assert displayed_means == sorted(displayed_means, reverse=True)
    assert displayed_means[0] == pytest.approx(max(means.values()), abs=2e-3)


def check_differences_drawn(page: Page, scale: str) -> None:
    """Check that the colour of each difference is that of the legend, at twelve points."""
    expected = colours(page, 1)
    limit = abs(difference("encoder", 0, 0)).max()
    ticks = page.locator(".hu-legends .hu-ticks").nth(1).locator("span").all_inner_texts()
    assert (ticks[0], ticks[-1]) == (f"−{limit:.2f}", f"+{limit:.2f}")
    box = bounding_box(canvas(page, 2))
    n_checked = 0
    for share in np.linspace(0.45, 0.95, 12):
        point = {"x": share * box["width"], "y": share * box["height"]}
        canvas(page, 2).hover(position=point)  # type: ignore[arg-type]
        if not tooltip(page, 2).is_visible():
            continue
        text = tooltip(page, 2).locator("strong").inner_text().removeprefix("B − A ")
        pixel = canvas(page, 2).evaluate(
            """(canvas, [x, y]) => {
              const ratio = canvas.width / canvas.clientWidth;
              const copy = new OffscreenCanvas(1, 1);
              const pen = copy.getContext("2d");
              pen.drawImage(canvas, -Math.floor(x * ratio), -Math.floor(y * ratio));
              return [...pen.getImageData(0, 0, 1, 1).data];
            }""",
            [point["x"], point["y"]],
        )
        if text == "none":
            assert pixel not in expected.tolist()
            continue
        relative = float(text.replace("−", "-")) / limit
        size = np.sqrt(abs(relative)) if scale == "sqrt" else abs(relative)
        level = 127.5 + 127.5 * np.sign(relative) * size
        neighbours = expected[int(max(level - 2, 0)) : int(level) + 4]
        is_edge = abs(neighbours - pixel).max(axis=1).min() > 1  # not the colour of one cell
        n_checked += not is_edge
    assert n_checked >= 4


def test_two_sentences_are_compared_in_every_cell_head_and_colour(
    page: Page, tmp_path: Path
) -> None:
    for kind in AXIS_PAIRS:
        open_explorer(page, tmp_path, A, B, view="compare", kind=kind, layer=1, head=2)
        check_table(page, kind)
        check_ranking(page, kind)
    buttons = page.locator(".hu-most .hu-button")
    numbers = re.findall(r"\d+", buttons.nth(1).inner_text().split()[0])
    buttons.nth(1).click()
    expect(page.locator(".hu-title")).to_have_text("Layer {}, head {}".format(*numbers))
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(buttons.nth(1)).to_be_focused()
    head_button = page.get_by_role("radio", name="layer {}, head {}".format(*numbers))
    expect(head_button).to_be_checked()
    head_button.press("Home")
    expect(page.locator(".hu-title")).to_contain_text("head 1")
    svg = download_text(page, "SVG")
    for text in (">A<", ">B<", ">B − A<", "will (B)"):
        assert text in svg
    layer = int(numbers[0]) - 1
    limit = f"{abs(difference('cross', layer, 0)).max():.2f}"
    assert re.search(rf">\+{limit}<", svg)
    assert re.search(rf">−{limit}<", svg)
    cross = np.stack([A.weights("cross", layer) for layer in range(LAYERS)])
    cross[1, [0, 3]] = B.weights("cross", 1)[0, : len(TGT_A), :1]
    changed = fake_trace(SRC_A, TGT_A, layers=LAYERS, heads=HEADS, cross=cross)
    open_explorer(page, tmp_path, A, changed, view="compare", kind="cross")
    expect(page.locator(".hu-most p")).to_contain_text("2 of 12 heads differ")
    expect(buttons).to_have_count(2)

    open_explorer(page, tmp_path, A, B, view="compare", kind="encoder", scale="linear")
    check_differences_drawn(page, "linear")
    page.emulate_media(color_scheme="dark")
    open_explorer(page, tmp_path, A, B, view="compare", kind="encoder", scale="sqrt")
    check_differences_drawn(page, "sqrt")

    open_explorer(page, tmp_path, A, B, view="compare", kind="cross")
    expected = colours(page, 1)
    shape = (
        sum(None not in pair for pair in TGT_PAIRS),
        sum(None not in pair for pair in SRC_PAIRS),
    )

    def rounded_difference(layer: int, head: int) -> Numbers:
        """Return B − A of weights rounded to one byte, as in the small pictures."""
        a, b = (
            (np.rint(np.sqrt(side.weights("cross", layer)[head]) * 255) / 255) ** 2
            for side in (A, B)
        )
        return np.array(
            [
                [b[j, m] - a[i, k] for k, m in SRC_PAIRS if k is not None and m is not None]
                for i, j in TGT_PAIRS
                if i is not None and j is not None
            ],
            float,
        )

    all_heads = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    limit = max(abs(rounded_difference(*layer_and_head)).max() for layer_and_head in all_heads)
    for layer, head in [(0, 0), (2, 3)]:
        picture = page.get_by_role("radio", name=f"layer {layer + 1}, head {head + 1}").locator(
            "canvas"
        )
        pixels = np.array(
            picture.evaluate(
                """(canvas) => {
                  const copy = new OffscreenCanvas(canvas.width, canvas.height);
                  const pen = copy.getContext("2d");
                  pen.drawImage(canvas, 0, 0);
                  return [...pen.getImageData(0, 0, copy.width, copy.height).data];
                }"""
            ),
            float,
        ).reshape(*shape, 4)
        values = rounded_difference(layer, head)
        levels = 127.5 + 127.5 * np.sign(values) * np.sqrt(abs(values) / limit)
        # Halves may be rounded up or down.
        low, high = (
            expected[np.clip(levels + shift, 0, 255).round().astype(int)] for shift in (-0.6, 0.6)
        )
        assert (pixels >= np.minimum(low, high) - 1).all()
        assert (pixels <= np.maximum(low, high) + 1).all()
