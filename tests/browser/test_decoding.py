"""The decoding view: steps, candidates, attention rows and a forced token, compared with the page's
trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.decoding_page import (
    FORCED_STEP,
    HEAD,
    LAYER,
    DecodedSentence,
    check_candidates,
    check_rows,
    check_step_number,
    open_decoding_view,
)

pytestmark = pytest.mark.browser


def test_each_step_shows_its_candidates_and_its_rows_by_every_key(
    page: Page, tmp_path: Path, decoded_sentence: DecodedSentence
) -> None:
    open_decoding_view(page, tmp_path, decoded_sentence.greedy)
    panel = page.locator(".hu-panel").first
    page.locator(".hu-player").focus()
    for step in range(3):
        check_step_number(page, step, decoded_sentence.greedy)
        check_candidates(panel, decoded_sentence.greedy, step)
        check_rows(panel, decoded_sentence.greedy, step)
        states = [
            element.get_attribute("data-state") for element in page.locator("button.hu-piece").all()
        ]
        later = len(decoded_sentence.greedy.predicted_tokens) - step - 1
        displayed = [state for state in states if state]  # the hidden panel's tokens have no state
        assert displayed == ["read"] * step + ["now"] + ["later"] * later
        page.keyboard.press("ArrowRight")
    page.get_by_role("radio", name="layer 2, head 1").click()
    check_rows(panel, decoded_sentence.greedy, 3, head=0)

    end = len(decoded_sentence.greedy.translation.steps) - 1
    page.locator(".hu-player").focus()
    page.keyboard.press("Home")
    for key, step in [
        ("ArrowLeft", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", end),
        ("ArrowRight", end),
        ("Home", 0),
    ]:
        page.keyboard.press(key)
        check_step_number(page, step, decoded_sentence.greedy)
    page.get_by_role("button", name="last step").press("Enter")
    check_step_number(page, end, decoded_sentence.greedy)
    page.get_by_role("slider").press("ArrowLeft")
    check_step_number(page, end - 1, decoded_sentence.greedy)
    page.get_by_role("radio", name="layer 2, head 3").click()
    row = page.locator(".hu-weightrow").nth(1)
    row.locator("[tabindex='0'].hu-weight").focus()
    before = int(decoded_sentence.greedy.weights("cross", LAYER)[HEAD, end - 1].argmax())
    page.keyboard.press("ArrowRight")
    after = min(before + 1, len(decoded_sentence.greedy.src_tokens) - 1)
    expect(row.locator(".hu-read")).to_contain_text(decoded_sentence.greedy.src_tokens[after])
    check_step_number(page, end - 1, decoded_sentence.greedy)

    full_table = decoded_sentence.greedy.translation.table
    table = replace(
        full_table,
        tokens=[t[1:] for t in full_table.tokens],
        ids=[i[1:] for i in full_table.ids],
        probabilities=[p[1:] for p in full_table.probabilities],
    )
    trace = replace(
        decoded_sentence.greedy,
        translation=replace(decoded_sentence.greedy.translation, table=table),
    )
    open_decoding_view(page, tmp_path, trace, step=1)
    assert decoded_sentence.greedy.translation.steps[1].chosen.id not in table.ids[1]
    check_candidates(page.locator(".hu-panel").first, trace, 1)


def test_a_candidate_is_forced_and_compared_with_the_original(
    page: Page, tmp_path: Path, decoded_sentence: DecodedSentence
) -> None:
    open_decoding_view(page, tmp_path, decoded_sentence.greedy, live=True, step=FORCED_STEP)
    step, token_id = decoded_sentence.forced.split(":")
    page.locator(f"button.hu-candidate[data-id='{token_id}']").click()
    page.wait_for_function("window.reported")
    assert page.evaluate("window.reported.force") == decoded_sentence.forced
    assert page.evaluate("window.reported.step") == int(step)
    expect(page.locator(".hu-forced")).to_contain_text("Translating again")
    page.get_by_role("button", name="Back to the original").click()
    page.wait_for_function("window.reported.force === ''")
    expect(page.locator(".hu-forced")).to_be_hidden()

    open_decoding_view(page, tmp_path, decoded_sentence.greedy)
    assert page.locator("button.hu-candidate").count() == 0
    row = page.locator(".hu-candidate:not(.hu-chosen)").first
    assert "in the app" in (row.get_attribute("title") or "")

    open_decoding_view(
        page,
        tmp_path,
        decoded_sentence.greedy,
        decoded_sentence.altered,
        force=decoded_sentence.forced,
        step=FORCED_STEP,
    )
    panels, outputs = page.locator(".hu-panel"), page.locator(".hu-output")
    for i, trace in enumerate((decoded_sentence.greedy, decoded_sentence.altered)):
        check_candidates(panels.nth(i), trace, FORCED_STEP)
        check_rows(panels.nth(i), trace, FORCED_STEP, original=decoded_sentence.greedy)
        expect(outputs.nth(i).locator("button.hu-piece")).to_have_text(list(trace.predicted_tokens))
    forced = outputs.nth(1).locator(".hu-forced-token")
    expect(forced).to_have_text(decoded_sentence.altered.predicted_tokens[FORCED_STEP])
    expect(forced).to_have_attribute("data-state", "now")
    expect(panels.nth(1).locator(".hu-candidate-note").filter(has_text="yours")).to_be_visible()
    for i in range(2):
        before = outputs.nth(i).locator("button.hu-piece").all()[:FORCED_STEP]
        assert not any(
            "hu-differing" in (element.get_attribute("class") or "") for element in before
        )
    original = decoded_sentence.greedy.predicted_tokens
    altered = decoded_sentence.altered.predicted_tokens
    # A token that occurs n times more often than in the other translation is marked n times.
    for i, (tokens, others) in enumerate(((original, altered), (altered, original))):
        marked = outputs.nth(i).locator(".hu-differing").all_inner_texts()
        for token in set(tokens):
            assert marked.count(token) >= tokens.count(token) - others.count(token)
    assert page.locator(".hu-differing").count() > 0
    page.get_by_role("button", name="Back to the original").click()
    expect(panels.nth(1)).to_be_hidden()
    expect(page.locator(".hu-differing:visible")).to_have_count(0)
