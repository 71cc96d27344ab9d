"""The bug clinic in the static site; `test_class.py` solves a case in the app."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage

TRAINING_TIMEOUT_MS = 300_000


def clinic(page: Page) -> Locator:
    return page.locator(".hu-clinic")


def wait_until_trained(page: Page) -> None:
    expect(clinic(page)).to_have_attribute("data-state", "ready", timeout=TRAINING_TIMEOUT_MS)


def prove(page: Page, answer: str) -> None:
    """Hand in the evidence that is chosen, and wait for a sentence of the answer."""
    page.get_by_role("button", name="This proves the mistake").click()
    expect(clinic(page).get_by_role("status")).to_contain_text(answer)


def solve_perfect_loss(page: Page) -> None:
    """Solve the case with the missing mask, with each kind of evidence, a wrong line and a wrong
    correction."""
    page.get_by_role("button", name="2. A perfect loss").click()
    wait_until_trained(page)
    page.get_by_role("button", name="a head of the decoder's self-attention").click()
    page.get_by_role("button", name="Choose the curve of the loss").click()
    prove(page, "Something is wrong")
    page.get_by_role("button", name="Choose the curve of the learning rate").click()
    prove(page, "A correct model looks like this. In the correct run this curve is the same.")
    expect(page.get_by_text("9 of 10 points left")).to_be_visible()
    page.get_by_role("radio", name="Decoder self-attention, layer 1, head 1").click()
    weights = clinic(page).locator(".hu-clinic-big tbody tr").first.locator("td button")
    expect(weights.first).to_have_text(re.compile(r"\d"))
    values = [float(text) for text in weights.all_inner_texts()]
    weights.nth(values.index(max(values[1:]))).click()
    prove(page, "Yes, this proves the mistake. Row 1 gives")
    page.get_by_role("button", name="x = self.embed(tgt)").click()
    expect(page.get_by_text("Changing this line alone does not repair")).to_be_visible()
    page.get_by_role("button", name="causal = torch.ones(").click()
    page.get_by_role("button", name="dtype=torch.bool).tril(1)").click()
    still_there = page.get_by_text("The symptom is still there")
    expect(still_there).to_be_visible(timeout=TRAINING_TIMEOUT_MS)
    page.get_by_role("button", name="dtype=torch.bool).tril()").click()
    gone = page.get_by_text("The symptom is gone")
    expect(gone).to_be_visible(timeout=TRAINING_TIMEOUT_MS)
    expect(page.get_by_text("Solved: 7 of 10 points.")).to_be_visible()


@pytest.mark.slow
def test_heads_and_question_fit_one_screen_and_a_case_needs_no_code(
    site_address: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{site_address}clinic.html")
    page.get_by_role("button", name="1. Which of these three is broken?").click()
    wait_until_trained(page)
    for part in (".hu-clinic-big table", ".hu-clinic-steps"):
        for place in clinic(page).locator(part).all():
            expect(place).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Model B", exact=True).click()
    first, broken = (clinic(page).get_by_label(name, exact=True) for name in ("Model A", "Model B"))
    first.get_by_role("button", name="All of column 2 (d)").click()
    prove(page, "A correct model looks like this")
    broken.get_by_role("button", name="All of column 2 (d)").press("Enter")
    prove(page, "Yes, this proves the mistake. Two columns of d have exactly the same weights")
    page.get_by_role("button", name="It does not look at the input.").click()
    page.get_by_role("button", name="It does not know where a letter stands").click()
    expect(page.get_by_text("Solved: 8 of 10 points.")).to_be_visible()


@pytest.mark.slow
def test_a_case_is_solved_handed_in_and_a_wrong_result_refused(
    site_address: str, new_page: NewPage, tmp_path: Path
) -> None:
    page = new_page(alone=True)
    page.goto(f"{site_address}clinic.html")
    solve_perfect_loss(page)
    page.get_by_role("button", name="← All cases").click()
    expect(page.get_by_text("solved, 7 of 10 points")).to_be_visible()
    page.reload()
    expect(page.get_by_text("solved, 7 of 10 points")).to_be_visible()
    page.get_by_label("Your name, or any other").fill("Ada")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the result").click()
    file = tmp_path / "result.json"
    download.value.save_as(file)
    [case] = json.loads(file.read_text(encoding="utf-8"))["cases"]
    assert (case["id"], case["expected"], case["hints"]) == ("perfect_loss", "decoder", 0)
    attempts = ("vagueMarks", "wrongMarks", "wrongLines", "wrongCorrections", "points")
    assert [case[name] for name in attempts] == [1, 1, 1, 1, 7]
    check(page, file.read_bytes(), "The code matches")
    expect(page.get_by_role("cell", name="A perfect loss")).to_be_visible()
    page.get_by_role("button", name="Reset all cases").click()
    expect(page.get_by_text("solved, 7 of 10 points")).to_have_count(0)

    ours = {"format": "heads-up-bug-clinic", "version": 1, "name": "", "cases": [], "code": "0"}
    check(page, b"\x00\xff", "This is no result of the Bug clinic")
    check(page, b"[]", "This is no result of the Bug clinic")
    check(page, json.dumps({**ours, "version": 7}).encode(), "This result has version 7")
    check(page, json.dumps(ours).encode(), "This result was changed after it was saved")

    page.get_by_role("button", name="2. A perfect loss").click()
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
