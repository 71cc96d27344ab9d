"""The Heads view as a picture: lines and colours, exports, long sentences, phones."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.explorer_file import download_text
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
from tests.figures.fake_traces import HOSTILE, fake_trace

pytestmark = pytest.mark.browser


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_selected_heads_are_drawn_in_their_colours(
    new_page: NewPage, tmp_path: Path, scheme: str
) -> None:
    # Each head attends to a single token, its own: all lines have weight 1 and are opaque.
    one_hot = np.zeros((3, 4, 6, 7), np.float32)
    for head in range(4):
        one_hot[:, head, np.arange(6), head] = 1
    page = open_heads_view(new_page(scheme=scheme), tmp_path, fake_trace(SRC, TGT, cross=one_hot))
    chip = page.get_by_role("button", name="layer 2, head", exact=False)
    expect(chip).to_have_count(4)
    assert drawn_colours(page) == {2}  # the colour with the head's index
    chip.nth(0).click()
    assert state(page, "heads") == "1.2,1.0"
    assert drawn_colours(page) == {0, 2}  # a head keeps its colour when another is added
    stroke = page.evaluate("view.ctx.theme.series[0]")
    expect(chip.nth(0).locator("line")).to_have_attribute("stroke", stroke)
    option(page, "Heads of layer").select_option("3")
    assert state(page, "heads") == "1.2,1.0"
    expect(page.get_by_role("button", name="layer 2, head 1")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name="layer 3, head 4").click()
    assert state(page, "heads") == "1.2,1.0,2.3"
    expect(page.locator(".hu-title")).to_have_text("3 heads: L2·H3, L2·H1, L3·H4")
    assert drawn_colours(page) == {0, 2, 3}
    page.get_by_role("button", name="layer 2, head 3").click()
    assert state(page, "heads") == "1.0,2.3"
    # A click in the grid selects only this head.
    page.get_by_role("radio", name="layer 1, head 2").click()
    assert (state(page, "heads"), state(page, "layer"), state(page, "head")) == ("", 0, 1)
    expect(page.locator(".hu-title")).to_have_text("Layer 1, head 2")


def test_without_a_selected_head_the_view_says_what_to_do(heads: Page) -> None:
    heads.get_by_role("button", name="layer 2, head 3").click()
    assert state(heads, "heads") == "none"
    expect(heads.locator(".hu-empty")).to_contain_text("No head is selected. Choose one")
    expect(heads.locator(".hu-canvas")).to_be_hidden()
    heads.get_by_role("button", name="layer 2, head 4").click()
    assert state(heads, "heads") == "1.3"
    expect(heads.locator(".hu-canvas")).to_be_visible()
    heads.get_by_role("button", name="only H3").click()
    assert state(heads, "heads") == ""


def test_heads_that_reuse_a_colour_have_dashed_lines(page: Page, tmp_path: Path) -> None:
    one_hot = np.zeros((1, 10, 6, 7), np.float32)
    one_hot[:, :, 1:5, 6] = 1e-3
    one_hot[0, 0, 0, 0] = one_hot[0, 8, 5, 5] = 1  # horizontal lines, at the top and further down
    names = ",".join(f"0.{head}" for head in range(9))
    open_heads_view(
        page,
        tmp_path,
        fake_trace(SRC, TGT, layers=1, heads=10, cross=one_hot),
        layer=0,
        heads=names,
    )
    rows = page.evaluate(COUNT_PIXELS, page.evaluate("view.ctx.theme.series[0]"))
    middle = len(rows) // 2
    solid, dashed = max(rows[:middle]), max(rows[middle:])
    assert 0.4 * solid < dashed < 0.8 * solid
    expect(page.get_by_role("button", name="layer 1, head 9, dashed")).to_be_visible()
    assert (
        page.locator(".hu-headchip[data-head='0.0'] line").get_attribute("stroke-dasharray") == ""
    )
    expect(page.locator(".hu-legend")).to_contain_text("Dashed lines reuse a colour")


def test_the_export_equals_the_drawing(page: Page, tmp_path: Path) -> None:
    trace = fake_trace(HOSTILE, HOSTILE)
    open_heads_view(page, tmp_path, trace, kind="encoder", heads="1.2,0.3")
    rows = list(csv.DictReader(io.StringIO(download_text(page, "Table (CSV)"), newline="")))
    assert len(rows) == 2 * 49
    for number, (layer, head) in enumerate([(1, 2), (0, 3)]):
        head_rows = rows[49 * number : 49 * (number + 1)]
        assert {(row["layer"], row["head"]) for row in head_rows} == {(str(layer), str(head))}
        weights = [float(row["weight"]) for row in head_rows]
        expected = trace.weights("encoder", layer)[head].ravel()
        assert weights == pytest.approx(expected, abs=TOLERANCE)
    assert [row["key"].lstrip("'") for row in rows[:7]] == HOSTILE
    svg = download_text(page, "Vector image (SVG)")
    curves = re.findall(r'<path d="M[^"]*C[^"]*"[^>]*stroke="(#\w+)"', svg)
    n_drawn = sum((trace.weights("encoder", la)[he] > 1e-8).sum() for la, he in [(1, 2), (0, 3)])
    assert abs(len(curves) - n_drawn) <= 4  # the smallest weights are packed to 0
    assert len(set(curves)) == 2
    assert svg.count("&lt;b&gt;bold&lt;/b&gt;</text>") == 2
    assert svg.count(">the</text>") == 4
    page.locator(".hu-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert (
        len(list(csv.reader(io.StringIO(download_text(page, "Table (CSV)"), newline=""))))
        == 1 + 2 * 7
    )


def test_a_long_sentence_draws_the_strongest_lines_and_lists_all(
    page: Page, tmp_path: Path
) -> None:
    n = 200
    weights = np.random.default_rng(0).dirichlet(np.full(n, 2), (1, 2, n)).astype(np.float32)
    tokens = [f"▁w{i}" for i in range(n)]
    open_heads_view(
        page,
        tmp_path,
        fake_trace(tokens, tokens, layers=1, heads=2, kinds=["encoder"], encoder=weights),
        kind="encoder",
        layer=0,
        head=1,
    )
    legend = page.locator(".hu-legend")
    expect(legend).to_contain_text(f"{n * n - 4000:,} weaker lines with weights up to")
    match = re.search(r"weights up to ([\d.]+) are not drawn", legend.inner_text())
    assert match
    threshold = np.sort(weights[0, 1].ravel())[-4001]
    assert float(match[1]) == pytest.approx(threshold, rel=0.06)
    for row in (0, 120, n - 1):
        point(page, "q", row, n_rows=n)
        check_readout(page, f"▁w{row} attends most to", f"▁w{weights[0, 1, row].argmax()}")
        assert readout_weights(page) == pytest.approx(
            np.sort(weights[0, 1, row])[:-4:-1], abs=TOLERANCE
        )


@pytest.mark.parametrize(
    "start", [{}, {"heads": "1.0,1.1,1.2,1.3,2.0", "tokens": "q1,k2", "size": "large"}]
)
def test_on_a_phone_nothing_is_wider_than_the_screen(
    new_page: NewPage, tmp_path: Path, start: dict[str, str]
) -> None:
    page = open_heads_view(new_page(390, "dark"), tmp_path, TRACE, **start)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    top = "scrollY + document.querySelector('.hu-canvas').getBoundingClientRect().y"
    before = page.evaluate(top)
    page.locator(".hu-canvas").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End"):
        page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        # The readout keeps its height, or the picture would move under the pointer.
        assert page.evaluate(top) == pytest.approx(before, abs=1)
