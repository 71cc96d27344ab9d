"""A link to a server that has just started, and the first action after a server's restart."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from tests.browser.conftest import PagePool
from tests.live_app import app_server, wait_for_script_run, wait_until


def test_a_link_opens_on_a_new_server_and_a_sentence_typed_after_its_restart_is_kept(
    checkpoints: Path, page: Page, page_pool: PagePool
) -> None:
    with app_server(checkpoints) as (address, server):
        fields = "view=heatmap&kind=decoder&layer=1&head=1&exact=1"
        page.goto(f"{address}/?depth=heads&text=A+pilot+sells+bread.&{fields}")
        expect(page.locator(".hu-code")).to_have_text('trace.weights("decoder", layer=1)[1]')
        expect(page.get_by_label("Your sentence")).to_have_value("A pilot sells bread.")
        expect(page.get_by_role("link", name="Try", exact=True)).to_be_visible()
        assert page.get_by_test_id("stSidebarNav").count() == 0
        assert page.get_by_test_id("stSidebar").count() == 0
        page.locator(".hu-canvas").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".hu-tip strong")).to_have_text("masked")
        page.close()  # or the end of the server would be recorded as an error

        page, _ = page_pool.new()  # the lost connection is an error in its console
        page.goto(f"{address}/inside?text=We are late.")
        expect(page.get_by_label("English")).to_have_value("We are late.")
        wait_for_script_run(page)
        # Drawn by the script that disables the page after a reconnect, so that script is loaded.
        expect(page.get_by_role("button", name="Share")).to_be_visible()
        server.kill()
        page.locator(
            "[data-test-connection-state]:not([data-test-connection-state=CONNECTED])"
        ).wait_for()
    with app_server(checkpoints, port=urlsplit(address).port or 0):
        page.locator("[data-test-connection-state=CONNECTED]").wait_for()
        page.get_by_label("English").click()  # `fill` alone would also type into a disabled page
        page.get_by_label("English").fill("It works again.")
        page.get_by_label("English").press("Enter")
        wait_until(page, "() => location.search.includes('It+works+again')", timeout=60)
        expect(page.get_by_label("English")).to_have_value("It works again.")
    page.context.close()
