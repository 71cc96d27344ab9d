"""The switchboard in a browser: pointer and keys, the address, undo, a phone."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.app_pages import address
from tests.browser.explorer_file import bounding_box
from tests.live_app import wait_for_script_run, wait_until

# A forced translation: the tiny model never stops.
QUERY = "text=She hides books.&method=forced&target=Elle cache des livres.&exact=1"


def open_switches(app: str, page: Page, parameters: str = "") -> None:
    page.goto(f"{app}/?depth=off&{QUERY}{parameters}")
    expect(page.locator(".hu-switchboard canvas")).to_have_count(24)
    wait_for_script_run(page)


def head(page: Page, name: str) -> Locator:
    return page.locator(f".hu-switchboard [role=switch][data-head='{name}']")


def check_bars(page: Page, app: str) -> None:
    """The bars of the probabilities are as long as their numbers say, also those near 100%."""
    page.goto(f"{app}/?depth=off&off=c5.2")
    page.locator(".hu-before-after td").first.wait_for()
    bars = page.evaluate(
        """() => [...document.querySelectorAll("*")].map((node) => node.shadowRoot)
          .flatMap((root) => [...(root?.querySelectorAll(".hu-before-after td") ?? [])])
          .map((cell) => [
            cell.querySelector(".hu-share").getBoundingClientRect().width,
            parseFloat(cell.querySelector(".hu-share-number").textContent),
          ])"""
    )
    longest, most = max(bars, key=lambda bar: bar[1])
    assert longest > 0
    for length, percent in bars:
        assert abs(length - longest * percent / most) <= 1 + 0.002 * longest  # pixels; rounding


def wait_for_switched_off(page: Page, expected: str) -> None:
    wait_until(
        page,
        "(off) => (new URLSearchParams(location.search).get('off') ?? '') === off",
        arg=expected,
    )
    wait_for_script_run(page)


def test_a_student_switches_heads_off_goes_back_and_reads_a_cell(
    app: str, bundled_app: str, page: Page
) -> None:
    open_switches(app, page)
    expect(page.get_by_text("Switch off a head below")).to_be_visible()
    for name in ("e0.0", "e0.1", "e0.1", "e0.0"):  # faster than the page reruns
        head(page, name).click()
    head(page, "c1.2").click()
    expect(head(page, "c1.2")).to_have_attribute("aria-checked", "false")
    wait_for_switched_off(page, "c1.2")
    expect(page.get_by_role("heading", name="After the change")).to_be_visible()
    head(page, "c1.2").focus()
    page.keyboard.press("ArrowRight")
    expect(head(page, "c1.3")).to_be_focused()
    page.keyboard.press("Enter")
    wait_for_switched_off(page, "c1.2,c1.3")
    for _ in range(4):
        page.keyboard.press("ArrowLeft")  # to the button of the whole layer, at the left edge
    page.keyboard.press("Enter")
    wait_for_switched_off(page, "c1")
    page.get_by_role("switch", name="Decoder self-attention", exact=True).click()
    wait_for_switched_off(page, "d0,d1,c1")
    expect(page.get_by_text("12 of 24 heads off")).to_be_visible()
    page.reload()
    expect(head(page, "d0.3")).to_have_attribute("aria-checked", "false")
    expect(head(page, "e0.3")).to_have_attribute("aria-checked", "true")
    page.get_by_role("button", name="All on").click()
    expect(page.get_by_text("Switch off a head below")).to_be_visible()

    open_switches(app, page, "&off=e0,c0.1")
    page.get_by_text("Change in the attention of every head").click()
    changed_heads = page.locator(".hu-headgrid [role=radio]")
    expect(changed_heads).to_have_count(24)
    page.get_by_role("radio", name=re.compile("Cross-attention, layer 2, head 3")).click()
    wait_until(page, "() => /\\blayer=1\\b.*\\bhead=2\\b/.test(location.search)")
    wait_for_script_run(page)
    selected = {"kind": "cross", **address(page)[1]}
    assert {"kind": "cross", "layer": "1", "head": "2"}.items() <= selected.items()
    expect(page.locator(".hu-contributions .hu-stage canvas")).to_have_count(4)

    open_switches(app, page, "&kind=encoder&layer=1&head=2")
    page.get_by_text("One head: its weights").click()
    tables = page.locator(".hu-contributions .hu-canvas").filter(visible=True)
    expect(tables).to_have_count(2)
    caption = page.locator(".hu-contribution-cell").filter(visible=True)
    box = bounding_box(tables.first)
    tables.first.hover(position={"x": box["width"] * 0.6, "y": box["height"] * 0.6})
    for name in ("weight", "norm"):
        expect(caption).to_contain_text(name)
        expect(page.locator(".hu-tip:visible")).to_contain_text(name)
    tables.last.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    wait_until(page, "() => /row=1&column=1/.test(location.search)")
    wait_for_script_run(page)
    check_bars(page, bundled_app)
