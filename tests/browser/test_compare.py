"""Two sentences compared in a browser: the ranking of heads, the files, and the colours of B − A.

`tests/figures/scripts/compare.test.js` checks the numbers of tables and heads.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import Numbers, canvas_pixels, download_text, open_explorer, table
from tests.figures.fake_traces import HOSTILE, fake_trace

# The positions in A and B of the tokens that both have, written by hand; the view gets them from
# `align`.
A = fake_trace([*HOSTILE, "▁stay", ",", "</s>"], ["<s>", "▁le", "s", "▁chat", "▁noir"])
B = fake_trace(
    [HOSTILE[0], *HOSTILE[2:], "▁will", "▁stay", "</s>"], ["<s>", "▁le", "▁chat", "▁noir", "▁dort"]
)
IN_A = np.ix_([0, 1, 3, 4], [0, 2, 3, 4, 5, 6, 7, 9])
IN_B = np.ix_([0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 7, 8])


def difference(layer: int, head: int) -> Numbers:
    """Return B − A of a head of cross-attention in the cells that both have."""
    a, b = (side.weights("cross", layer)[head].astype(np.float64) for side in (A, B))
    return b[IN_B] - a[IN_A]


def check_colours(page: Page) -> None:
    """Check the differences that the small pictures show, on one scale for all heads."""
    limit = max(abs(difference(*head)).max() for head in np.ndindex(3, 4))
    legend = canvas_pixels(page.locator(".hu-legends .hu-scale").nth(1))[0]
    for layer, head in [(0, 0), (2, 3)]:
        picture = page.get_by_role("radio", name=f"layer {layer + 1}, head {head + 1}")
        colours = canvas_pixels(picture.locator("canvas")).reshape(-1, 4)
        shares = abs(colours[:, None] - legend).max(axis=2).argmin(axis=1) / 127.5 - 1
        drawn = limit * np.sign(shares) * shares**2
        np.testing.assert_allclose(drawn, difference(layer, head).ravel(), atol=0.03 * limit)


def test_the_heads_that_differ_most_are_listed_opened_coloured_and_exported(
    page: Page, tmp_path: Path
) -> None:
    open_explorer(page, tmp_path, A, B, view="compare", kind="cross", layer=1, head=2)
    names, rows = table(page)
    for row in rows:
        a, b, change = (row[names.index(name)] for name in ("A", "B", "B − A"))
        if a and b:
            assert float(change) == pytest.approx(float(b) - float(a), abs=2e-4)
        else:
            assert change == "", "a cell that only one of them has shows a difference"
    buttons = page.locator(".hu-most .hu-button")
    expect(buttons).to_have_count(8)
    expect(page.locator(".hu-most p")).to_contain_text("12 of 12 heads differ")
    means = [float(text.split()[1]) for text in buttons.all_inner_texts()]
    assert means == sorted(means, reverse=True)
    numbers = re.findall(r"\d+", buttons.nth(1).inner_text().split()[0])
    buttons.nth(1).click()
    expect(page.locator(".hu-title")).to_have_text("Layer {}, head {}".format(*numbers))
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(buttons.nth(1)).to_be_focused()
    svg = download_text(page, "SVG")
    for text in (">A<", ">B<", ">B − A<", "will (B)"):
        assert text in svg
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        open_explorer(page, tmp_path, A, B, view="compare", kind="cross")
        check_colours(page)

    cross = np.stack([A.weights("cross", layer) for layer in range(3)])
    cross[1, [0, 3]] = cross[1, [0, 3], :, ::-1]
    changed = fake_trace(A.src_tokens, A.tgt_tokens, cross=cross)
    open_explorer(page, tmp_path, A, changed, view="compare", kind="cross")
    expect(page.locator(".hu-most p")).to_contain_text("2 of 12 heads differ")
    expect(buttons).to_have_count(2)
