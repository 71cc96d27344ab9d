"""The static site as a visitor uses it: type, switch heads off, learn, go offline."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.explorer_file import bounding_box
from tests.browser.site_page import translation_when_finished, wait_until_ready
from tests.live_app import http_server, wait_until
from transformer import Translator
from transformer.analysis.interventions.switching import named_heads, switched_off
from transformer.app_folders import APP_FOLDER
from transformer.lessons import course
from transformer.ui.base.registry import PAGES

TEXT = "Who gave you that blue book?"
FILES = ("learn.html", "train.html", "clinic.html")


def test_a_sentence_is_translated_as_in_python(
    site_address: str, new_page: NewPage, en_fr: Translator
) -> None:
    page = new_page(alone=True)
    page.goto(site_address)
    wait_until_ready(page)
    field = page.get_by_label("Your sentence, in English")
    field.fill(TEXT)
    expected = en_fr.translate(TEXT, method="greedy").text
    last_word = expected.split()[-1]
    words = page.get_by_role("group", name=re.compile("Translated words"))
    expect(words.get_by_role("button").last).to_have_text(last_word)
    assert translation_when_finished(page) == expected
    assert "text=Who" in page.url
    page.get_by_role("button", name="Open this head").click()
    # Selected by the script, which then listens to clicks.
    heads_tab = page.get_by_role("tab", name="Heads", exact=True)
    expect(heads_tab).to_have_attribute("aria-selected", "true")
    assert "depth=heads" in page.url
    view_address = page.url
    page.get_by_role("button", name="More tools").click()
    for name in ("Model", "Heatmap", "Query–key", "Decoding", "Compare"):
        page.get_by_role("tab", name=name).click()
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        expect(page.get_by_text("Loading the").locator("visible=true")).to_have_count(0)
    page.go_back()
    expect(field).to_have_value(TEXT)
    page.goto(view_address)  # the address restores the view
    expect(page.get_by_text("Pin a word")).to_be_visible()
    expect(page.get_by_label("Your sentence, in English")).to_have_value(TEXT)
    field.fill(TEXT)
    page.reload()  # at once: the address already has the text
    expect(field).to_have_value(TEXT)


@pytest.mark.journey
def test_it_works_offline(site: Path, new_page: NewPage, en_fr: Translator) -> None:
    page = new_page(alone=True)
    with http_server(site) as site_address:
        page.goto(site_address)
        wait_until_ready(page)
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        # The site's files are cached once its service worker is active.
        page.evaluate(
            "navigator.serviceWorker.ready.then(({ active }) => active.state === 'activated' ||"
            " new Promise((done) => active.addEventListener('statechange', done)))"
        )
    page.goto(f"{site_address}?text={TEXT.replace(' ', '+')}")  # the server has stopped
    wait_until_ready(page)
    expected = en_fr.translate(TEXT, method="greedy").text
    words = page.get_by_role("group", name=re.compile("Translated words"))
    expect(words.get_by_role("button").last).to_have_text(expected.split()[-1])
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Learn").click()
    page.get_by_role("button", name="Start the course").click()
    page.locator(".hu-lesson-option").first.wait_for()


def test_heads_are_switched_off_in_another_language_and_on_a_phone(
    site_address: str, new_page: NewPage
) -> None:
    translator = Translator.load(APP_FOLDER / "checkpoints" / "en-de", device="cpu")
    page = new_page(alone=True)
    page.goto(site_address)
    page.get_by_label("Your sentence, in English").fill(TEXT)
    page.get_by_label("Model", exact=True).select_option("en-de")
    page.get_by_role("button", name="Switch off", exact=True).click()
    wait_until_ready(page)
    expect(page.get_by_label("Your sentence, in English")).to_have_value(TEXT)
    results = page.locator(".hu-live-results")
    expected_text = translator.translate(TEXT, method="greedy").text
    expect(results).to_contain_text(expected_text)
    page.get_by_role("switch", name="Cross-attention", exact=True).click()
    off = ",".join(f"c{layer}" for layer in range(translator.model.config.n_layers))
    hooks = switched_off(translator.model.config, named_heads(translator.model.config, off))
    altered = translator.translate(TEXT, method="greedy", hooks=hooks).text
    expect(results.get_by_text("After the change")).to_be_visible()
    second = results.locator("section").nth(1).locator("p")
    assert second.inner_text().removesuffix(" … (stopped at the maximum length)") == altered
    page.get_by_role("button", name="Compare every head").click()
    expect(page.get_by_text("heads differ")).to_be_visible()
    page.get_by_role("button", name="Restore everything").click()
    expect(page.get_by_text("Side B is the same sentence with the changes")).to_be_hidden()

    page = new_page(390, alone=True, has_touch=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(site_address)
    wait_until_ready(page)
    translation_when_finished(page)
    page.get_by_role("switch", name="layer 6, head 8", exact=True).tap()
    words = page.get_by_role("group", name=re.compile("Translated words"))
    expect(words).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("Without L6·H8")).to_be_in_viewport()
    page.get_by_role("button", name="Switch off", exact=True).tap()
    page.get_by_role("switch", name="Cross-attention, layer 6, head 1", exact=True).tap()
    expect(page.get_by_text("After the change")).to_be_in_viewport()

    page.emulate_media(color_scheme="dark")
    for path in ("", "?depth=heads", "?depth=steps", "?depth=off&off=c5.0", *FILES):
        page.goto(site_address + path)
        if not path.endswith(".html"):
            wait_until_ready(page)
        if "heads" in path:
            expect(page.get_by_text("Pin a word")).to_be_visible()
        if "off" in path:
            expect(page.get_by_text("After the change")).to_be_visible()
        for width in (390, 320):  # 320: also a window of 1280 pixels at 400 %, see WCAG 1.4.10
            page.set_viewport_size({"width": width, "height": 844})
            wait_until(page, f"document.documentElement.scrollWidth <= {width}", timeout=30)
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(18, 22, 28)"
        for figure in page.locator(".hu").all():
            assert figure.evaluate("node => getComputedStyle(node).color") == "rgb(232, 235, 239)"


def test_lessons_ask_the_live_model_and_open_what_the_site_has(
    site_address: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    picture, card = page.locator(".hu-lesson-picture"), page.locator(".hu-lesson")
    for width, height, lowest in ((1366, 768, 300), (390, 844, 420)):
        page.set_viewport_size({"width": width, "height": height})
        for name in ("umbrella", "infinity"):  # made in the browser, and by Python
            page.goto(f"{site_address}learn.html?lesson={name}")
            expect(picture.locator(".hu-hidden").first).to_be_visible()
            assert bounding_box(picture)["y"] <= lowest
    card.locator(".hu-lesson-option").first.click()
    expect(picture.locator(".hu-hidden")).to_have_count(0)
    expect(card).to_contain_text("The full app shows this in Look inside.")
    expect(card.get_by_role("button", name="Open in")).to_have_count(0)

    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(f"{site_address}learn.html")
    page.get_by_role("button", name="Start the course").click()
    card.locator(".hu-lesson-option", has_text="her").click()
    expect(card.locator(".hu-lesson-answer")).to_contain_text("Correct.")
    assert page.evaluate("document.activeElement.className").startswith("hu-lesson-answer")
    card.get_by_role("button", name="Open in All heads").click()
    expect(page.locator(".hu-main .hu-title")).to_be_visible()
    expect(page.locator(".hu-pins")).to_be_hidden()
    card.get_by_role("button", name="Next").click()
    expect(card).to_contain_text(course.CORE[1].title)
    page.go_back()
    expect(card).to_contain_text(course.CORE[0].title)
    page.goto(f"{site_address}learn.html?lesson=off")  # asked on the page Try
    page.wait_for_url(re.compile(r"index\.html\?(.*&)?lesson=off"))
    card.get_by_role("button", name="Show the answer").click()
    page.wait_for_url(re.compile(r"off=c\d"))
    card.get_by_role("button", name="Check").click()
    expect(card).to_contain_text("Correct. Without these heads the translation is")
    page.goto(f"{site_address}learn.html?lesson=reverse")
    card.locator(".hu-lesson-option").first.click()
    card.get_by_role("button", name="Open in Train").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()  # the film of its training


def test_its_pages_link_to_each_other(site: Path, site_address: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    page.goto(site_address)
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    places = ("app.py", "pages/learn.py", "pages/train.py")
    expect(links).to_have_text([PAGES[file].title for file in places])
    depths = page.get_by_role("group", name="How much to show").get_by_role("button")
    expect(depths).to_have_text([*PAGES["app.py"].depths.values()])
    page.get_by_role("link", name="Bug clinic").click()
    page.wait_for_url(f"{site_address}clinic.html*")
    links.nth(1).click()
    expect(links.nth(1)).to_have_attribute("aria-current", "page")
    page.locator(".hu-learn").get_by_role("button", name="Train →").click()
    page.wait_for_url(f"{site_address}train.html*")

    page = new_page(320, "dark", alone=True)
    for name in ("index.html", "learn.html"):
        page.goto(site_address + name)
        page.locator(".hu-station, .hu-place-card").first.wait_for()
        targets = "nodes => nodes.map((node) => node.href)"
        for target in page.eval_on_selector_all("a, link[rel=stylesheet]", targets):
            file = target.partition("?")[0].removeprefix(site_address)
            assert (site / (file or "index.html")).is_file(), f"{name} links to {target}"
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, name

    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    assert size <= 60_000_000  # 53 MB are the two models, 3.5 MB the films
    assert "connect-src 'self'" in (site / "index.html").read_text(encoding="utf-8")
    for path in (*site.rglob("*.js"), site / "index.html", site / "live.css"):
        for url in re.findall(r"https?://[^\s\"'`)]+", path.read_text(encoding="utf-8")):
            assert "w3.org" in url or "/scripts/" in path.as_posix(), f"{path.name} requests {url}"
