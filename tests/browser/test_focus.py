"""The keyboard's focus is visible on every tab stop of every place, in both themes."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.live_app import open_expander, wait_for_script_run

PLACES = {
    "Try": ("/", "/?depth=heads", "/?depth=steps", "/?depth=off"),
    "Learn and Look inside": (
        "/learn", "/learn?lesson=umbrella", "/inside", "/inside?tab=positions"
    ),
    "Train and Class": ("/train", "/train?run=toy-french", "/class"),
    "Research": ("/research", "/research?experiment=attribution", "/glossary"),
}  # fmt: skip
MAX_STOPS = 60
MAX_OF_A_KIND = 4
"""Elements of one place with the same tag and classes of which the pixels are compared."""
MARGIN = 10
"""Pixels around an element in which its focus may be visible."""
MIN_CHANGE, MIN_CONTRAST = 60, 3
FOCUSED = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    if (!element || element === document.body) return null;
    window.focused = element;
    const card = element.closest("[class*=st-key-page-card-]");
    const { x, y, width, height } = (card || element).getBoundingClientRect();
    const in_navigation = Boolean(element.closest(".st-key-navigation-bar"));
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


@pytest.mark.parametrize("area", PLACES)
def test_the_focus_is_visible_on_every_tab_stop(
    bundled_app: str, new_page: NewPage, area: str
) -> None:
    """The navigation bar, which all pages share, is checked on the first page of each area."""
    page = new_page(1366, alone=True, reduced_motion="reduce")
    page.set_viewport_size({"width": 1366, "height": 768})
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for number, place in enumerate(PLACES[area]):
            page.goto(bundled_app + place)
            wait_for_script_run(page)
            page.wait_for_timeout(1500)  # what follows the first picture, such as alternatives
            invisible, n_stops = [], 0
            kinds: Counter[str] = Counter()
            for _ in range(MAX_STOPS):
                page.keyboard.press("Tab")
                box = page.evaluate(FOCUSED)
                if box is None:
                    break
                n_stops += 1
                kinds[box["kind"]] += 1
                if kinds[box["kind"]] > MAX_OF_A_KIND or (number and box["in_navigation"]):
                    continue
                if not is_visible(page, box):
                    invisible.append(box["name"])
            assert n_stops > 10, (place, scheme)
            assert invisible == [], (place, scheme)


def test_the_focus_is_visible_in_a_popover_and_on_the_tools_of_a_table(
    bundled_app: str, new_page: NewPage
) -> None:
    """A popover is outside of the app's element; the tools appear when the mouse is over them."""
    page = new_page(1366, alone=True, reduced_motion="reduce")
    page.goto(bundled_app + "/?depth=steps")
    wait_for_script_run(page)
    page.get_by_test_id("stPopoverButton").first.press("Enter")
    choice = page.get_by_test_id("stPopoverBody").get_by_role("radio").first
    choice.focus()
    # A popover keeps the focus, so there is no picture without it.
    expect(choice).to_have_css("outline-style", "solid")
    expect(choice).to_have_css("outline-width", "3px")
    page.goto(bundled_app + "/research?experiment=roles")
    wait_for_script_run(page)
    open_expander(page, "heads as a table")
    page.keyboard.press("Tab")
    tool = page.get_by_test_id("stElementToolbar").get_by_role("button").first
    tool.focus()
    expect(tool).to_be_focused()
    assert is_visible(page, page.evaluate(FOCUSED))
