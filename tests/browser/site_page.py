"""The first page of the static site in a browser."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect


def wait_until_ready(page: Page) -> None:
    expect(page.locator(".hu-live-bar")).to_be_hidden()


def translation_when_finished(page: Page) -> str:
    """Wait until the first page has translated; return the translated words."""
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
    words = page.get_by_role("group", name=re.compile("Translated words")).get_by_role("button")
    return " ".join(words.all_inner_texts())
