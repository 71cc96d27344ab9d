"""A made trace in the heatmap, and what is read there."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import Page

from tests.browser.opened import Numbers, marked
from tests.figures.made import HOSTILE, Made, made

TGT = ["<s>", "▁r", "ows", "▁r", "."]
SRC = [*HOSTILE, "</s>"]
TRACE = made(SRC, TGT)
WRITTEN = [*TGT[1:], "</s>"]


def head(kind: str, layer: int, number: int, trace: Made = TRACE) -> Numbers:
    return trace.weights(kind, layer)[number].astype(float)


def tip(page: Page) -> str:
    return page.locator(".hu-tip strong").inner_text()


def spots(page: Page, rows: int, columns: int) -> list[tuple[float, float]]:
    """The middles of all cells, row by row, from the frames around the first and the last one."""
    page.locator(".hu-canvas").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    left, top, *_ = marked(page)
    for key, count in (("ArrowDown", rows), ("ArrowRight", columns)):
        for _ in range(count - 1):
            page.keyboard.press(key)
    right, bottom, wide, high = marked(page)
    page.keyboard.press("Escape")
    xs = np.linspace(left, right, columns) + wide / 2
    ys = np.linspace(top, bottom, rows) + high / 2
    return [(float(x), float(y)) for y in ys for x in xs]
