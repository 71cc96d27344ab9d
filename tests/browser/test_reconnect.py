"""A visitor's first action after a reconnect to a new session is not lost."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PagePool
from tests.live_app import app_server, wait_for_script_run, wait_until

pytestmark = pytest.mark.browser


def test_a_sentence_typed_directly_after_a_server_restart_is_kept(
    checkpoints: Path, page_pool: PagePool
) -> None:
    page, _ = page_pool.new()  # the lost connection is an error in its console
    with app_server(checkpoints) as (address, server):
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
