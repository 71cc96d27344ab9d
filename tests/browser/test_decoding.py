"""The decoding view: the table of steps and a forced token, compared with the page's trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.decoding_page import (
    FORCED_STEP,
    DecodedSentence,
    check_candidates,
    open_decoding_view,
)

pytestmark = pytest.mark.browser


def test_each_step_has_its_input_and_its_candidates(
    page: Page, tmp_path: Path, decoded_sentence: DecodedSentence
) -> None:
    greedy = decoded_sentence.greedy
    open_decoding_view(page, tmp_path, greedy)
    rows = page.locator(".hu-steps tbody tr")
    expect(rows).to_have_count(len(greedy.translation.steps))
    page.get_by_role("button", name="all 8 candidates").click()
    for step in range(len(greedy.translation.steps)):
        expect(rows.nth(step).locator(".hu-input .hu-chip")).to_have_text(
            list(greedy.tgt_tokens[: step + 1])
        )
        check_candidates(rows.nth(step), greedy, step)

    full_table = greedy.translation.table
    table = replace(
        full_table,
        tokens=[t[1:] for t in full_table.tokens],
        ids=[i[1:] for i in full_table.ids],
        probabilities=[p[1:] for p in full_table.probabilities],
    )
    trace = replace(greedy, translation=replace(greedy.translation, table=table))
    open_decoding_view(page, tmp_path, trace)
    assert greedy.translation.steps[1].chosen.id not in table.ids[1]
    page.get_by_role("button", name="all 7 candidates").click()
    check_candidates(rows.nth(1), trace, 1)

    rows.nth(2).get_by_role("button", name="Attention in step 3").click()
    expect(page.get_by_role("tab", name="Heatmap")).to_have_attribute("aria-selected", "true")


def test_a_candidate_is_forced_and_the_original_comes_back(
    page: Page, tmp_path: Path, decoded_sentence: DecodedSentence
) -> None:
    greedy, altered = decoded_sentence.greedy, decoded_sentence.altered
    step, token_id = decoded_sentence.forced.split(":")
    other = next(
        c for c in greedy.translation.steps[FORCED_STEP].candidates if str(c.id) == token_id
    )
    open_decoding_view(page, tmp_path, greedy, live=True)
    row = page.locator(".hu-steps tbody tr").nth(FORCED_STEP)
    row.locator("button.hu-candidate").filter(has=page.get_by_text(other.token, exact=True)).click()
    page.wait_for_function("window.reported")
    assert page.evaluate("window.reported.force") == decoded_sentence.forced
    assert page.evaluate("window.reported.step") == int(step)
    expect(page.locator(".hu-forced")).to_contain_text("Translating again")
    page.get_by_role("button", name="Back to the original").click()
    page.wait_for_function("window.reported.force === ''")
    expect(page.locator(".hu-forced")).to_be_hidden()

    open_decoding_view(page, tmp_path, greedy)
    assert page.locator("button.hu-candidate").count() == 0

    open_decoding_view(page, tmp_path, greedy, altered, force=decoded_sentence.forced)
    chosen = page.locator(".hu-steps tbody .hu-chosen .hu-chip")
    expect(chosen).to_have_text(list(altered.predicted_tokens))
    expect(row.locator(".hu-chosen")).to_contain_text("you chose it")
    expect(page.locator(".hu-forced")).to_contain_text(greedy.text)
    page.get_by_role("button", name="Back to the original").click()
    expect(chosen).to_have_text(list(greedy.predicted_tokens))
