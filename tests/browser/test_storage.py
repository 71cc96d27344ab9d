"""What the app stores in a browser, which SECURITY.md must list, and how it loads its scripts."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, WebSocket, expect

from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run, wait_until
from transformer.api.visitors import COOKIE, ID
from transformer.figures.views import served_script
from transformer.ui.base.registry import PAGES, path
from transformer.ui.services import view_scripts
from transformer.ui.widgets.class_line import CODE_COOKIE

SECURITY = (Path(__file__).resolve().parents[2] / "SECURITY.md").read_text(encoding="utf-8")
READ_STORAGE = """async () => ({
  local: Object.keys(localStorage),
  session: Object.keys(sessionStorage),
  databases: (await indexedDB.databases()).map((database) => database.name),
  caches: await caches.keys(),
})"""


def check_scripts_are_requested_once_and_not_resent_with_data(page: Page, app: str) -> None:
    requests: list[str] = []
    sizes: list[int] = []

    def record_frame_sizes(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: sizes.append(len(frame)))

    page.on("request", lambda request: requests.append(request.url))
    page.on("websocket", record_frame_sizes)
    for text in ("Hello.", "Good night."):
        sizes.clear()
        page.goto(f"{app}/?depth=heads&text={text}")
        expect(page.get_by_label("Your sentence")).to_have_value(text)
        page.locator(".hu-mosaic [role=radio]").first.wait_for()
        wait_for_script_run(page)
    explorers = [url for url in requests if f"/{view_scripts.FOLDER}/try-" in url]
    assert {url.removeprefix(f"{app}/") for url in explorers} == {view_scripts.path("try")}
    preloaded = [url for url in requests if url == f"{app}/api/models"]
    assert len(preloaded) == 2, "the client does not use what the browser has requested in advance"
    assert 0 < sum(sizes) < len(served_script("try")), "the script is sent with the data"


def test_a_visit_stores_what_security_md_lists_and_loads_a_script_once(
    app: str, new_page: NewPage
) -> None:
    """Visit all pages, choose the larger size, then read cookies and storage."""
    page = new_page(alone=True)
    check_scripts_are_requested_once_and_not_resent_with_data(page, app)
    visitor = {cookie["name"]: cookie for cookie in page.context.cookies()}[COOKIE]
    assert ID.fullmatch(visitor["value"])
    assert visitor["httpOnly"]
    assert COOKIE not in page.evaluate("document.cookie"), "a script can read the cookie"
    page.get_by_role("button", name="Larger").click()
    wait_until(page, "() => document.cookie.includes('heads_up_size=large')")
    for file in PAGES:
        page.goto(f"{app}/{path(file)}")
        page.get_by_role("heading", level=1).wait_for()
        wait_for_script_run(page)
    cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
    stored = page.evaluate(READ_STORAGE)
    assert cookies[COOKIE]["value"] == visitor["value"]
    assert cookies["heads_up_size"]["expires"] == -1  # removed when the browser closes
    assert cookies["heads_up_size"]["value"] == "large"
    names = {*cookies, *(name for names in stored.values() for name in names)}
    names = {re.sub(r"(?<=^stActiveTheme-).*(?=-v2$)", "…", name) for name in names}
    names.add(CODE_COOKIE)  # of a browser that has been in a class
    assert names == {*re.findall(r"^\| (?:cookie|localStorage) `(.+?)`", SECURITY, flags=re.M)}
