"""Every page: the larger size, accessibility, the visible focus, the width of a phone."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import navigation, violations_of
from tests.browser.conftest import NewPage
from tests.browser.explorer_file import bounding_box
from tests.browser.visible_focus import FOCUSED, invisible_tab_stops, is_visible
from tests.live_app import open_expander, wait_for_script_run, wait_until
from transformer.figures.views import EXPLORER
from transformer.ui.base.registry import PAGES
from transformer.ui.pages.research import EXPERIMENTS

FONT_SIZE = "(node) => parseFloat(getComputedStyle(node).fontSize)"
PATHS = [Path(file).stem.replace("app", "") for file in PAGES]


def open_page(page: Page, address: str) -> Page:
    """Open a page and wait for the app's style sheet, which sets the size of headings."""
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_css("font-size", "18.4px")
    wait_for_script_run(page)
    return page


def click_larger(page: Page, size: str = "20.8px") -> None:
    page.get_by_role("button", name="Larger").click()
    expect(page.locator("html")).to_have_css("font-size", size)
    wait_for_script_run(page)


def test_the_larger_size_applies_to_everything_and_is_kept_but_not_in_links(
    bundled_app: str, new_page: NewPage
) -> None:
    page = new_page(1900, alone=True)
    open_page(page, f"{bundled_app}/?depth=heads&view=heatmap")
    page.locator(".hu-canvas").first.wait_for()
    elements = [
        page.get_by_role("heading", level=1),
        navigation(page).get_by_role("link").first,
        page.locator(".hu-title").first,
    ]
    before = [element.evaluate(FONT_SIZE) for element in elements]
    width = "document.querySelector('.stMainBlockContainer').clientWidth"
    assert page.evaluate(width) >= 0.85 * 1900
    click_larger(page)
    expect(page.locator(".hu-explorer")).to_have_attribute("data-size", "large")
    ratios = [element.evaluate(FONT_SIZE) / b for element, b in zip(elements, before, strict=True)]
    assert ratios == pytest.approx([1.3] * len(ratios))
    assert page.evaluate(width) == page.evaluate("document.documentElement.clientWidth")
    expect(page.get_by_label("Model", exact=True)).to_have_value("en-fr")
    navigation(page).get_by_role("link", name="Glossary").click()
    page.get_by_role("heading", name="Glossary", level=1).wait_for()
    expect(page.locator("html")).to_have_css("font-size", "20.8px")
    page.goto(f"{bundled_app}/?depth=steps")  # opened by its address
    expect(page.locator("html")).to_have_css("font-size", "20.8px")
    wait_for_script_run(page)
    click_larger(page, "16px")
    page.goto(f"{bundled_app}/glossary")
    page.get_by_role("heading", name="Glossary", level=1).wait_for()
    expect(page.locator("html")).to_have_css("font-size", "16px")
    assert "size" not in page.url


CHECKED_PAGES = {
    "Try": [
        "",
        *(f"?depth=heads&view={view}" for view in EXPLORER),
        "?depth=heads&view=heads&pin=s2",
        "?depth=steps",
        "?depth=off&off=c3",
    ],
    "Look inside": [
        "inside",
        *(f"inside?box={box}" for box in ("encoder.embed.sum", "decoder.cross_attn.softmax")),
        "inside?section=learning",
        *(f"inside?tab=positions&topic={topic}" for topic in ("matrix", "parts")),
        *(f"inside?tab=why&part={part}" for part in ("paths", "table", "scores")),
    ],
    "Research": ["research", *(f"research?experiment={part}" for part in EXPERIMENTS)],
    "other pages": [
        *(path for path in PATHS if path not in ("", "inside", "research")),
        "train?run=toy-reverse",
        "train?here=task%3Dcopy%3Bsteps%3D20",
        *(f"learn?lesson={name}" for name in ("row", "umbrella", "cosine", "end")),
    ],
}
FOCUS_PAGES = {
    "",
    *("?depth=heads&view=heads", "?depth=steps", "?depth=off&off=c3"),
    *("inside", "inside?tab=positions&topic=matrix"),
    *("research", "research?experiment=attribution"),
    *("learn", "learn?lesson=row", "train", "train?run=toy-reverse", "class", "glossary"),
}
"""Pages of which all tab stops are visited."""
PICTURES = {
    "inside": "*:has(> .hu-figure1)",
    "inside?tab=positions&topic=matrix": ".js-plotly-plot",
    "inside?tab=why&part=paths": ".js-plotly-plot",
    **{
        f"research?experiment={name}": ".js-plotly-plot, .hu-headgrid, .st-key-findings"
        for name in EXPERIMENTS
    },
    "train?run=toy-reverse": ".hu-film",
}
"""The first picture of a page."""
MAX_TOP = {(1366, 768): 300, (390, 844): 420}
"""Greatest distance of the first picture from the top of the window, by its size in pixels."""
PHONE_WIDTHS = (390, 320)
"""The second is also that of a window of 1280 pixels at 400 %, see WCAG 1.4.10."""
DARK_BACKGROUND = "rgb(18, 22, 28)"
REPEATED_NAMES = {
    f'button "{name}"' for name in ("Open", "Unpin", "Train in this tab", "Train on the server")
}
"""Names that two buttons of a page may share: a menu's arrow, two buttons that both unpin, and
those of the cards of Train, each below the heading of its card."""


def stable_snapshot(page: Page) -> str:
    """Return the accessibility tree once it is the same twice in a row, 150 ms apart, as elements
    that scripts draw appear after the page has loaded."""
    snapshots = [page.locator("body").aria_snapshot()]
    while len(snapshots) < 2 or snapshots[-1] != snapshots[-2]:
        page.wait_for_timeout(150)
        snapshots.append(page.locator("body").aria_snapshot())
    return snapshots[-1]


def check_page(page: Page, address: str) -> None:
    """Check axe-core's rules in both colour schemes, names, heading levels and the width. What the
    content policy blocks is an error in the console, which `new_page` reports."""
    page.set_viewport_size({"width": 1400, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(address)
    page.get_by_role("heading", level=1).wait_for()
    wait_for_script_run(page)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)  # files loaded after the page
    tree = stable_snapshot(page)
    wait_for_script_run(page)  # of what follows the first picture, such as alternatives
    assert not violations_of(page)
    names = Counter(re.findall(r"- '?(button(?: \"(?:[^\"\\]|\\.)*\")?)", tree))
    assert not {name for name, count in names.items() if count > 1} - REPEATED_NAMES
    levels = [int(level) for level in re.findall(r"- '?heading .*\[level=(\d)\]", tree)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels)), levels
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("background-color", DARK_BACKGROUND)
    assert not violations_of(page, colours=True)
    widths = "[document.documentElement, document.querySelector('.stMain')].map(n => n.scrollWidth)"
    for width in PHONE_WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wait_until(page, f"Math.max(...{widths}) <= {width}", timeout=30)


@pytest.mark.parametrize("area", CHECKED_PAGES)
def test_every_page_is_accessible_shows_the_focus_and_fits_a_phone(
    bundled_app: str, page: Page, area: str
) -> None:
    for path in CHECKED_PAGES[area]:
        check_page(page, f"{bundled_app}/{path}")
        for (width, height), limit in MAX_TOP.items() if path in PICTURES else ():
            page.set_viewport_size({"width": width, "height": height})
            picture = page.locator(PICTURES[path]).first
            expect(picture).to_be_visible()
            top = bounding_box(picture)["y"]
            assert 0 < top <= limit, f"the picture of {path} begins at {top} px, {width} px wide"
        page.set_viewport_size({"width": 1400, "height": 900})
        for scheme in ("dark", "light") if path in FOCUS_PAGES else ():
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            invisible = invisible_tab_stops(page, with_navigation=path == "")
            assert not invisible, f"the focus is invisible at {path} ({scheme}): {invisible}"


def test_the_focus_is_visible_on_the_tools_of_a_table(bundled_app: str, new_page: NewPage) -> None:
    """The tools appear when the mouse is over them."""
    page = new_page(1366, alone=True, reduced_motion="reduce")
    page.goto(bundled_app + "/research?experiment=roles")
    wait_for_script_run(page)
    open_expander(page, "All heads as a table")
    page.keyboard.press("Tab")
    tool = page.get_by_test_id("stElementToolbar").get_by_role("button").first
    tool.focus()
    expect(tool).to_be_focused()
    assert is_visible(page, page.evaluate(FOCUSED)), "the tool of the table"
