"""The bug clinic in the static site; `test_class.py` solves a case in the app."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage

TRAINING_TIMEOUT_MS = 120_000


def clinic(page: Page) -> Locator:
    return page.locator(".hu-clinic")


def wait_until_trained(page: Page) -> None:
    expect(clinic(page)).to_have_attribute("data-state", "ready", timeout=TRAINING_TIMEOUT_MS)


def solve_first_case(page: Page) -> None:
    """Solve the case with the missing mask, with one wrong mark, one wrong line and one wrong
    correction."""
    page.get_by_role("button", name="1. A perfect loss").click()
    wait_until_trained(page)
    page.get_by_role("button", name="a head of the decoder's self-attention").click()
    page.get_by_role("button", name="Mark the curve of the loss").click()
    expect(page.get_by_text("That is no proof")).to_be_visible()
    page.get_by_role("radio", name="Decoder self-attention, layer 1, head 1").click()
    weights = clinic(page).locator(".hu-clinic-big tbody tr").first.get_by_role("button")
    values = [float(text) for text in weights.all_inner_texts()]
    weights.nth(values.index(max(values[1:]))).click()
    expect(page.get_by_text("Yes, this proves it")).to_be_visible()
    page.get_by_role("button", name="x = self.embed(tgt)").click()
    expect(page.get_by_text("That line is as it should be.")).to_be_visible()
    page.get_by_role("button", name="tgt_mask = causal[None, None]").click()
    page.get_by_role("button", name="tgt_mask = causal.tril(1)[None, None]").click()
    still_there = page.get_by_text("The symptom is still there")
    expect(still_there).to_be_visible(timeout=TRAINING_TIMEOUT_MS)
    page.get_by_role("button", name="tgt_mask = causal.tril()[None, None]").click()
    gone = page.get_by_text("The symptom is gone")
    expect(gone).to_be_visible(timeout=TRAINING_TIMEOUT_MS)
    expect(page.get_by_text("Solved: 5 of 5 points.")).to_be_visible()


@pytest.mark.slow
def test_a_case_is_solved_handed_in_and_a_wrong_result_refused(
    site_address: str, new_page: NewPage, tmp_path: Path
) -> None:
    page = new_page(alone=True)
    page.goto(f"{site_address}clinic.html")
    solve_first_case(page)
    page.get_by_role("button", name="← All cases").click()
    expect(page.get_by_text("solved, 5 of 5 points")).to_be_visible()
    page.reload()
    expect(page.get_by_text("solved, 5 of 5 points")).to_be_visible()
    page.get_by_label("Your name, or any other").fill("Ada")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the result").click()
    file = tmp_path / "result.json"
    download.value.save_as(file)
    [case] = json.loads(file.read_text(encoding="utf-8"))["cases"]
    assert (case["id"], case["expected"], case["hints"]) == ("perfect_loss", "decoder", 0)
    assert (case["marks"], case["lines"], case["corrections"], case["points"]) == (2, 2, 2, 5)
    check(page, file.read_bytes(), "The code matches")
    expect(page.get_by_role("cell", name="A perfect loss")).to_be_visible()
    page.get_by_role("button", name="Reset all cases").click()
    expect(page.get_by_text("solved, 5 of 5 points")).to_have_count(0)

    ours = {"format": "heads-up-bug-clinic", "version": 1, "name": "", "cases": [], "code": "0"}
    check(page, b"\x00\xff", "This is no result of the Bug clinic")
    check(page, b"[]", "This is no result of the Bug clinic")
    check(page, json.dumps({**ours, "version": 7}).encode(), "This result has version 7")
    check(page, json.dumps(ours).encode(), "This result was changed after it was saved")

    page.get_by_role("button", name="1. A perfect loss").click()
    wait_until_trained(page)
    page.get_by_role("button", name="Show a hint").click()
    expect(page.get_by_text("What does the decoder have during training").first).to_be_visible()
    page.get_by_role("button", name="the outputs", exact=True).click()
    page.emulate_media(media="print")
    for option in page.locator(".hu-clinic-expected button").all():  # on paper, too
        expect(option).to_be_visible()
        expect(option).to_have_css("opacity", "1")


def check(page: Page, content: bytes, message: str) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Check a result").click()
    chooser.value.set_files(
        {"name": "result.json", "mimeType": "application/json", "buffer": content}
    )
    expect(page.get_by_text(message)).to_be_visible()
