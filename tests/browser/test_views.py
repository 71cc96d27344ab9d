"""The heatmap and the grid of heads as a file, compared with the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.explorer_file import (
    PREDICTED,
    SRC,
    TGT,
    TRACE,
    bounding_box,
    cell_centres,
    colour_scale,
    head,
    open_explorer,
    open_html,
    pinned_frame,
    pixels,
    table,
    tooltip_value,
    weights,
)
from tests.figures.fake_traces import HOSTILE, fake_trace
from transformer.figures import packed_trace as packing_limits
from transformer.figures import translation_data, translation_page

pytestmark = pytest.mark.browser


def test_hovering_over_a_cell_shows_its_weight_and_its_tokens(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, layer=1, head=2)
    points = cell_centres(page, 5, 8)
    tooltip = page.locator(".hu-tip")
    for row, column in [(0, 0), (2, 3), (4, 7)]:
        x, y = points[8 * row + column]
        page.locator(".hu-canvas").hover(position={"x": x, "y": y})
        assert tooltip_value(page) == f"{TRACE.weights('cross', 1)[2, row, column]:.4f}"
        expect(tooltip).to_contain_text(f"{TGT[row]} → {PREDICTED[row]}attends to {SRC[column]}")
    page.mouse.move(0, 0)
    expect(tooltip).to_be_hidden()


def test_a_click_pins_a_cell_and_a_second_click_unpins_it(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE)
    x, y = cell_centres(page, 5, 8)[8 * 3 + 2]
    page.locator(".hu-canvas").click(position={"x": x, "y": y})
    page.mouse.move(0, 0)
    assert tooltip_value(page) == f"{TRACE.weights('cross', 0)[0, 3, 2]:.4f}"
    page.locator(".hu-canvas").click(position={"x": x, "y": y})
    page.mouse.move(0, 0)
    expect(page.locator(".hu-tip")).to_be_hidden()


def test_a_click_on_a_small_picture_enlarges_its_head(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, layer=1, head=2)
    expect(page.locator(".hu-title")).to_have_text("Layer 2, head 3")
    expect(page.locator(".hu-code")).to_have_text('trace.weights("cross", layer=1)[2]')
    page.get_by_role("radio", name="layer 3, head 1").click()
    expect(page.locator(".hu-title")).to_have_text("Layer 3, head 1")
    np.testing.assert_allclose(weights(page), head("cross", 2, 0), atol=6e-5)


def test_each_kind_shows_its_own_weights(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, kind="encoder", layer=2, head=3)
    np.testing.assert_allclose(weights(page), head("encoder", 2, 3), atol=6e-5)
    page.get_by_role("button", name="Decoder self-attention").click()
    expect(page.locator(".hu-code")).to_have_text('trace.weights("decoder", layer=2)[3]')
    expect(page.locator(".hu-data-table tbody tr")).to_have_count(5)
    displayed, expected = weights(page), head("decoder", 2, 3)
    future = np.triu(np.ones((5, 5), bool), 1)
    assert np.isnan(displayed[future]).all()
    np.testing.assert_allclose(displayed[~future], expected[~future], atol=6e-5)


def test_everything_can_be_done_with_the_keyboard(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, layer=1, head=2)
    title, canvas = page.locator(".hu-title"), page.locator(".hu-canvas")
    page.get_by_role("radio", name="layer 2, head 3").focus()
    for key, layer, number in [
        ("ArrowRight", 1, 3),
        ("ArrowRight", 1, 3),
        ("ArrowDown", 2, 3),
        ("ArrowDown", 2, 3),
        ("Home", 2, 0),
        ("ArrowUp", 1, 0),
        ("ArrowLeft", 1, 0),
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
        assert tooltip_value(page) == f"{TRACE.weights('cross', 1)[3, row, column]:.4f}"
    page.keyboard.press("Escape")
    expect(page.locator(".hu-tip")).to_be_hidden()


def test_a_stronger_weight_has_a_stronger_colour_in_light_and_dark(
    new_page: NewPage, tmp_path: Path
) -> None:
    row = np.array([0, 0.01, 0.04, 0.1, 0.15, 0.2, 0.23, 0.27], np.float32)
    trace = fake_trace(SRC, TGT, layers=1, heads=1, cross=np.tile(row, (1, 1, 5, 1)))
    for scheme, sign in (("light", -1), ("dark", 1)):
        page = open_explorer(new_page(scheme=scheme), tmp_path, trace)
        colours = pixels(page, cell_centres(page, 5, 8))[16:24]
        assert (colours[:, 3] == 255).all()
        luminances = colours[:, :3] @ [0.2126, 0.7152, 0.0722]
        assert (np.diff(luminances) * sign > 2).all(), scheme


@pytest.mark.parametrize("scale", ["sqrt", "linear", "row"])
def test_a_cell_has_the_colour_of_its_weight_on_the_scale(
    page: Page, tmp_path: Path, scale: str
) -> None:
    open_explorer(page, tmp_path, TRACE, layer=1, head=1, scale=scale)
    expected = head("cross", 1, 1)
    share = {
        "sqrt": np.sqrt(expected),
        "linear": expected,
        "row": expected / expected.max(axis=1, keepdims=True),
    }[scale]
    levels = np.rint(255 * share).astype(int).ravel()
    values = pixels(page, cell_centres(page, 5, 8))
    # Packing weights loses half a level, and colours are integers.
    assert np.abs(values - colour_scale(page)[levels]).max() <= 4


def test_bars_are_as_long_as_the_sums_of_rows_and_the_means_of_columns(
    page: Page, tmp_path: Path
) -> None:
    open_explorer(page, tmp_path, TRACE, layer=0, head=1, special="hidden")
    displayed = head("cross", 0, 1)[:4, :7]
    points = np.array(cell_centres(page, 4, 7)).reshape(4, 7, 2)
    cell_width, cell_height = np.diff(points[0, :, 0]).mean(), np.diff(points[:, 0, 1]).mean()
    right, bottom = points[0, -1, 0] + cell_width / 2, points[-1, 0, 1] + cell_height / 2
    steps = np.arange(2, 46, 0.5)
    for expected, lines in (
        (displayed.sum(axis=1), [[(right + s, points[r, 0, 1]) for s in steps] for r in range(4)]),
        (
            displayed.mean(axis=0),
            [[(points[0, c, 0], bottom + s) for s in steps] for c in range(7)],
        ),
    ):
        lengths = np.array([(pixels(page, line)[:, 3] > 128).sum() / 2 for line in lines])
        assert lengths.max() > 25
        np.testing.assert_allclose(lengths / lengths.max(), expected / expected.max(), atol=0.05)


def test_zooming_enlarges_the_part_around_the_cell(page: Page, tmp_path: Path) -> None:
    trace = fake_trace([f"▁s{i}" for i in range(64)], ["<s>", *(f"▁t{i}" for i in range(31))])
    open_explorer(page, tmp_path, trace, kind="cross", layer=1, head=2, row=20, column=40)
    expected = head("cross", 1, 2, trace)
    *_, width, height = pinned_frame(page)
    for zoom in (1, 2):
        page.locator(".hu-canvas").focus()
        page.keyboard.press("+")
        expect(page.get_by_role("combobox", name="Zoom")).to_have_value(str(zoom))
        assert tooltip_value(page) == f"{expected[20, 40]:.4f}"
    left, top, zoomed_width, zoomed_height = pinned_frame(page)
    assert zoomed_width > 3 * width
    assert zoomed_height > height
    for rows, columns in ((0, 2), (3, 0), (-2, -5)):
        x, y = left + (columns + 0.5) * zoomed_width, top + (rows + 0.5) * zoomed_height
        page.locator(".hu-canvas").hover(position={"x": x, "y": y})
        assert tooltip_value(page) == f"{expected[20 + rows, 40 + columns]:.4f}"
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Zoom")).to_have_value("0")


def test_the_future_is_masked_not_zero(page: Page, tmp_path: Path) -> None:
    values = np.tril(np.full((1, 1, 7, 7), 0.1, np.float32))
    open_explorer(
        page,
        tmp_path,
        fake_trace(["a"], HOSTILE, layers=1, heads=1, decoder=values),
        kind="decoder",
    )
    tooltip = page.locator(".hu-tip")
    page.locator(".hu-canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(tooltip).to_contain_text("0.1000")
    page.keyboard.press("ArrowRight")
    expect(tooltip).to_contain_text("masked")
    expect(tooltip).to_contain_text(f"{HOSTILE[0]} → {HOSTILE[1]}")
    page.keyboard.press("ArrowDown")
    expect(tooltip).to_contain_text("0.1000")


def test_digits_beyond_one_byte_are_not_shown(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing_limits, "FINE_LIMIT", 0)
    values = np.array([[[[0.123456, 0.001, 0.875544]]]], np.float32)
    trace = fake_trace(["x", "y", "z"], ["<s>"], layers=1, heads=1, kinds=["cross"], cross=values)
    open_explorer(page, tmp_path, trace)
    page.locator(".hu-canvas").focus()
    for displayed in ("≈ 0.12", "< 0.01", "≈ 0.88"):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".hu-tip strong")).to_have_text(displayed)
    assert table(page)[1][0][2:] == ["0.12", "0.00", "0.88"]


def test_a_long_sentence_is_drawn_to_its_last_cell(page: Page, tmp_path: Path) -> None:
    n = 300
    values = np.full((1, 2, n, n), 1 / n, np.float32)
    values[0, 1, n - 1, n - 1] = 0.5
    labels = [f"▁word{i}" for i in range(n)]
    trace = fake_trace(labels, ["<s>"], layers=1, heads=2, kinds=["encoder"], encoder=values)
    open_explorer(page, tmp_path, trace, kind="encoder", head=1, row=n - 1, column=n - 1)
    assert tooltip_value(page) == "0.5000"
    assert page.locator(".hu-tip").inner_text().count("word299") == 2
    box = bounding_box(page.locator(".hu-canvas"))
    assert box["height"] < 1000
    left, top, *_ = pinned_frame(page)
    page.keyboard.press("Tab")
    page.locator(".hu-canvas").hover(position={"x": left + 1.5, "y": top + 1.5})
    assert tooltip_value(page) == "0.5000"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_hostile_tokens_are_text(
    new_page: NewPage, tmp_path: Path, width: int, scheme: str
) -> None:
    page = open_explorer(new_page(width, scheme), tmp_path, TRACE, kind="encoder")
    table(page)
    header = page.locator(".hu-data-table thead th")
    expect(header).to_have_text(["attends from", *(f"{i} {text}" for i, text in enumerate(SRC))])
    assert page.locator(".hu script, .hu b").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1400])
def test_hostile_tokens_of_a_translation_are_text(
    new_page: NewPage, tmp_path: Path, width: int
) -> None:
    page = new_page(width)
    data = translation_data("<b>x</b> " + HOSTILE[0], HOSTILE, HOSTILE[::-1])
    open_html(page, tmp_path, translation_page(data))
    expect(page.locator(".hu-text")).to_have_text("<b>x</b> " + HOSTILE[0])
    expect(page.locator(".hu-pieces").first.locator(".hu-chip")).to_have_text(HOSTILE)
    assert page.locator(".hu script, .hu b").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
