"""The heatmap by words, with combined heads and without special tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import (
    TRACE,
    Numbers,
    cell_centres,
    head,
    open_explorer,
    pixels,
    table,
    weights,
)
from tests.figures.fake_traces import fake_trace

pytestmark = pytest.mark.browser


def merge_tokens(values: Numbers, rows: list[list[int]], columns: list[list[int]]) -> Numbers:
    """Merge tokens to words: the mean over a word's rows, the sum over its columns."""
    result: Numbers = np.array(
        [
            [np.mean([sum(values[i, j] for j in column) for i in row]) for column in columns]
            for row in rows
        ]
    )
    return result


def test_tokens_are_merged_to_words(page: Page, tmp_path: Path) -> None:
    trace = fake_trace(
        ["▁un", "believ", "able", "▁the", "▁the", "</s>"], ["<s>", "▁in", "croy", "▁le"]
    )
    open_explorer(page, tmp_path, trace, kind="cross", layer=1, head=3, exact=0)
    # Rows are merged by the words that they predict: ▁in croy | ▁le | </s>.
    rows, columns = [[0, 1], [2], [3]], [[0, 1, 2], [3], [4], [5]]
    header, displayed_rows = table(page)
    assert header[1:] == ["unbelievable", "the", "the", "end"]
    assert [row[0] for row in displayed_rows] == ["incroy", "le", "end"]
    expected = merge_tokens(head("cross", 1, 3, trace), rows, columns)
    np.testing.assert_allclose(weights(page), expected, atol=1e-4)
    np.testing.assert_allclose(weights(page).sum(axis=1), 1, atol=3e-4)
    page.get_by_role("button", name="Encoder self-attention", exact=True).click()
    expect(page.locator(".hu-data-table tbody tr")).to_have_count(4)
    expected = merge_tokens(head("encoder", 1, 3, trace), columns, columns)
    np.testing.assert_allclose(weights(page), expected, atol=1e-4)


def test_special_tokens_are_hidden_and_rows_renormalised(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, kind="cross", layer=2, head=1, special="hidden")
    expected = head("cross", 2, 1)[:4, :7]  # "</s>" is the last output and the last source token
    np.testing.assert_allclose(weights(page), expected, atol=6e-5)
    page.get_by_role("combobox", name="Rows").select_option("1")
    expect(page.locator(".hu-data-table tbody td").nth(1)).not_to_have_text(f"{expected[0, 0]:.4f}")
    expected = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights(page), expected, atol=1e-4)


def test_special_tokens_are_dimmed_and_the_others_are_not(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, kind="encoder")
    points = cell_centres(page, 8, 8)
    before = pixels(page, points)
    page.get_by_role("combobox", name="Start and end").select_option("dimmed")
    after = pixels(page, points)
    ordinary = [i for i in range(64) if i % 8 != 7 and i // 8 != 7]
    assert (before[:, 3] == 255).all()
    np.testing.assert_array_equal(after[ordinary], before[ordinary])
    assert (np.delete(after, ordinary, axis=0)[:, 3] < 128).all()


@pytest.mark.parametrize("heads", ["", "0.1,2.3"])
@pytest.mark.parametrize("combine", ["mean", "max"])
def test_several_heads_are_combined(page: Page, tmp_path: Path, combine: str, heads: str) -> None:
    open_explorer(page, tmp_path, TRACE, layer=1, head=2, combine=combine, heads=heads)
    if heads:
        stacked = np.stack([head("cross", 0, 1), head("cross", 2, 3)])
        expect(page.locator(".hu-title")).to_contain_text("L1·H2, L3·H4")
    else:
        stacked = TRACE.weights("cross", 1).astype(float)
        expect(page.locator(".hu-title")).to_contain_text("all heads of layer 2")
        code = f'trace.weights("cross", layer=1).{combine}(axis=0)'
        expect(page.locator(".hu-code")).to_have_text(code)
    expected = stacked.mean(axis=0) if combine == "mean" else stacked.max(axis=0)
    np.testing.assert_allclose(weights(page), expected, atol=6e-5)
