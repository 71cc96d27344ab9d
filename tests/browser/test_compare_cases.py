"""Special cases of comparisons: words, fewer layers, a single trace, any text, long sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.comparison_traces import (
    SRC_A,
    SRC_B,
    TGT_A,
    TGT_B,
    A,
    B,
    canvas,
    difference,
    random_trace,
)
from tests.browser.conftest import NewPage
from tests.browser.explorer_file import download_text, open_explorer, table
from tests.figures.fake_traces import HOSTILE, fake_trace

pytestmark = pytest.mark.browser


def test_equal_traces_do_not_differ(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, A, A, view="compare")
    expect(page.locator(".hu-most")).to_have_text("0 of 12 heads differ.")
    expect(page.locator(".hu-most .hu-button")).to_have_count(0)
    _, rows = table(page)
    assert {row[-1] for row in rows} == {"0.0000"}


def test_words_are_aligned_regardless_of_punctuation(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, A, B, view="compare", kind="encoder", exact=0, layer=1, head=1)
    a, b = (side.weights("encoder", 1)[1] for side in (A, B))
    names, rows = table(page)
    keys = dict.fromkeys(row[names.index("key")] for row in rows)
    assert "stay, / stay" in keys
    assert "will (B)" in keys
    # "stay," of A is two tokens, 7 and 8: mean over its rows, sum over its columns.
    row = next(row for row in rows if row[0] == row[2] == "stay, / stay")
    expected = a[7:9, 7:9].sum(-1).mean(), b[7, 7]
    assert [float(text) for text in row[3:]] == pytest.approx(
        [*expected, expected[1] - expected[0]], abs=2e-4
    )


def test_cross_attention_rows_are_aligned_by_output_word(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, A, B, view="compare", kind="cross", exact=0, combine="mean")
    a, b = (side.weights("cross", 0).mean(0) for side in (A, B))
    _, rows = table(page)
    queries = list(dict.fromkeys(row[0] for row in rows))
    assert queries == ["les (A)", "le (B)", "chat", "noir", "dort (B)", "end"]
    row = next(row for row in rows if row[0] == "chat" and row[2] == "end")
    assert [float(text) for text in row[3:5]] == pytest.approx([a[2, 9], b[1, 8]], abs=2e-4)
    assert "word written" in page.locator(".hu-legends").inner_text()


def test_a_model_with_fewer_layers_shows_its_last_layer(page: Page, tmp_path: Path) -> None:
    small = random_trace(4, SRC_B, TGT_B, layers=2, heads=3)
    open_explorer(page, tmp_path, A, small, view="compare", kind="encoder", layer=2, head=3)
    expect(page.locator(".hu-main > .hu-note")).to_have_text(
        "B has 2 layers of 3 heads; its layer 2, head 3 is shown."
    )
    _, rows = table(page)
    difference = small.weights("encoder", 1)[2][0, 0] - A.weights("encoder", 2)[3][0, 0]
    assert float(rows[0][-1]) == pytest.approx(difference, abs=2e-4)
    expect(page.get_by_role("radio")).to_have_count(6)
    expect(page.locator(".hu-compare [aria-checked=true]")).to_have_count(0)
    page.get_by_role("radio", name="layer 2, head 3").press("ArrowUp")
    expect(page.locator(".hu-title")).to_have_text("Layer 1, head 3")
    expect(page.locator(".hu-main > .hu-note")).to_be_hidden()


def test_with_one_trace_there_is_nothing_to_compare(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, A, view="compare")
    expect(page.locator(".hu-compare")).to_contain_text("Choose something to compare with above")
    parts = page.locator(":is(.hu-compare canvas, .hu-option, .hu-data-table):visible")
    expect(parts).to_have_count(0)
    page.get_by_role("button", name="Export").click()
    expect(page.get_by_role("button", name="SVG")).to_be_disabled()
    page.get_by_role("tab", name="Heatmap").click()
    expect(page.locator(".hu-title")).to_have_text("Layer 1, head 1")


def test_a_kind_of_attention_that_b_lacks_is_reported(page: Page, tmp_path: Path) -> None:
    second = fake_trace(SRC_B, TGT_B, kinds=["cross"])
    open_explorer(page, tmp_path, A, second, view="compare", kind="decoder")
    expect(page.locator(".hu-compare")).to_contain_text("B has no weights of this kind")
    page.locator("[data-kind=cross]").click()
    expect(page.locator(".hu-panels")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1400])
def test_any_token_is_shown_as_plain_text(new_page: NewPage, tmp_path: Path, width: int) -> None:
    page = new_page(width)
    hostile = fake_trace(SRC_A, TGT_A, source="<b>x</b> " + HOSTILE[0])
    open_explorer(page, tmp_path, hostile, B, view="compare", kind="encoder")
    expect(page.locator(".hu-texts p").first).to_have_text("<b>x</b> " + HOSTILE[0])
    _, rows = table(page)
    assert [row[2] for row in rows][:2] == [HOSTILE[0], f"{HOSTILE[1]} (A)"]
    assert page.locator(".hu-compare :is(script, b)").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [canvas(page, index).bounding_box() for index in range(3)]
    left_edges = [box["x"] for box in boxes if box]
    assert (len(set(left_edges)) == 1) == (width == 390)
    assert left_edges == sorted(left_edges)


def test_the_three_pictures_can_be_exported(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, A, B, view="compare", kind="cross")
    svg = download_text(page, "SVG")
    for text in (">A<", ">B<", ">B − A<", "will (B)"):
        assert text in svg
    limit = f"{abs(difference('cross', 0, 0)).max():.2f}"
    assert re.search(rf">\+{limit}<", svg)
    assert re.search(rf">−{limit}<", svg)


def test_a_long_sentence_is_compared_by_small_pictures(page: Page, tmp_path: Path) -> None:
    words = [f"▁word{i}" for i in range(90)]
    first, second = (
        fake_trace(words[start:], words[:3], layers=1, heads=2, kinds=["encoder"])
        for start in (0, 5)
    )
    open_explorer(page, tmp_path, first, second, view="compare")
    expect(page.locator(".hu-most p")).to_contain_text("(from the thumbnails)")
    expect(canvas(page, 2)).to_have_attribute("aria-label", re.compile("90 rows, 90 columns"))
