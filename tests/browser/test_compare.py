"""Two sentences compared: every cell's difference, its colours, and what one of them lacks.

`tests/figures/scripts/compare.test.js` checks how tokens are aligned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import Numbers, bounding_box, download_text, open_explorer, table
from tests.figures.fake_traces import HOSTILE, FakeTrace, fake_trace

LAYERS, HEADS = 3, 4
Pairs = list[tuple[int | None, int | None]]

# The pairs are written by hand as positions in A and B; the view gets them from `align`.
SRC_A = [*HOSTILE, "▁stay", ",", "</s>"]
SRC_B = [HOSTILE[0], *HOSTILE[2:], "▁will", "▁stay", "</s>"]
COMMON_HOSTILE: Pairs = [(i, i - 1) for i in range(2, 7)]
SRC_PAIRS: Pairs = [(0, 0), (1, None), *COMMON_HOSTILE, (None, 6), (7, 7), (8, None), (9, 8)]
TGT_A = ["<s>", "▁le", "s", "▁chat", "▁noir"]
TGT_B = ["<s>", "▁le", "▁chat", "▁noir", "▁dort"]
TGT_PAIRS: Pairs = [(0, 0), (1, 1), (2, None), (3, 2), (4, 3), (None, 4)]


def random_trace(seed: int, src: Sequence[str], tgt: Sequence[str]) -> FakeTrace:
    rng = np.random.default_rng(seed)

    def weights(rows: int, columns: int) -> npt.NDArray[np.float32]:
        return rng.dirichlet(np.full(columns, 2.0), (LAYERS, HEADS, rows)).astype(np.float32)

    decoder = np.tril(weights(len(tgt), len(tgt)) + np.float32(1e-3))
    return fake_trace(
        src,
        tgt,
        layers=LAYERS,
        heads=HEADS,
        encoder=weights(len(src), len(src)),
        decoder=decoder / decoder.sum(-1, keepdims=True),
        cross=weights(len(tgt), len(src)),
    )


A, B = random_trace(1, SRC_A, TGT_A), random_trace(2, SRC_B, TGT_B)
AXIS_PAIRS = {
    "encoder": (SRC_PAIRS, SRC_PAIRS),
    "decoder": (TGT_PAIRS, TGT_PAIRS),
    "cross": (TGT_PAIRS, SRC_PAIRS),
}


def cells(kind: str) -> list[tuple[tuple[int, int] | None, tuple[int, int] | None]]:
    """Return the cells of both pictures, row by row: the position in A and in B, None if absent."""

    def position(row: int | None, column: int | None) -> tuple[int, int] | None:
        if row is None or column is None or (kind == "decoder" and column > row):
            return None
        return row, column

    rows, columns = AXIS_PAIRS[kind]
    all_cells = [(position(i, k), position(j, m)) for i, j in rows for k, m in columns]
    return [cell for cell in all_cells if cell != (None, None)]


def difference(kind: str, layer: int, head: int) -> Numbers:
    """Return B − A in the cells that both have, row by row."""
    a, b = (side.weights(kind, layer)[head].astype(np.float64) for side in (A, B))
    return np.array([b[cell_b] - a[cell_a] for cell_a, cell_b in cells(kind) if cell_a and cell_b])


def canvas(page: Page, position: int) -> Locator:
    return page.locator(".hu-panels .hu-canvas").nth(position)


def tooltip(page: Page, position: int) -> Locator:
    return page.locator(".hu-panels .hu-tip").nth(position)


PIXELS = """(canvas, point) => {
  const ratio = canvas.width / canvas.clientWidth;
  const [width, height] = point ? [1, 1] : [canvas.width, canvas.height];
  const [x, y] = point ? point.map((value) => Math.floor(value * ratio)) : [0, 0];
  const copy = new OffscreenCanvas(width, height);
  const pen = copy.getContext("2d");
  pen.drawImage(canvas, -x, -y);
  return [...pen.getImageData(0, 0, width, height).data];
}"""
"""Return the pixel at a point in CSS pixels, or all pixels, from a copy of the canvas."""


def pixels(picture: Locator, *point: float) -> Numbers:
    return np.array(picture.evaluate(PIXELS, list(point) or None), float).reshape(-1, 4)


def differences_of(page: Page, colours: Numbers, limit: float, *, linear: bool = False) -> Numbers:
    """Return the differences that have these colours in the legend; NaN for any other colour."""
    legend = pixels(page.locator(".hu-legends .hu-scale").nth(1))[:256]
    distances = abs(colours[:, None] - legend).max(axis=2)
    shares = distances.argmin(axis=1) / 127.5 - 1
    values = shares if linear else np.sign(shares) * shares**2
    return np.where(distances.min(axis=1) <= 1, limit * values, np.nan)


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


def check_large_picture(page: Page, scale: str) -> None:
    """Check the colours of the differences at twelve points against their numbers."""
    limit = abs(difference("encoder", 0, 0)).max()
    ticks = page.locator(".hu-legends .hu-ticks").nth(1).locator("span").all_inner_texts()
    assert (ticks[0], ticks[-1]) == (f"−{limit:.2f}", f"+{limit:.2f}")
    box, n_checked = bounding_box(canvas(page, 2)), 0
    for share in np.linspace(0.45, 0.95, 12):
        x, y = share * box["width"], share * box["height"]
        canvas(page, 2).hover(position={"x": x, "y": y})
        if not tooltip(page, 2).is_visible():
            continue
        text = tooltip(page, 2).locator("strong").inner_text().removeprefix("B − A ")
        pixel = pixels(canvas(page, 2), x, y)
        (drawn,) = differences_of(page, pixel, limit, linear=scale == "linear")
        if text == "none":
            assert np.isnan(drawn), "a cell that only one of them has is coloured"
        elif not np.isnan(drawn):  # not the edge of a cell
            assert drawn == pytest.approx(float(text.replace("−", "-")), abs=0.02 * limit)
            n_checked += 1
    assert n_checked >= 4


def check_small_pictures(page: Page) -> None:
    """Check the differences that the small pictures show, on one scale for all heads."""
    limit = max(abs(difference("cross", *head)).max() for head in np.ndindex(LAYERS, HEADS))
    for layer, head in [(0, 0), (2, 3)]:
        picture = page.get_by_role("radio", name=f"layer {layer + 1}, head {head + 1}")
        drawn = differences_of(page, pixels(picture.locator("canvas")), limit)
        np.testing.assert_allclose(drawn, difference("cross", layer, head), atol=0.03 * limit)


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
    check_large_picture(page, "linear")
    page.emulate_media(color_scheme="dark")
    open_explorer(page, tmp_path, A, B, view="compare", kind="encoder", scale="sqrt")
    check_large_picture(page, "sqrt")
    open_explorer(page, tmp_path, A, B, view="compare", kind="cross")
    check_small_pictures(page)
