"""Helpers for the Heads view of a random trace: point at tokens, and read the readout."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import open_html
from tests.figures.fake_traces import fake_trace
from transformer.figures import PackedTrace, explorer_page
from transformer.figures.packed_trace import TraceLike

SRC = ["▁the", "▁ho", "use", "▁is", "▁the", "▁best", "</s>"]
TGT = ["<s>", "▁la", "▁mai", "son", "▁est", "▁la"]
TRACE = fake_trace(SRC, TGT)
TOLERANCE = 1.01e-4  # the readout has four digits


def open_heads_view(page: Page, folder: Path, trace: TraceLike = TRACE, **start: int | str) -> Page:
    default_state = {"view": "heads", "kind": "cross", "layer": 1, "head": 2, "more": 1, "exact": 1}
    html = explorer_page([PackedTrace(trace)], {**default_state, **start})
    html_with_global = html.replace(
        "const view = explorerView", "const view = window.view = explorerView"
    )
    assert html_with_global != html
    open_html(page, folder, html_with_global)
    page.locator(".hu-heads").wait_for()
    return page


def state(page: Page, name: str) -> int | str:
    values: int | str = page.evaluate("(name) => view.ctx.state[name]", name)
    return values


def point(page: Page, side: str, index: int, *, n_rows: int = 7, click: bool = False) -> None:
    """Move the pointer to a token of a column with `n_rows` labels, or click it.

    Labels are 13 pixels high, or 11 from 35 labels on.
    """
    canvas = page.locator(".hu-canvas")
    width, height = canvas.evaluate("(node) => [node.clientWidth, node.clientHeight]")
    size = 13 if n_rows < 35 else 11
    row_height = (height - size - 20) / n_rows
    x, y = (20 if side == "q" else width - 20), size + 14 + (index + 0.5) * row_height
    (canvas.click if click else canvas.hover)(position={"x": x, "y": y})


def option(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name)


def readout_weights(page: Page) -> list[float]:
    """Return the weights that a screen reader announces."""
    return [float(text) for text in page.locator(".hu-reading .hu-amount-value").all_inner_texts()]


def check_readout(page: Page, *parts: str) -> None:
    for part in parts:
        expect(page.locator(".hu-reading")).to_contain_text(part)
