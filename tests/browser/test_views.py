"""The views as files of their own: what is drawn is what was packed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from transformer.figures import Labels, pack, start_at, translation_data
from transformer.figures import page as as_file

pytestmark = pytest.mark.browser

HOSTILE = ["<script>alert(1)</script>", "<b>bold</b>", "👩🏽‍🚀", "مرحبا", "e\u0301", "▁the", "▁the"]
ROWS, COLUMNS = [f"▁r{i}" for i in range(5)], HOSTILE
RNG = np.random.default_rng(3)
WEIGHTS = RNG.dirichlet(np.full(7, 0.4), size=(3, 4, 5)).astype(np.float32)

# Pixels are read from a copy of the canvas, so that reading does not change how it is drawn.
COPY = """() => {
  const canvas = document.querySelector(".hu-canvas");
  const ratio = canvas.width / canvas.clientWidth;
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  Object.assign(window, { canvas, ratio, pen });
}"""


def place(page: Page, row: int, column: int, n_columns: int) -> tuple[float, float]:
    """The middle of a cell, in the canvas: found by its right and lower edge, which are where the
    picture ends."""
    box = page.locator(".hu-canvas").bounding_box()
    assert box
    page.evaluate(COPY)
    x, y, side = page.evaluate(
        """([rows, columns]) => {
          // Along the middle of the last row, the coloured run that ends the line is the picture.
          const y = canvas.height - 6 * ratio;
          const line = pen.getImageData(0, y, canvas.width, 1).data;
          let end = canvas.width - 1;
          while (end > 0 && line[4 * end + 3] === 0) end--;
          let start = end, gap = 0;
          for (let i = end; i > 0 && gap < 4; i--) {
            if (line[4 * i + 3] === 0) gap++; else { gap = 0; start = i; }
          }
          const side = Math.round((end + 2 - start) / ratio / columns);
          return [start / ratio, canvas.clientHeight - 2 - side * rows, side];
        }""",
        [5, n_columns],
    )
    return x + (column + 0.5) * side, y + (row + 0.5) * side


def opened(page: Page, tmp_path: Path, written: str) -> Page:
    (tmp_path / "view.html").write_text(written, encoding="utf-8")
    page.goto((tmp_path / "view.html").as_uri())
    page.locator(".hu").wait_for()
    return page


@pytest.fixture
def attention(page: Page, tmp_path: Path) -> Page:
    data = pack(list(WEIGHTS), Labels(ROWS, COLUMNS, kind="cross", title="Made up"))
    return opened(page, tmp_path, as_file("attention", start_at(data, 1, 2)))


def test_pointing_at_a_cell_tells_its_weight_and_its_tokens(attention: Page) -> None:
    tip = attention.locator(".hu-tip")
    for row, column in [(0, 0), (2, 3), (4, 6)]:
        x, y = place(attention, row, column, 7)
        attention.locator(".hu-canvas").hover(position={"x": x, "y": y})
        expect(tip.locator("strong")).to_have_text(f"{WEIGHTS[1, 2, row, column]:.4f}")
        expect(tip).to_contain_text(f"{ROWS[row]}attends to {COLUMNS[column]}")
    attention.mouse.move(0, 0)
    expect(tip).to_be_hidden()


def test_a_click_on_a_small_picture_enlarges_its_head(attention: Page) -> None:
    expect(attention.locator(".hu-title")).to_have_text("Layer 1, head 2")
    expect(attention.locator(".hu-code")).to_have_text('trace.weights("cross", layer=1)[2]')
    attention.get_by_role("radio", name="layer 2, head 0").click()
    expect(attention.locator(".hu-title")).to_have_text("Layer 2, head 0")
    x, y = place(attention, 3, 1, 7)
    attention.locator(".hu-canvas").hover(position={"x": x, "y": y})
    expect(attention.locator(".hu-tip strong")).to_have_text(f"{WEIGHTS[2, 0, 3, 1]:.4f}")


def test_everything_can_be_done_with_the_keyboard(attention: Page) -> None:
    title, tip = attention.locator(".hu-title"), attention.locator(".hu-tip")
    attention.keyboard.press("Tab")
    for key, layer, head in [
        ("ArrowRight", 1, 3),
        ("ArrowRight", 1, 3),
        ("ArrowDown", 2, 3),
        ("ArrowDown", 2, 3),
        ("Home", 2, 0),
        ("ArrowUp", 1, 0),
        ("ArrowLeft", 1, 0),
        ("End", 1, 3),
    ]:
        attention.keyboard.press(key)
        expect(title).to_have_text(f"Layer {layer}, head {head}")
        focused = attention.get_by_role("radio", name=f"layer {layer}, head {head}")
        expect(focused).to_be_focused()
        expect(focused).to_be_checked()
    attention.keyboard.press("Tab")
    expect(attention.locator(".hu-canvas")).to_be_focused()
    for key, row, column in [("ArrowDown", 0, 0), ("ArrowDown", 1, 0), ("ArrowRight", 1, 1)]:
        attention.keyboard.press(key)
        expect(tip.locator("strong")).to_have_text(f"{WEIGHTS[1, 3, row, column]:.4f}")
    attention.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_a_stronger_weight_has_a_stronger_colour_in_light_and_dark(
    new_page: NewPage, tmp_path: Path
) -> None:
    row = np.array([0, 0.01, 0.04, 0.1, 0.2, 0.25, 0.4], np.float32)
    data = pack([np.tile(row, (1, 5, 1))], Labels(ROWS, COLUMNS))
    for scheme, sign in (("light", -1), ("dark", 1)):
        page = opened(new_page(scheme=scheme), tmp_path, as_file("attention", data))
        spots = [place(page, 2, column, 7) for column in range(7)]
        page.evaluate(COPY)
        colours: npt.NDArray[np.float64] = np.array(
            page.evaluate(
                """(spots) => spots.map(([x, y]) =>
                  [...pen.getImageData(x * ratio, y * ratio, 1, 1).data])""",
                spots,
            )
        )
        assert (colours[:, 3] == 255).all()
        light = colours[:, :3] @ [0.2126, 0.7152, 0.0722]
        assert (np.diff(light) * sign > 2).all(), scheme


def test_the_future_is_masked_not_zero(page: Page, tmp_path: Path) -> None:
    weights = np.tril(np.full((7, 7), 0.1, np.float32))[None]
    data = pack([weights], Labels(HOSTILE, HOSTILE, writes=HOSTILE, causal=True))
    opened(page, tmp_path, as_file("attention", data))
    canvas, tip = page.locator(".hu-canvas"), page.locator(".hu-tip")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    expect(tip).to_contain_text("0.1000")
    page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text("masked")
    expect(tip).to_contain_text(f"{HOSTILE[0]} → {HOSTILE[0]}")
    page.keyboard.press("ArrowDown")
    expect(tip).to_contain_text("0.1000")


def test_what_one_byte_cannot_tell_is_not_told(page: Page, tmp_path: Path) -> None:
    weights = np.array([[[0.123456, 0.001, 0.875544]]], np.float32)
    data = pack([weights], Labels(["a"], ["x", "y", "z"]), fine_limit=0)
    opened(page, tmp_path, as_file("attention", data))
    page.locator(".hu-canvas").focus()
    for shown in ("≈ 0.12", "< 0.01", "≈ 0.88"):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".hu-tip strong")).to_have_text(shown)


def test_a_long_sentence_is_drawn_and_read_to_its_last_cell(page: Page, tmp_path: Path) -> None:
    n = 300
    weights = np.full((1, 2, n, n), 1 / n, np.float32)
    weights[0, 1, n - 1, n - 1] = 0.5
    labels = [f"▁word{i}" for i in range(n)]
    opened(
        page,
        tmp_path,
        as_file("attention", start_at(pack(list(weights), Labels(labels, labels)), 0, 1)),
    )
    canvas = page.locator(".hu-canvas")
    box = canvas.bounding_box()
    assert box
    assert box["height"] < 1000
    right = page.evaluate("document.querySelector('.hu-canvas').clientWidth")
    found = set()
    for x in range(int(right) - 40, int(right)):
        canvas.hover(position={"x": x, "y": box["height"] - 2.5})
        if page.locator(".hu-tip").is_visible():
            found.add(page.locator(".hu-tip").inner_text())
    assert any("0.5000" in text and text.count("word299") == 2 for text in found)


@pytest.mark.parametrize("width", [390, 1400])
def test_hostile_tokens_are_text(new_page: NewPage, tmp_path: Path, width: int) -> None:
    page = new_page(width)
    data = translation_data("<b>x</b> " + HOSTILE[0], HOSTILE, HOSTILE[::-1])
    opened(page, tmp_path, as_file("translation", data))
    expect(page.locator(".hu-text")).to_have_text("<b>x</b> " + HOSTILE[0])
    expect(page.locator(".hu-pieces").first.locator(".hu-chip")).to_have_text(HOSTILE)
    assert page.locator(".hu script, .hu b").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
