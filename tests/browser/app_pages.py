"""Helpers for pages of the app: addresses, depths of Try, Look inside, accessibility."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

from tests.live_app import wait_for_script_run, wait_until

TEXT = "The baker hides books."
REPORTED_IMPACTS = ("serious", "critical")
# axe reports a formula that is wider than its line, although Chromium lets the keyboard scroll it.
KNOWN_VIOLATIONS = {("scrollable-region-focusable", "katex-display")}


def address(page: Page) -> tuple[str, dict[str, str]]:
    parts = urlsplit(page.url)
    return parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}


def wait_for_address(page: Page, path: str, **params: str) -> None:
    wait_until(
        page,
        """([path, params]) => {
          const current = Object.fromEntries(new URLSearchParams(location.search));
          const noOthers = Object.keys(params).length === Object.keys(current).length;
          return location.pathname === path && noOthers
            && Object.entries(params).every(([name, value]) => current[name] === value);
        }""",
        arg=[path, params],
    )
    wait_for_script_run(page)


def navigation(page: Page) -> Locator:
    """Return the links to all pages."""
    return page.get_by_role("navigation", name="Pages")


def open_depth(page: Page, label: str) -> None:
    """Click a depth of the page Try: "Bands", "All heads", "Step by step" or "Switch off"."""
    page.get_by_role("group", name="How much to show").get_by_role(
        "button", name=label, exact=True
    ).click()


def open_inside(app: str, page: Page, **params: str) -> Page:
    """Open the page Look inside at this address and wait for its map."""
    query = "&".join(
        f"{name}={value}" for name, value in {"text": TEXT, "exact": 1, **params}.items()
    )
    page.goto(f"{app}/inside?{query}")
    page.locator(".hu-box").first.wait_for()
    wait_for_script_run(page)
    return page


def violations_of(page: Page, *, colours: bool = False) -> list[str]:
    """Return the serious and critical violations that axe-core finds, one per line; `colours` keeps
    only the rules that depend on colours, for pages already checked in another theme."""
    # A colour in transition has no contrast of its own.
    wait_until(page, "document.getAnimations().every((item) => !(item instanceof CSSTransition))")
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if colours:
        options["runOnly"] = ["color-contrast", "link-in-text-block"]
    violations: list[dict[str, Any]] = Axe().run(page, options=options).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in violations
        for node in rule["nodes"]
        if rule["impact"] in REPORTED_IMPACTS
        and not any(
            rule["id"] == rule_id and class_name in node["html"]
            for rule_id, class_name in KNOWN_VIOLATIONS
        )
    ]
