"""A view's script in a real browser: asked for once, kept, and asked for again where it failed."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Route, expect

from benchmarks.browser import settled
from tests.browser.conftest import NewPage
from transformer.figures.views import served
from transformer.ui.server.view_scripts import FOLDER, path

pytestmark = pytest.mark.browser


def test_a_script_is_asked_for_once_and_not_sent_with_a_sentence(
    app: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    asked: list[str] = []
    heard: list[int] = []
    page.on("request", lambda request: asked.append(request.url) if FOLDER in request.url else None)

    def connected(socket: Any) -> None:
        socket.on("framereceived", lambda frame: heard.append(len(frame)))

    page.on("websocket", connected)
    page.goto(f"{app}/attention?text=Hello.")
    page.locator(".hu-mosaic [role=radio]").first.wait_for()
    settled(page)
    heard.clear()
    page.goto(f"{app}/attention?text=Good night.")
    expect(page.get_by_label("English")).to_have_value("Good night.")
    page.locator(".hu-mosaic [role=radio]").first.wait_for()
    settled(page)
    explorers = [url for url in asked if "/explorer-" in url]
    assert {url.removeprefix(f"{app}/") for url in explorers} == {path("explorer")}
    assert 0 < sum(heard) < len(served("explorer"))


def test_a_script_that_did_not_come_is_asked_for_again(app: str, new_page: NewPage) -> None:
    page = new_page().context.new_page()  # its console complains of what the test does
    tries: list[str] = []

    def lost(route: Route) -> None:
        tries.append(route.request.url)
        if len(tries) < 3:
            route.abort()
        else:
            route.continue_()

    page.route(f"**/{FOLDER}explorer-*", lost)
    page.goto(f"{app}/attention")
    page.locator(".hu-mosaic [role=radio]").first.wait_for()
    assert [url.partition("?")[2] for url in tries] == ["", "1", "2"]
