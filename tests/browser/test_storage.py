"""What the app stores in a browser: SECURITY.md must list all of it."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run
from transformer.ui.base.registry import PAGES, path
from transformer.ui.base.visitor import COOKIE, ID

SECURITY = (Path(__file__).resolve().parents[2] / "SECURITY.md").read_text(encoding="utf-8")
READ_STORAGE = """async () => ({
  local: Object.keys(localStorage),
  session: Object.keys(sessionStorage),
  databases: (await indexedDB.databases()).map((database) => database.name),
  caches: await caches.keys(),
})"""


def test_security_md_lists_all_that_is_stored_and_no_script_reads_the_visitor_cookie(
    app: str, new_page: NewPage
) -> None:
    """Visit all pages, choose the larger size and save a view, then read cookies and storage."""
    page = new_page(alone=True)
    page.goto(f"{app}/?depth=heads")
    page.get_by_role("heading", level=1).wait_for()
    wait_for_script_run(page)
    visitor = {cookie["name"]: cookie for cookie in page.context.cookies()}[COOKIE]
    assert ID.fullmatch(visitor["value"])
    assert visitor["httpOnly"]
    assert COOKIE not in page.evaluate("document.cookie")
    page.get_by_role("button", name="Larger").click()
    wait_for_script_run(page)
    page.get_by_role("button", name="Saved", exact=True).click()
    dialog = page.get_by_role("dialog", name="Saved views")
    dialog.get_by_role("button", name="Save this view").click()
    expect(dialog.get_by_label("Name of the view")).to_have_count(1)
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
    assert names == {*re.findall(r"^\| (?:cookie|localStorage) `(.+?)`", SECURITY, flags=re.M)}
