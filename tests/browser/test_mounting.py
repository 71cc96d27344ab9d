"""Views as Streamlit components, and how the app's browser requests their scripts.

Streamlit imports a view's script, in which all its modules are joined, and calls its default export
with new data and a parent element in a shadow root. The browser requests the script once, caches
it, and requests it again after a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.explorer_file import open_html
from tests.figures.fake_traces import GRID
from tests.live_app import wait_for_script_run
from transformer import figures
from transformer.figures import module, style
from transformer.figures.headgrid import headgrid_data
from transformer.figures.views import COMPONENTS, served_script
from transformer.ui.services.view_scripts import FOLDER, path

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


@pytest.fixture
def empty_page(page: Page, tmp_path: Path) -> Page:
    """Return an empty page on which every request and console message is a failure."""
    return open_html(page, tmp_path, "<!doctype html><title>x</title><body>")


def mount_view(page: Page, view: str, data: dict[str, Any] | None = None) -> list[str]:
    names: list[str] = page.evaluate(MOUNT, [module(view), style(view)])
    page.evaluate("(data) => { window.run(data); }", json.loads(json.dumps(data)))
    return names


REPORT_IN_ONE_TICK = """async (code) => {
  const script = new Blob([code], { type: "text/javascript" });
  const { streamlitComponent } = await import(URL.createObjectURL(script));
  const batches = [];
  let batch = null;
  const streamlit = (fragment) => () => {
    if (!batch) setTimeout(() => { batches.push(batch); batch = null; });
    (batch = batch || []).push(fragment);
  };
  const views = ["page", "glance"].map((fragment) => {
    let report;
    const makeView = (_container, reportChoice) => {
      report = reportChoice;
      return { show() {}, close() {} };
    };
    const show = streamlitComponent(makeView);
    const parentElement = document.createElement("div");
    const run = (fragment) => show({ parentElement, setTriggerValue: streamlit(fragment) });
    run(fragment);
    return { run, report: () => report({}) };
  });
  const reportBoth = async () => {
    const nBefore = batches.length;
    views[1].report();
    views[0].report();
    streamlit("button")();
    while (batches.flat().length < nBefore + 3) await new Promise((done) => setTimeout(done, 5));
  };
  await reportBoth();
  views[1].run("new-fragment");
  await reportBoth();
  return batches;
}"""


def test_views_are_created_once_and_messages_are_sent_one_by_one(empty_page: Page) -> None:
    requests: list[str] = []
    console_messages: list[str] = []
    empty_page.on("request", lambda request: requests.append(request.url))
    empty_page.on("pageerror", lambda error: console_messages.append(str(error)))
    empty_page.on("console", lambda message: console_messages.append(message.text))
    for view in COMPONENTS:
        assert mount_view(empty_page, view) == ["default"]
        expect(empty_page.locator(".hu")).to_have_count(1)
        empty_page.evaluate("window.unmount()")
        assert empty_page.evaluate("window.messages") == [], view
        assert [url for url in requests if not url.startswith("blob:")] == [], view
        assert console_messages == [], view

    data = headgrid_data([GRID], low=0, high=4, legend="")
    mount_view(empty_page, "headgrid", data)
    cell = empty_page.get_by_role("radio").nth(1)
    cell.click()
    expect(cell).to_have_attribute("aria-checked", "true")
    # A rerun with data in which no cell is selected.
    empty_page.evaluate("(data) => { window.run(data); }", data)
    cell.click()
    empty_page.wait_for_function("window.messages.length > 1")
    choice = ["trigger", "choice", {"grid": GRID.name, "row": 0, "column": 1}]
    assert empty_page.evaluate("window.messages") == [choice, choice]

    """Streamlit sends the messages of one tick as one message for one fragment; a view's fragment
    changes when an element above it appears or disappears."""
    messages = empty_page.evaluate(
        REPORT_IN_ONE_TICK,
        (Path(figures.__file__).parent / "browser/common/mount.js").read_text("utf-8"),
    )
    assert messages == [["button"], ["glance"], ["page"], ["button"], ["new-fragment"], ["page"]]


def test_a_script_is_requested_once_and_not_resent_with_data(app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    requests: list[str] = []
    sizes: list[int] = []
    page.on(
        "request", lambda request: requests.append(request.url) if FOLDER in request.url else None
    )

    def record_frame_sizes(socket: Any) -> None:
        socket.on("framereceived", lambda frame: sizes.append(len(frame)))

    page.on("websocket", record_frame_sizes)
    page.goto(f"{app}/?depth=heads&text=Hello.")
    page.locator(".hu-mosaic [role=radio]").first.wait_for()
    wait_for_script_run(page)
    sizes.clear()
    page.goto(f"{app}/?depth=heads&text=Good night.")
    expect(page.get_by_label("English")).to_have_value("Good night.")
    page.locator(".hu-mosaic [role=radio]").first.wait_for()
    wait_for_script_run(page)
    explorers = [url for url in requests if "/explorer-" in url]
    assert {url.removeprefix(f"{app}/") for url in explorers} == {path("explorer")}
    assert 0 < sum(sizes) < len(served_script("explorer"))
