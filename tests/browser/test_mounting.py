"""Views as Streamlit components.

Streamlit imports a view's script, in which all its modules are joined, and calls its default export
with new data and a parent element in a shadow root. `test_storage.py` checks that the browser
requests a script once, `view-loader.test.js` that it requests it again after a failure, and
`mount.test.js` that each choice is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import open_html
from tests.figures.fake_traces import GRID
from transformer.figures import module, style
from transformer.figures.headgrid import headgrid_data
from transformer.figures.views import COMPONENTS

MOUNT = """async ([code, style]) => {
  const script = new Blob([code], { type: "text/javascript" });
  const component = await import(URL.createObjectURL(script));
  const host = document.createElement("section");
  const parentElement = host.attachShadow({ mode: "open" });
  parentElement.append(Object.assign(document.createElement("style"), { textContent: style }));
  document.body.replaceChildren(host);
  window.messages = [];
  const recorder = (kind) => (name, value) => window.messages.push([kind, name, value]);
  window.run = (data) => component.default({
    data, parentElement, setStateValue: recorder("state"), setTriggerValue: recorder("trigger"),
  });
  window.unmount = [window.run(null), window.run(null)].pop();
  return Object.keys(component);
}"""

BRIGHTNESS = """(nodes) => nodes.map((node) => {
  const [r, g, b, opacity] = getComputedStyle(node).backgroundColor.match(/[\\d.]+/g).map(Number);
  return opacity === 0 ? null : r + g + b;
})"""


@pytest.fixture
def empty_page(page: Page, tmp_path: Path) -> Page:
    """Return an empty page on which every request and console message is a failure."""
    return open_html(page, tmp_path, "<!doctype html><title>x</title><body>")


def mount_view(page: Page, view: str, data: dict[str, Any] | None = None) -> list[str]:
    names: list[str] = page.evaluate(MOUNT, [module(view), style(view)])
    page.evaluate("(data) => { window.run(data); }", json.loads(json.dumps(data)))
    return names


def test_views_are_created_once_and_a_grid_shows_and_reports_its_heads(empty_page: Page) -> None:
    requests: list[str] = []
    console_messages: list[str] = []
    empty_page.on("request", lambda request: requests.append(request.url))
    empty_page.on("pageerror", lambda error: console_messages.append(str(error)))
    empty_page.on("console", lambda message: console_messages.append(message.text))
    for view in COMPONENTS:
        assert mount_view(empty_page, view) == ["default"]
        # The page Try is drawn when its server has named its models.
        expect(empty_page.locator(".hu")).to_have_count(0 if view == "try" else 1)
        empty_page.evaluate("window.unmount()")
        assert empty_page.evaluate("window.messages") == [], view
        assert [url for url in requests if not url.startswith("blob:")] == [], view
        assert console_messages == [], view

    data = headgrid_data([GRID], low=0, high=4, legend="")
    mount_view(empty_page, "headgrid", data)
    cells = empty_page.get_by_role("radio")
    expect(cells).to_have_count(6)
    brightness = cells.evaluate_all(BRIGHTNESS)
    assert brightness[2] is None, "a head without a number has a colour"
    assert brightness[0] == brightness[5] > brightness[1] > brightness[3] > brightness[4]
    cell = cells.nth(1)
    cell.click()
    expect(cell).to_have_attribute("aria-checked", "true")
    # A rerun with data in which no cell is selected.
    empty_page.evaluate("(data) => { window.run(data); }", data)
    cell.click()
    empty_page.wait_for_function("window.messages.length > 1")
    choice = ["trigger", "choice", {"kind": GRID.kind, "layer": 0, "head": 1}]
    assert empty_page.evaluate("window.messages") == [choice, choice]
