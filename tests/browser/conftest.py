"""A real browser, the app on a free port, and pages that fail the test if anything went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from benchmarks.browser import chromium, served

# Opened by a deep link, Streamlit asks for these two beside the page before it asks at the root.
ASKED_IN_VAIN = ("/_stcore/health", "/_stcore/host-config")
PATIENCE = 60_000  # ms, for a busy machine; what is there is seen at once
expect.set_options(timeout=PATIENCE)
NewPage = Callable[..., Page]


@pytest.fixture(scope="session")
def app(checkpoints: Path) -> Iterator[str]:
    """The address of the app with the tiny checkpoint."""
    with served(checkpoints, HEADS_UP_RUNS=str(checkpoints.parent / "runs")) as (address, _):
        yield address


# For a module, not the session: while it runs, so does an event loop that other tests trip over.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Pages 1400 wide and light, unless asked otherwise. What they say in the console or throw,
    and what they ask of anyone but the app, fails the test."""
    contexts, wrong = [], []

    def heard(message: ConsoleMessage) -> None:
        probing = message.location["url"].endswith(ASKED_IN_VAIN)
        if message.type in ("error", "warning") and not probing:
            wrong.append(f"console: {message.text}")

    def open_page(width: int = 1400, scheme: Any = "light", **more: Any) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **more
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", heard)
        page.on("pageerror", lambda error: wrong.append(f"thrown: {error}"))
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: asked.append(request.url))
        return page

    asked: list[str] = []
    yield open_page
    for context in contexts:
        context.close()
    ours = ("http://localhost:", "ws://localhost:", "data:", "blob:", "file:")
    wrong += [f"asked {url}" for url in asked if not url.startswith(ours)]
    assert not wrong


@pytest.fixture
def page(new_page: NewPage) -> Page:
    return new_page()
