"""The static site with wrong input, missing or damaged files, cut downloads and no storage."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Route, expect

from tests.browser.conftest import ELEMENT_TIMEOUT_MS, NewPage
from tests.browser.site_page import translation_when_finished, wait_until_ready
from tests.live_app import FLAGS, http_server
from transformer import Translator

TEXT = "Who gave you that blue book?"


def test_wrong_input_and_hostile_links_get_one_sentence_and_a_working_page(
    site_address: str, new_page: NewPage, en_fr: Translator
) -> None:
    page = new_page(alone=True)
    page.goto(site_address)
    wait_until_ready(page)
    field = page.get_by_label("Your sentence, in English")
    for text, problem in (
        ("", "Type a few words"),
        ("🎉🎉 +", "The text contains only symbols; type a word."),
        ("\u200d\u2060", "Type a few words"),
        ("word " * 1000, "at most 512 can be translated at once"),
    ):
        field.fill(text)
        expect(page.get_by_role("alert").filter(has_text=problem)).to_be_visible()
    field.fill("<script>alert(1)</script> <b>cat</b> 🎉")
    expect(page.get_by_role("alert").filter(has_text=re.compile("."))).to_have_count(0)
    expect(page.get_by_role("group", name=re.compile("Source words"))).to_contain_text("<b>")

    page = new_page(alone=True)
    page.goto(f"{site_address}?text=Thank+you.")
    wait_until_ready(page)
    assert translation_when_finished(page) == "Merci."
    page.get_by_label("Your sentence, in English").fill("+")
    expect(page.get_by_role("alert").filter(has_text="only symbols")).to_be_visible()
    expect(page.get_by_text("Merci.")).to_be_visible()  # the model's last translation
    page.get_by_label("Model", exact=True).select_option("en-de")
    expect(page.get_by_role("alert").filter(has_text="only symbols")).to_be_visible()
    expect(page.get_by_text("Merci.")).to_be_hidden()

    names = ("__proto__", "constructor", "toString", "hasOwnProperty")
    fields = ("page", "depth", "model", "ablation", "kind", "measure", "order", "combine", "view")
    for name, depth in zip(names, ("bands", "heads", "steps", "off"), strict=True):
        hostile = {**dict.fromkeys(fields, name), "depth": depth, "off": "c5", "text": TEXT}
        page.goto(f"{site_address}?{urlencode(hostile)}")
        page.reload()  # else nothing is loaded for an address that differs only after the "?"
        wait_until_ready(page)
        expect(page.get_by_label("Your sentence, in English")).to_have_value(TEXT)
        shown = {"bands": "^Source words", "off": "^Cross-attention", "steps": "^The translation"}
        label = re.compile(shown.get(depth, "Choose a layer and a head"))
        expect(page.get_by_label(label).filter(visible=True).first).to_be_visible()
    page.goto(f"{site_address}?depth=constructor&text={TEXT}")
    wait_until_ready(page)
    assert translation_when_finished(page) == en_fr.translate(TEXT, method="greedy").text
    page.goto(f"{site_address}learn.html?lesson=umbrella&model=__proto__")
    page.locator(".hu-lesson-option").first.wait_for()
    page.goto(f"{site_address}learn.html?lesson=__proto__")
    expect(page.get_by_role("alert")).to_contain_text("There is no lesson “__proto__”.")


def test_a_truncated_model_is_reported_and_typing_fetches_a_failed_one_again(
    site: Path, site_address: str, new_page: NewPage, tmp_path: Path, en_fr: Translator
) -> None:
    """`tests/figures/scripts/model-files.test.js` checks damaged files and cut downloads."""
    weights = Path("models/en-fr/model.safetensors")
    shutil.copytree(site, tmp_path / "truncated", copy_function=os.link)
    (tmp_path / "truncated" / weights).unlink()
    (tmp_path / "truncated" / weights).write_bytes((site / weights).read_bytes()[:100_000])
    with http_server(tmp_path / "truncated") as address:
        page = new_page(alone=True)
        vocabulary_requests: list[Route] = []
        page.context.route(
            re.compile(r"/vocabulary\.model\?"), lambda route: vocabulary_requests.append(route)
        )
        page.goto(address)
        status = page.get_by_role("status").filter(has_text="must have")
        expect(status).to_be_visible()
        with page.expect_response(re.compile(r"/vocabulary\.model\?")):
            # The vocabulary is requested after the model's error is reported.
            vocabulary_requests[0].continue_()
        page.wait_for_timeout(500)
        expect(status).to_be_visible()
        expect(page.get_by_text("reload the page to fetch it again").first).to_be_visible()
        page = new_page(alone=True)
        page.add_init_script("delete window.Worker")
        page.goto(address)
        expect(page.get_by_text("does not support module workers").first).to_be_visible()

    browser = new_page(alone=True).context.browser
    assert browser is not None
    page = browser.new_context().new_page()  # not the fixture's, as errors are expected
    page.set_default_timeout(ELEMENT_TIMEOUT_MS)
    requests = iter([503])

    def answer(route: Route) -> None:
        status = next(requests, None)
        route.fulfill(status=status) if status else route.continue_()

    page.context.route(re.compile(r"/model\.safetensors"), answer)
    page.goto(site_address)
    problem = page.locator(".hu-live-loading [role=status]")
    expect(problem).to_contain_text("the server answers 503")
    page.get_by_label("Your sentence, in English").fill(TEXT)
    words = page.get_by_role("group", name=re.compile("Translated words"))
    expected = en_fr.translate(TEXT, method="greedy").text
    expect(words.get_by_role("button").last).to_have_text(expected.split()[-1])
    page.context.close()


def test_the_site_works_where_storage_is_forbidden_and_says_so(
    site_address: str, new_page: NewPage, en_fr: Translator, tmp_path: Path
) -> None:
    """A browser whose settings block cookies refuses every kind of storage."""
    blocked = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (tmp_path / "Default").mkdir()
    (tmp_path / "Default" / "Preferences").write_text(json.dumps(blocked))
    browser = new_page(alone=True).context.browser
    assert browser is not None
    context = browser.browser_type.launch_persistent_context(
        str(tmp_path), executable_path=shutil.which("chromium"), args=FLAGS
    )
    try:
        page = context.new_page()
        page.set_default_timeout(ELEMENT_TIMEOUT_MS)
        not_stored = page.get_by_role("status").filter(has_text="this browser cannot store it")
        page.goto(f"{site_address}?text={TEXT.replace(' ', '+')}")
        expect(not_stored).to_be_visible()
        words = page.get_by_role("group", name=re.compile("Translated words"))
        expected = en_fr.translate(TEXT, method="greedy").text
        expect(words.get_by_role("button").last).to_have_text(expected.split()[-1])
        page.get_by_role("button", name="All heads", exact=True).click()
        expect(page.get_by_text("Pin a word")).to_be_visible()
        page.goto(f"{site_address}learn.html?lesson=umbrella")
        expect(not_stored).to_be_visible()
        page.locator(".hu-lesson-option").first.click()
        expect(page.locator(".hu-lesson-answer")).to_be_visible()
        read_storage = (
            "() => { try { return localStorage.length } catch (error) { return error.name } }"
        )
        assert page.evaluate(read_storage) == "SecurityError"
    finally:
        context.close()
