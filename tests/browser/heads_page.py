"""The Heads view of a random trace, and helpers to point at it and to read it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import open_html
from tests.figures.fake_traces import fake_trace
from transformer.figures import ExplorerData, explorer_page
from transformer.figures.explorer_sides import TraceLike

SRC = ["▁the", "▁ho", "use", "▁is", "▁the", "▁best", "</s>"]
TGT = ["<s>", "▁la", "▁mai", "son", "▁est", "▁la"]
TRACE = fake_trace(SRC, TGT)
EXACT = 1.01e-4  # four digits are shown


def open_heads_view(page: Page, folder: Path, trace: TraceLike = TRACE, **start: int | str) -> Page:
    begin = {"view": "heads", "kind": "cross", "layer": 1, "head": 2, "more": 1, "exact": 1}
    html = explorer_page([ExplorerData(trace)], {**begin, **start})
    exposed = html.replace("const view = explorerView", "const view = window.view = explorerView")
    assert exposed != html
    open_html(page, folder, exposed)
    page.locator(".hu-heads").wait_for()
    return page


def state(page: Page, name: str) -> int | str:
    values: int | str = page.evaluate("(name) => view.ctx.state[name]", name)
    return values


def point(page: Page, side: str, index: int, *, max_steps: int = 7, click: bool = False) -> None:
    """Move the pointer to a token. Labels are 13 pixels high, or 11 if there are many."""
    canvas = page.locator(".hu-canvas")
    width, height = canvas.evaluate("(node) => [node.clientWidth, node.clientHeight]")
    size = 13 if max_steps < 35 else 11
    step = (height - size - 20) / max_steps
    x, y = (20 if side == "q" else width - 20), size + 14 + (index + 0.5) * step
    (canvas.click if click else canvas.hover)(position={"x": x, "y": y})


def option(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name)


def quantities(page: Page) -> list[float]:
    """Return the weights that a screen reader announces."""
    return [float(text) for text in page.locator(".hu-reading .hu-amount-value").all_inner_texts()]


def check_readout(page: Page, *parts: str) -> None:
    for part in parts:
        expect(page.locator(".hu-reading")).to_contain_text(part)
