"""Training in a real browser, with real workers: from the click to a translation with the model."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app_pages import open_depth
from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run
from transformer import Translator
from transformer.training.run_folder import RunFolder

CLICK_TWICE = "(button) => { button.click(); setTimeout(() => button.click()); }"
"""A double click whose second click cannot hit what the page shows after the first."""


@pytest.fixture
def runs(checkpoints: Path) -> Path:
    return checkpoints.parent / "runs"


def button(page: Page, name: str) -> Locator:
    # Excludes Streamlit's own Stop button, which is above the page during a rerun.
    outside_header = page.locator(":not([kind=header])")
    return page.get_by_role("button", name=name, exact=True).and_(outside_header)


def badge(page: Page, text: str) -> Locator:
    # During a rerun the previous elements stay for a moment: use the first one.
    return page.locator(".stMarkdownBadge", has_text=re.compile(f"^{text}")).first


def open_train(page: Page, app: str) -> None:
    """Open the page with its part that is folded at first."""
    page.goto(f"{app}/train")
    page.get_by_text("More runs").click()


def start_run(page: Page, app: str, steps: int) -> str:
    """Train the example task reverse for this number of steps; return the run's name."""
    page.goto(f"{app}/train")
    page.get_by_role("link", name="Other tasks and all settings").click()
    page.get_by_role("spinbutton", name="Steps").fill(str(steps))
    button(page, "Train").click()
    page.wait_for_url(re.compile(r"run=reverse"))
    return page.url.split("run=")[1].split("&")[0]


def stop_run(page: Page) -> None:
    button(page, "Stop").click()
    expect(badge(page, "cancelled")).to_be_visible()


@pytest.mark.journey
def test_from_the_click_to_a_translation_with_the_finished_model(
    app: str, page: Page, runs: Path
) -> None:
    name = start_run(page, app, 60)
    expect(page.locator(".js-plotly-plot .scatterlayer path.js-line").first).to_be_visible()
    page.reload()  # a visitor who closed the tab finds the run again in their list
    expect(badge(page, "finished")).to_be_visible()
    expect(page.get_by_text("All 60 steps taken.")).to_be_visible()
    expect(button(page, "Delete …")).to_be_visible()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    rows = page.locator(".hu-table tbody tr")
    expect(rows).to_have_count(8)
    examples = RunFolder(runs / name).examples()[-1]["examples"]
    assert [row.split("\t")[:2] for row in rows.all_inner_texts()] == [
        [example["src"], example["tgt"]] for example in examples
    ]
    with page.expect_download() as download:
        page.get_by_role("link", name="Download (.zip").click()
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as packed:
        assert f"{name}/checkpoint/model.safetensors" in packed.namelist()
    button(page, "Translate with it").click()
    expected = Translator.load(runs / name / "checkpoint", device="cpu").translate(
        examples[0]["src"]
    )
    expect(page.get_by_role("textbox", name="Input")).to_have_value(examples[0]["src"])
    expect(page.locator(".hu-glance-row").last.locator("button")).to_have_text(
        expected.text.split()
    )
    open_depth(page, "All heads")
    expect(page.locator(".hu-view")).to_be_visible()
    page.get_by_role("link", name="Train", exact=True).click()
    expect(badge(page, "finished")).to_be_visible()
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("heading", name="Your runs")).to_be_visible()
    wait_for_script_run(page)


def test_a_run_is_paused_resumed_changed_and_deleted(app: str, page: Page, runs: Path) -> None:
    name = start_run(page, app, 20_000)
    folder = RunFolder(runs / name)
    button(page, "Pause").click()
    expect(badge(page, "paused")).to_be_visible()
    paused_step = folder.state()["step"]
    button(page, "Resume").click()
    expect(badge(page, "running")).to_be_visible()
    progress = page.get_by_text(re.compile(r"^Step [\d,]+")).first
    expect(progress).to_be_visible()  # from now on nothing moves
    assert folder.control().learning_rate_factor == 1.0, "showing the slider changes no setting"
    page.get_by_role("button", name="Learning rate ×").click()
    slider = page.get_by_role("slider", name="Learning rate")
    slider.focus()
    slider.press("ArrowRight")
    expect(page.get_by_test_id("stSliderThumbValue")).to_have_text("2.0")
    for _ in range(2):  # two reruns of the page, which must keep the value
        expect(progress).not_to_have_text(progress.inner_text())
    expect(page.get_by_test_id("stSliderThumbValue")).to_have_text("2.0")
    assert folder.control().learning_rate_factor == 2.0
    page.keyboard.press("Escape")
    stop_run(page)
    assert folder.state()["step"] >= paused_step
    button(page, "Delete …").click()
    button(page, "Delete it").evaluate(CLICK_TWICE)
    expect(page.get_by_text("Train a small model and watch")).to_be_visible()
    assert not folder.path.exists()


def test_own_pairs_train_on_a_phone_in_dark_mode(app: str, new_page: NewPage) -> None:
    width = 390
    page = new_page(width, "dark")
    page.goto(f"{app}/train")
    page.locator(".st-key-form-own button").click()
    pairs = "".join(f"{n} cats\t{n} chats\n" for n in range(30)).encode()
    file_input = page.locator("input[type=file]")
    file_input.set_input_files(
        {"name": "a.tsv", "mimeType": "text/plain", "buffer": b"caf\xe9\ta\n"}
    )
    expect(page.get_by_text("line 1 is not UTF-8")).to_be_visible()
    file_input.set_input_files({"name": "b.tsv", "mimeType": "text/plain", "buffer": pairs})
    expect(page.get_by_text("1 of them held out")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    steps = page.get_by_role("spinbutton", name="Steps")
    # So many that the run is still going when the test stops it.
    steps.fill("20000")
    button(page, "Train").click()
    expect(page.locator(".st-key-figures")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.locator(".stApp").evaluate("(node) => getComputedStyle(node).backgroundColor")
    assert background == "rgb(18, 22, 28)"
    stop_run(page)
