"""What people with other eyes and hands meet: axe-core's rules on every page, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from benchmarks.browser import settled
from tests.browser.conftest import NewPage
from transformer.figures.views import EXPLORER
from transformer.ui.pages import PAGES

pytestmark = pytest.mark.browser

GRAVE = ("serious", "critical")
# A formula wider than its line: Chromium gives what scrolls the keyboard by itself, which this rule
# does not know yet.
KNOWN = {("scrollable-region-focusable", "katex-display")}
PLACES = [
    *(Path(file).stem.replace("app", "") for file in PAGES),
    *(f"attention?view={view}" for view in EXPLORER),
]


def findings(page: Page) -> list[str]:
    """What axe-core calls serious or critical, a line each."""
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
        if rule["impact"] in GRAVE
        and not any(rule["id"] == known and sign in node["html"] for known, sign in KNOWN)
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding(app: str, new_page: NewPage, scheme: str) -> None:
    page = new_page(scheme=scheme)
    for place in PLACES:
        page.goto(f"{app}/{place}")
        settled(page)
        page.get_by_role("heading", level=1).wait_for()
        assert not findings(page), place


def test_a_pale_word_is_found(page: Page) -> None:
    """The measure itself: what it is there for does not pass."""
    page.set_content("<html lang=en><title>a</title><main><h1 style='color: #aaa'>Pale</h1></main>")
    (found,) = findings(page)
    assert found.startswith("color-contrast")
