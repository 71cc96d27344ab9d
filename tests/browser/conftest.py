"""A real browser, the app on a free port, and pages that fail the test on any error."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, expect

import transformer.ui.pages  # noqa: F401 - registers the pages
from tests.browser import decoding_page
from tests.live_app import ROOT, app_server, chromium, http_server
from transformer import Translator
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.ui.services import models
from transformer.ui.site.static_site import write_site

# Optimising scripts costs more than it saves, as a page is open for seconds only. Requests to any
# host but this machine fail at once and are logged in the console.
FLAGS = (
    "--js-flags=--no-opt,--no-maglev",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",
)
REFUSAL = "the server responded with a status of 422"
"""A browser logs the answer to a sentence that is too long; the page says it as a sentence."""
UNFETCHED_SCRIPT = "An unknown error occurred when fetching the script."
"""Chromium's message if the server of a page ends while it registers its service worker."""
LATE_PRELOAD = "was preloaded using link preload but not used within a few seconds"
"""Chromium's warning on a slow machine, where Streamlit draws the page later than that."""
ELEMENT_TIMEOUT_MS = int(os.environ.get("BROWSER_TIMEOUT_MS", "180000"))
"""How long to wait for an element, in ms; long enough for a machine under heavy load."""
expect.set_options(timeout=ELEMENT_TIMEOUT_MS)
NewPage = Callable[..., Page]
CLEAR_STORAGE = (
    "() => { try { localStorage.clear(); sessionStorage.clear(); } catch { /* no origin */ } }"
)


# Streamlit's frontend warns when widgets of two fragments change within one tick, which happens
# by chance. The message to the server has all values, and the callbacks of all changed widgets
# run; only the second fragment is not redrawn by it.
TWO_FRAGMENTS = "Multiple different fragmentIds detected in a single batch of widget updates"


class PagePool:
    """A pool of pages that tests reuse, each in its own context.

    The browser's cache of the app's files is kept from test to test, as loading them takes most of
    the time; cookies, storage and the pointer are reset.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.used: list[Page] = []  # pages of the running test
        self._free: list[tuple[Page, list[str]]] = []

    def new(self, **options: Any) -> tuple[Page, list[str]]:
        """Open a page in a new context and record its errors."""
        errors: list[str] = []
        page = self.browser.new_context(**options).new_page()
        page.set_default_timeout(ELEMENT_TIMEOUT_MS)

        def record(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and not any(
                expected in message.text
                for expected in (TWO_FRAGMENTS, UNFETCHED_SCRIPT, REFUSAL, LATE_PRELOAD)
            ):
                errors.append(f"console: {message.text}")

        def dismiss(dialog: Dialog) -> None:
            errors.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("console", record)
        page.on("pageerror", lambda error: errors.append(f"thrown: {error.stack or error}"))
        page.on("dialog", dismiss)
        return page, errors

    def borrow(self) -> tuple[Page, list[str]]:
        """Return an unused page with an empty list of errors."""
        page, errors = self._free.pop() if self._free else self.new()
        errors.clear()
        return page, errors

    def give_back(self, page: Page, errors: list[str]) -> None:
        """Remove everything of this visitor from the page before it is reused."""
        if page.is_closed():
            page.context.close()
            return
        for other_page in page.context.pages:
            if other_page is not page:
                other_page.close()
        page.evaluate(CLEAR_STORAGE)
        page.goto("about:blank")
        page.mouse.move(0, 0)
        page.context.clear_cookies()
        self._free.append((page, errors))


@pytest.fixture(scope="session")
def app(checkpoints: Path) -> Iterator[str]:
    """Return the address of the app with the tiny checkpoint."""
    with app_server(checkpoints, HEADS_UP_RUNS=str(checkpoints.parent / "runs")) as (address, _):
        yield address


@pytest.fixture(scope="session")
def bundled_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of the app with the bundled checkpoints; the tiny one gives every sentence
    the same translation."""
    runs = tmp_path_factory.mktemp("bundled-app") / "runs"
    with app_server(ROOT / "checkpoints", HEADS_UP_RUNS=str(runs)) as (address, _):
        yield address


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the static site with the bundled checkpoints; do not write into it."""
    folder = tmp_path_factory.mktemp("site") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(models.FOLDER_VARIABLE, str(ROOT / "checkpoints"))
        patch.setenv("HEADS_UP_RUNS", str(folder.parent / "runs"))
        write_site(folder)
    return folder


@pytest.fixture(scope="session")
def site_address(site: Path) -> Iterator[str]:
    with http_server(site) as address:
        yield address


@pytest.fixture(scope="session")
def en_fr() -> Translator:
    """Return the default model of `bundled_app`."""
    return Translator.load(ROOT / "checkpoints" / "en-fr", device="cpu")


@pytest.fixture(scope="module")
def decoded_sentence(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> decoding_page.DecodedSentence:
    return decoding_page.decode_sentence(Translator(tiny_model, vocabulary))


# Limited to this folder: it keeps an event loop running that other tests must not see.
@pytest.fixture(scope="package")
def page_pool() -> Iterator[PagePool]:
    with chromium(*FLAGS) as browser:
        yield PagePool(browser)


@pytest.fixture
def new_page(page_pool: PagePool) -> Iterator[NewPage]:
    """Return a function that opens pages, by default 1400 pixels wide and in the light theme.

    Console messages, exceptions and requests to any host but the app fail the test. With `alone`,
    or any other setting of a context, the page gets its own context, which is closed after the
    test. Tests that set a page's clock or scripts need this, as these settings persist.
    """
    borrowed, own_pages = [], []

    def open_page(
        width: int = 1400, scheme: Any = "light", *, alone: bool = False, **options: Any
    ) -> Page:
        opened_page = page_pool.new(**options) if alone or options else page_pool.borrow()
        (own_pages if alone or options else borrowed).append(opened_page)
        page = opened_page[0]
        page_pool.used.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(
            color_scheme=scheme, reduced_motion=options.get("reduced_motion", "null")
        )
        return page

    yield open_page
    page_pool.used.clear()
    for page, errors in borrowed:
        page_pool.give_back(page, errors)
    for page, _ in own_pages:
        page.context.close()
    assert not [error for _, errors in borrowed + own_pages for error in errors]


@pytest.fixture
def page(new_page: NewPage) -> Page:
    return new_page()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the text of the open pages to the report of a failed test."""
    report = yield
    page_pool = item.funcargs.get("page_pool")
    if report.when != "teardown" and report.failed and isinstance(page_pool, PagePool):
        for page in page_pool.used:
            try:
                report.sections.append((page.url, page.inner_text("body", timeout=5_000)))
            except Error as error:
                report.sections.append((page.url, str(error)))
    return report
