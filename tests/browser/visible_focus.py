"""Whether the keyboard's focus is visible on the tab stops of a page."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from playwright.sync_api import Page

MAX_STOPS = 60
MAX_OF_A_KIND = 4
"""Elements of one page with the same tag and classes of which the pixels are compared."""
MARGIN = 10
"""Pixels around an element in which its focus may be visible."""
MIN_CHANGE, MIN_CONTRAST = 60, 3
FOCUS_START = """() => {
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
}"""
"""The next tab stop is then the first of the page."""
FOCUSED = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    if (!element || element === document.body) return null;
    window.focused = element;
    const card = element.closest("[class*=st-key-page-card-], .hu-place-card");
    const { x, y, width, height } = (card || element).getBoundingClientRect();
    const in_navigation = Boolean(element.closest(".hu-frame, .st-key-navigation-bar"));
    const kind = `${element.localName} ${element.getAttribute("class")}`;
    return { x, y, width, height, in_navigation, kind, name: element.outerHTML.slice(0, 200) };
}"""


def pixels(page: Page, clip: Any) -> npt.NDArray[np.float64]:
    image = Image.open(io.BytesIO(page.screenshot(clip=clip, animations="disabled", caret="hide")))
    return np.asarray(image.convert("RGB")).astype(float)


def luminance(colours: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the relative luminance of colours (WCAG 2.2)."""
    shares = colours / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def visible_pixels(page: Page, box: dict[str, Any]) -> int:
    """Return the number of pixels that the focus changes by at least `MIN_CHANGE` of 255, with a
    contrast of at least `MIN_CONTRAST` to what is there without it."""
    size = page.viewport_size
    assert size is not None
    left, top = max(0, box["x"] - MARGIN), max(0, box["y"] - MARGIN)
    right = min(size["width"], box["x"] + box["width"] + MARGIN)
    bottom = min(size["height"], box["y"] + box["height"] + MARGIN)
    clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    with_focus = pixels(page, clip)
    page.evaluate("() => window.focused.blur()")
    without = pixels(page, clip)
    page.evaluate("() => window.focused.focus({ preventScroll: true })")
    light, dark = (
        np.maximum(luminance(with_focus), luminance(without)),
        np.minimum(luminance(with_focus), luminance(without)),
    )
    changed = np.abs(with_focus - without).max(axis=-1) >= MIN_CHANGE
    return int((changed & ((light + 0.05) / (dark + 0.05) >= MIN_CONTRAST)).sum())


def is_visible(page: Page, box: dict[str, Any]) -> bool:
    perimeter = 2 * (box["width"] + box["height"])
    return visible_pixels(page, box) >= min(60, 0.3 * perimeter)


def invisible_tab_stops(page: Page, *, with_navigation: bool) -> list[str]:
    """Return the HTML of the elements of a page on which its focus is not visible.

    Args:
        with_navigation: also check the navigation bar, which all pages share.
    """
    page.evaluate(FOCUS_START)
    invisible = []
    kinds: Counter[str] = Counter()
    for _ in range(MAX_STOPS):
        page.keyboard.press("Tab")
        box = page.evaluate(FOCUSED)
        if box is None:
            break
        kinds[box["kind"]] += 1
        if kinds[box["kind"]] > MAX_OF_A_KIND or (box["in_navigation"] and not with_navigation):
            continue
        if not is_visible(page, box):
            invisible.append(box["name"])
    assert kinds.total() > 10, f"only {kinds.total()} tab stops at {page.url}"
    return invisible
