"""The static site as a visitor uses it: type, switch heads off, go offline."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import ELEMENT_TIMEOUT_MS, NewPage
from tests.live_app import FLAGS, http_server
from transformer import Translator
from transformer.analysis.interventions.switching import named_heads, switched_off
from transformer.app_folders import APP_FOLDER
from transformer.ui.base.registry import PAGES
from transformer.ui.services import models
from transformer.ui.site.static_site import write_site
from transformer.ui.widgets.lessons import course

TEXT = "Who gave you that blue book?"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site_folder = tmp_path_factory.mktemp("site") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(models.FOLDER_VARIABLE, str(APP_FOLDER / "checkpoints"))
        patch.setenv("HEADS_UP_RUNS", str(site_folder.parent / "runs"))
        write_site(site_folder)
    return site_folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with http_server(site) as site_address:
        yield site_address


def _wait_until_ready(page: Page) -> None:
    expect(page.locator(".hu-live-bar")).to_be_hidden()


def _translation_when_finished(page: Page) -> str:
    """Wait until the first page has translated; return the translated words."""
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
    words = page.get_by_role("group", name=re.compile("Translated words")).get_by_role("button")
    return " ".join(words.all_inner_texts())


def test_a_sentence_is_translated_as_in_python(
    address: str, new_page: NewPage, en_fr: Translator
) -> None:
    page = new_page(alone=True)
    page.goto(address)
    _wait_until_ready(page)
    field = page.get_by_label("Your sentence, in English")
    field.fill(TEXT)
    expected = en_fr.translate(TEXT, method="greedy").text
    last_word = expected.split()[-1]
    words = page.get_by_role("group", name=re.compile("Translated words"))
    expect(words.get_by_role("button").last).to_have_text(last_word)
    assert _translation_when_finished(page) == expected
    assert "text=Who" in page.url
    page.get_by_role("button", name="Open this head").click()
    # Selected by the script, which then listens to clicks.
    heads_tab = page.get_by_role("tab", name="Heads", exact=True)
    expect(heads_tab).to_have_attribute("aria-selected", "true")
    assert "depth=heads" in page.url
    view_address = page.url
    for name in ("Model", "Heatmap", "Query–key", "Decoding", "Compare"):
        page.get_by_role("tab", name=name).click()
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        expect(page.get_by_text("Loading the").locator("visible=true")).to_have_count(0)
    page.go_back()
    expect(field).to_have_value(TEXT)
    page.goto(view_address)  # the address restores the view
    expect(page.get_by_text("Pin a word")).to_be_visible()
    expect(page.get_by_label("Your sentence, in English")).to_have_value(TEXT)


def test_a_head_is_switched_off_next_to_the_bands(
    address: str, new_page: NewPage, en_fr: Translator
) -> None:
    text = "If it rains, we will stay at home."
    page = new_page(alone=True)
    page.goto(f"{address}?text={text}")
    _wait_until_ready(page)
    assert _translation_when_finished(page) == en_fr.translate(text, method="greedy").text
    page.get_by_role("switch", name="layer 5, head 4", exact=True).click()
    hooks = switched_off(en_fr.model.config, [("cross", 4, 3)])
    expected = en_fr.translate(text, method="greedy", hooks=hooks).text
    words = page.get_by_role("group", name=re.compile("Translated words")).get_by_role("button")
    expect(words).to_have_text(expected.split())
    assert "off=c4.3" in page.url


@pytest.mark.slow
def test_heads_are_switched_off_and_the_other_language_pair_works(
    address: str, new_page: NewPage
) -> None:
    translator = Translator.load(APP_FOLDER / "checkpoints" / "en-de", device="cpu")
    page = new_page(alone=True)
    page.goto(address)
    page.get_by_label("Your sentence, in English").fill(TEXT)
    page.get_by_label("Languages").select_option("en-de")
    page.get_by_role("button", name="Switch off", exact=True).click()
    _wait_until_ready(page)
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
    page.get_by_role("button", name="All heads as trained").click()
    expect(page.get_by_text("Choose something to compare")).to_be_visible()


def test_it_works_offline(site: Path, new_page: NewPage, en_fr: Translator) -> None:
    page = new_page(alone=True)
    with http_server(site) as site_address:
        page.goto(site_address)
        _wait_until_ready(page)
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        # The site's files are cached once its service worker is active.
        page.evaluate(
            "navigator.serviceWorker.ready.then(({ active }) => active.state === 'activated' ||"
            " new Promise((done) => active.addEventListener('statechange', done)))"
        )
    page.goto(f"{site_address}?text={TEXT.replace(' ', '+')}")  # the server has stopped
    _wait_until_ready(page)
    expected = en_fr.translate(TEXT, method="greedy").text
    words = page.get_by_role("group", name=re.compile("Translated words"))
    expect(words.get_by_role("button").last).to_have_text(expected.split()[-1])
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("link", name="Begin: Whose umbrella?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Whose umbrella?")


def test_invalid_input_gets_one_sentence(address: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    page.goto(address)
    _wait_until_ready(page)
    field = page.get_by_label("Your sentence, in English")
    for text, problem in (
        ("", "Type a few words"),
        ("🎉🎉 +", "The text contains only symbols; type a word."),
        ("word " * 1000, "at most 512 can be translated at once"),
    ):
        field.fill(text)
        expect(page.get_by_role("alert").filter(has_text=problem)).to_be_visible()
    field.fill("<script>alert(1)</script> <b>cat</b> 🎉")
    expect(page.get_by_role("alert").filter(has_text=re.compile("."))).to_have_count(0)
    expect(page.get_by_role("group", name=re.compile("Source words"))).to_contain_text("<b>")


def _copy_with_weights(site: Path, folder: Path, content: bytes) -> None:
    """Copy the site to `folder`, with another file of weights for its first model."""
    shutil.copytree(site, folder, copy_function=os.link)
    file = folder / "models" / "en-fr" / "model.safetensors"
    file.unlink()
    file.write_bytes(content)


def test_a_truncated_or_damaged_model_and_missing_web_workers_are_reported(
    site: Path, new_page: NewPage, tmp_path: Path
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


@pytest.fixture
def broken_site(site: Path, tmp_path: Path) -> Path:
    """Return the folder of a copy of the site; its files may be replaced, not written into."""
    return Path(shutil.copytree(site, tmp_path / "broken", copy_function=os.link))


LOADING_PROBLEM = ".hu-live-loading [role=status]"


def _page_with_errors(new_page: NewPage, address: str) -> Page:
    """Open a page in which a failed request is expected: its console messages are not checked."""
    browser = new_page(alone=True).context.browser
    assert browser is not None
    page = browser.new_context().new_page()
    page.set_default_timeout(ELEMENT_TIMEOUT_MS)
    page.goto(address)
    return page


def test_a_missing_module_of_the_worker_is_named(broken_site: Path, new_page: NewPage) -> None:
    (broken_site / "scripts" / "model" / "beam.js").unlink()
    with http_server(broken_site) as address:
        page = _page_with_errors(new_page, address)
        expected = "the server answers 404 for scripts/model/beam.js."
        expect(page.locator(LOADING_PROBLEM)).to_contain_text(expected)
        page.get_by_label("Your sentence, in English").fill(TEXT)
        expect(page.get_by_text(re.compile("module workers"))).to_have_count(0)
        expect(page.locator(".hu-live-bar")).to_be_hidden()
        page.context.close()


@pytest.mark.parametrize("path", ["", "lessons/umbrella.html"])
def test_a_page_without_its_script_says_what_is_wrong(
    broken_site: Path, new_page: NewPage, path: str
) -> None:
    (broken_site / "live.js").unlink()
    with http_server(broken_site) as address:
        page = _page_with_errors(new_page, address + path)
        expect(page.get_by_text("a script is missing")).to_be_visible()
        page.goto((broken_site / (path or "index.html")).as_uri())
        expect(page.get_by_text("python -m http.server")).to_be_visible()
        page.context.close()


def test_an_interrupted_download_continues_where_it_ended(
    site: Path, new_page: NewPage, en_fr: Translator
) -> None:
    weights = (site / "models" / "en-fr" / "model.safetensors").read_bytes()
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
        page = _page_with_errors(new_page, f"http://localhost:{server.server_port}/")
        expect(page.locator(LOADING_PROBLEM)).to_contain_text("try again to continue")
        field = page.get_by_label("Your sentence, in English")
        field.fill("Hello.")
        expect(page.locator(LOADING_PROBLEM)).to_contain_text("the server answers 503")
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


def test_addresses_cannot_name_what_the_site_does_not_have(
    address: str, new_page: NewPage, en_fr: Translator
) -> None:
    page = new_page(alone=True)
    names = ("__proto__", "constructor", "toString", "hasOwnProperty")
    fields = ("page", "depth", "model", "ablation", "kind", "measure", "order", "combine", "view")
    for name, depth in zip(names, ("bands", "heads", "steps", "off"), strict=True):
        hostile = {**dict.fromkeys(fields, name), "depth": depth, "off": "c5", "text": TEXT}
        page.goto(f"{address}?{urlencode(hostile)}")
        page.reload()  # else nothing is loaded for an address that differs only after the "?"
        _wait_until_ready(page)
        expect(page.get_by_label("Your sentence, in English")).to_have_value(TEXT)
        shown = {"bands": "^Source words", "off": "^Cross-attention", "steps": "^The translation"}
        label = re.compile(shown.get(depth, "choose a layer and a head"))
        expect(page.get_by_label(label).first).to_be_visible()
    page.goto(f"{address}?depth=constructor&text={TEXT}")
    _wait_until_ready(page)
    assert _translation_when_finished(page) == en_fr.translate(TEXT, method="greedy").text
    page.goto(f"{address}lessons/umbrella.html?model=__proto__")
    _wait_until_ready(page)
    page.locator(".hu-lesson-panel").wait_for(state="attached")


@pytest.mark.parametrize("depth", ["heads", "steps", "off"])
def test_a_link_to_a_depth_says_what_it_waits_for(
    address: str, new_page: NewPage, depth: str
) -> None:
    page = new_page(alone=True)
    downloads: list[Route] = []
    page.context.route(re.compile(r"/model\.safetensors\?"), lambda route: downloads.append(route))
    page.goto(f"{address}?{urlencode({'depth': depth, 'text': TEXT})}")
    expect(page.get_by_text("as soon as the model is loaded")).to_be_visible()
    expect(page.get_by_label("Your sentence, in English")).to_have_value(TEXT)
    expect(page.locator(".hu-live-bar")).to_be_visible()
    expect(page.locator(".hu-explorer, .hu-live-check").locator("visible=true")).to_have_count(0)
    while not downloads:
        page.wait_for_timeout(50)
    downloads[0].continue_()
    expect(page.locator(".hu-explorer").first).to_be_visible()
    expect(page.get_by_text("as soon as the model is loaded")).to_be_hidden()


@pytest.mark.parametrize("text", ["?", "...", "Hello?!"])
def test_punctuation_is_translated_as_in_python(
    address: str, new_page: NewPage, en_fr: Translator, text: str
) -> None:
    page = new_page(alone=True)
    page.goto(f"{address}?{urlencode({'text': text})}")
    _wait_until_ready(page)
    expected = en_fr.translate(text, method="greedy").text
    assert _translation_when_finished(page).split() == expected.split()


def test_the_translation_stays_in_view_on_a_phone(address: str, new_page: NewPage) -> None:
    page = new_page(390, alone=True, has_touch=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address)
    _wait_until_ready(page)
    _translation_when_finished(page)
    page.get_by_role("switch", name="layer 6, head 8", exact=True).tap()
    words = page.get_by_role("group", name=re.compile("Translated words"))
    expect(words).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("Without L6·H8")).to_be_in_viewport()
    page.get_by_role("button", name="Switch off", exact=True).tap()
    page.get_by_role("switch", name="Cross-attention, layer 6, head 1", exact=True).tap()
    expect(page.get_by_text("After the change")).to_be_in_viewport()


NOT_STORED = "this browser cannot store it"


def _check_use_without_storage(page: Page, address: str, en_fr: Translator) -> None:
    """Check that the pages work and report that the browser cannot store the model."""
    page.goto(f"{address}?text={TEXT.replace(' ', '+')}")
    expect(page.get_by_role("status").filter(has_text=NOT_STORED)).to_be_visible()
    words = page.get_by_role("group", name=re.compile("Translated words"))
    expected = en_fr.translate(TEXT, method="greedy").text
    expect(words.get_by_role("button").last).to_have_text(expected.split()[-1])
    page.get_by_role("button", name="All heads", exact=True).click()
    expect(page.get_by_text("Pin a word")).to_be_visible()
    page.goto(f"{address}lessons/umbrella.html")
    expect(page.get_by_role("status").filter(has_text=NOT_STORED)).to_be_visible()
    page.locator(".hu-lesson-panel").wait_for(state="attached")


def test_full_storage_is_reported(address: str, new_page: NewPage, en_fr: Translator) -> None:
    page = new_page(alone=True)
    quota = {"origin": address.rstrip("/"), "quotaSize": 1_000}
    page.context.new_cdp_session(page).send("Storage.overrideQuotaForOrigin", quota)
    _check_use_without_storage(page, address, en_fr)


def test_forbidden_storage_is_reported(
    address: str, new_page: NewPage, en_fr: Translator, tmp_path: Path
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
        _check_use_without_storage(page, address, en_fr)
        read_storage = (
            "() => { try { return localStorage.length } catch (error) { return error.name } }"
        )
        assert page.evaluate(read_storage) == "SecurityError"
    finally:
        context.close()


@pytest.mark.slow
def test_everything_fits_a_phone(address: str, new_page: NewPage) -> None:
    page = new_page(390, "dark", alone=True)
    for path in ("", "?depth=heads", "?depth=steps", "?depth=off&off=c5.0", "learn.html"):
        page.goto(address + path)
        if not path.endswith(".html"):
            _wait_until_ready(page)
        if "heads" in path:
            expect(page.get_by_text("Pin a word")).to_be_visible()
        if "off" in path:
            expect(page.get_by_text("After the change")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(18, 22, 28)"
        for figure in page.locator(".hu").all():
            assert figure.evaluate("node => getComputedStyle(node).color") == "rgb(232, 235, 239)"


def test_a_lesson_opens_the_live_model(address: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    page.goto(f"{address}learn.html")
    page.get_by_role("link", name="Begin: Whose umbrella?").click()
    wrong = page.locator("details", has_text="Incorrect").first
    wrong.locator("summary").click()
    expect(wrong).to_have_attribute("open", "")
    right = page.locator("details", has_text="✓ Correct")
    right.locator("summary").click()
    expect(wrong).not_to_have_attribute("open", "")  # one guess at a time
    page.locator(".hu-lesson-panel").wait_for(state="attached")  # the model has answered
    page.get_by_text("Show the answer").click()
    expect(page.get_by_role("tab", name="Heads", exact=True)).to_be_visible()
    expect(page.get_by_text("Pin a word").first).to_be_visible()
    page.get_by_role("navigation", name="Steps").get_by_role("link").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(course.CORE[1].title)


@pytest.mark.slow
def test_every_link_leads_to_a_page_of_the_site(
    site: Path, address: str, new_page: NewPage
) -> None:
    page = new_page(390, "dark", alone=True)
    steps = [*(site / "lessons").iterdir()]
    assert {path.stem for path in steps} == {lesson.name for lesson in course.LESSONS}
    for path in (site / "learn.html", *steps):
        page.goto(address + path.relative_to(site).as_posix())
        targets = "nodes => nodes.map((node) => node.href ?? node.src)"
        for target in page.eval_on_selector_all("a, iframe, link[rel=stylesheet]", targets):
            file = target.partition("?")[0].removeprefix(address)
            assert (site / (file or "index.html")).is_file(), (path.name, target)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path.name


def test_the_lesson_on_training_shows_the_film_that_it_names(
    address: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    page.goto(f"{address}lessons/reverse.html")
    page.get_by_text("Show the answer").click()
    film = page.frame_locator("iframe")
    expect(film.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_the_site_names_its_pages_and_depths_as_the_app_does(
    address: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    page.goto(address)
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    places = ("app.py", "pages/learn.py", "pages/train.py")
    expect(links).to_have_text([PAGES[file].title for file in places])
    depths = page.get_by_role("group", name="How much to show").get_by_role("button")
    expect(depths).to_have_text([*PAGES["app.py"].depths.values()])
    links.nth(1).click()
    expect(links.nth(1)).to_have_attribute("aria-current", "page")


def test_a_film_plays_from_its_first_step(address: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    page.goto(f"{address}films/toy-reverse.html")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    # Heads are numbered from 1; special tokens such as <s> are not shown. The layer in which the
    # antidiagonal forms comes first.
    heads = page.locator(".hu-mosaic [aria-label^=layer]")
    expect(heads.first).to_have_attribute("aria-label", re.compile("^layer 2, head 1"))
    expect(heads.last).to_have_attribute("aria-label", re.compile("^layer 1, head 4"))
    expect(page.locator(".hu")).not_to_contain_text("<s>")


def test_the_site_is_small_and_requests_no_other_host(site: Path) -> None:
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    assert size <= 62_000_000  # 53 MB are the two models, 1 MB the French pairs to train on
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "connect-src 'self'" in page
    for path in (*site.rglob("*.js"), site / "index.html", site / "live.css"):
        for url in re.findall(r"https?://[^\s\"'`)]+", path.read_text(encoding="utf-8")):
            assert "w3.org" in url or "/scripts/" in path.as_posix(), (path.name, url)


def test_an_existing_folder_is_kept_and_a_failure_leaves_no_files(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileExistsError, match="already exists; give another name"):
        write_site(site)
    monkeypatch.setenv(models.FOLDER_VARIABLE, str(tmp_path / "none"))
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))
    with pytest.raises(ValueError, match=r"none contains no checkpoint that translates"):
        write_site(tmp_path / "site")
    assert not (tmp_path / "site").exists()

    def fail(*_: object) -> str:
        raise RuntimeError("simulated")

    monkeypatch.setenv(models.FOLDER_VARIABLE, str(APP_FOLDER / "checkpoints"))
    monkeypatch.setattr("transformer.ui.site.static_site.index_page", fail)
    with pytest.raises(RuntimeError, match="simulated"):
        write_site(tmp_path / "site")
    assert not [path for path in tmp_path.iterdir() if path.name != "runs"]
