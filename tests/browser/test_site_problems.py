"""The static site with wrong input, missing or damaged files, cut downloads and no storage."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
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
    page.get_by_label("Languages").select_option("en-de")
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
        label = re.compile(shown.get(depth, "choose a layer and a head"))
        expect(page.get_by_label(label).first).to_be_visible()
    page.goto(f"{site_address}?depth=constructor&text={TEXT}")
    wait_until_ready(page)
    assert translation_when_finished(page) == en_fr.translate(TEXT, method="greedy").text
    page.goto(f"{site_address}lessons/umbrella.html?model=__proto__")
    wait_until_ready(page)
    page.locator(".hu-lesson-panel").wait_for(state="attached")


def _copy_with_weights(site: Path, folder: Path, content: bytes) -> None:
    """Copy the site to `folder`, with another file of weights for its first model."""
    shutil.copytree(site, folder, copy_function=os.link)
    file = folder / "models" / "en-fr" / "model.safetensors"
    file.unlink()
    file.write_bytes(content)


def _check_an_interrupted_download(
    site: Path, new_page: NewPage, weights: bytes, en_fr: Translator
) -> None:
    """Check that it continues where it ended."""
    ranges: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith("/models/en-fr/model.safetensors"):
                return super().do_GET()
            ranges.append(self.headers.get("Range", ""))
            if len(ranges) == 2:
                return self.send_error(503)
            start = int(re.sub(r"\D", "", ranges[-1]) or 0)
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(weights) - start))
            self.end_headers()
            self.wfile.write(weights[start : None if start else len(weights) // 2])
            return None

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("localhost", 0), partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        browser = new_page(alone=True).context.browser
        assert browser is not None
        page = browser.new_context().new_page()  # not the fixture's, as errors are expected
        page.set_default_timeout(ELEMENT_TIMEOUT_MS)
        page.goto(f"http://localhost:{server.server_port}/")
        problem = page.locator(".hu-live-loading [role=status]")
        expect(problem).to_contain_text("try again to continue")
        field = page.get_by_label("Your sentence, in English")
        field.fill("Hello.")
        expect(problem).to_contain_text("the server answers 503")
        expect(page.locator(".hu-live-bar")).to_be_hidden()
        page.reload()
        field.fill(TEXT)
        expected = en_fr.translate(TEXT, method="greedy").text
        words = page.get_by_role("group", name=re.compile("Translated words"))
        expect(words.get_by_role("button").last).to_have_text(expected.split()[-1])
        assert ranges[0] == ""
        assert int(re.sub(r"\D", "", ranges[-1])) >= len(weights) // 4
        page.context.close()
    finally:
        server.shutdown()
        server.server_close()


def test_a_damaged_or_truncated_model_is_reported_and_an_interrupted_download_continues(
    site: Path, new_page: NewPage, tmp_path: Path, en_fr: Translator
) -> None:
    weights = (site / "models" / "en-fr" / "model.safetensors").read_bytes()
    damaged = bytes([*weights[:-1], weights[-1] ^ 1])
    _copy_with_weights(site, tmp_path / "damaged", damaged)
    with http_server(tmp_path / "damaged") as site_address:
        page = new_page(alone=True)
        page.goto(site_address)
        expect(page.get_by_role("status").filter(has_text="is damaged; reload")).to_be_visible()
    _copy_with_weights(site, tmp_path / "truncated", weights[:100_000])
    with http_server(tmp_path / "truncated") as site_address:
        page = new_page(alone=True)
        vocabulary_requests: list[Route] = []
        page.context.route(
            re.compile(r"/vocabulary\.model\?"), lambda route: vocabulary_requests.append(route)
        )
        page.goto(site_address)
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
        page.goto(site_address)
        expect(page.get_by_text("does not support module workers").first).to_be_visible()
    _check_an_interrupted_download(site, new_page, weights, en_fr)


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
        page.goto(f"{site_address}lessons/umbrella.html")
        expect(not_stored).to_be_visible()
        page.locator(".hu-lesson-panel").wait_for(state="attached")
        read_storage = (
            "() => { try { return localStorage.length } catch (error) { return error.name } }"
        )
        assert page.evaluate(read_storage) == "SecurityError"
    finally:
        context.close()
