"""The decoding view: steps, a forced token and the tree of a beam search, compared with traces."""

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
    percent,
)
from transformer.inference import BeamNode


def test_a_student_reads_the_steps_forces_a_candidate_and_walks_the_tree(
    page: Page, tmp_path: Path, decoded_sentence: DecodedSentence
) -> None:
    greedy, altered = decoded_sentence.greedy, decoded_sentence.altered
    open_decoding_view(page, tmp_path, greedy)
    rows = page.locator(".hu-steps tbody tr")
    expect(rows).to_have_count(len(greedy.translation.steps))
    page.get_by_role("button", name="all 8 candidates").click()
    expect(rows.nth(3).locator(".hu-input .hu-chip")).to_have_text(list(greedy.tgt_tokens[:4]))
    check_candidates(rows.nth(3), greedy, 3)

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

    step, token_id = decoded_sentence.forced.split(":")
    other = next(
        c for c in greedy.translation.steps[FORCED_STEP].candidates if str(c.id) == token_id
    )
    open_decoding_view(page, tmp_path, greedy, live=True)
    row = rows.nth(FORCED_STEP)
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

    tree = decoded_sentence.tree
    open_decoding_view(page, tmp_path, decoded_sentence.beam, node=0)
    box, branch = page.locator(".hu-treebox"), page.locator(".hu-branch")
    values = branch.locator("dd")

    def tokens_to(node: BeamNode) -> list[str]:
        before = [] if node.parent is None else tokens_to(tree.nodes[node.parent])
        return [*before, node.token]

    def check_box(node: BeamNode) -> None:
        expect(branch.locator(".hu-piece")).to_have_text(tokens_to(node))
        displayed = [text.replace("−", "-") for text in values.all_inner_texts()]
        assert percent(displayed[0]) == pytest.approx(node.probability, abs=6e-4)
        assert float(displayed[1]) == pytest.approx(node.log_probability, abs=6e-5)
        assert float(displayed[2]) == pytest.approx(node.score, abs=6e-5)
        assert displayed[3].startswith(node.status)

    current = tree.nodes[0]
    check_box(current)
    box.focus()
    for best_node in [node for node in tree.nodes if node.best][1:3]:
        page.keyboard.press("ArrowRight")
        current = best_node
        check_box(current)
    paths = [tokens_to(current)]
    for key in ("ArrowDown", "ArrowUp"):  # through all nodes of this step, and back
        for _ in range(6):
            page.keyboard.press(key)
            paths.append(branch.locator(".hu-piece").all_inner_texts())
    for node in tree.nodes:
        if node.depth == current.depth:
            assert tokens_to(node) in paths, f"no arrow key leads to {tokens_to(node)}"
    page.keyboard.press("ArrowLeft")
    expect(branch.locator(".hu-piece")).to_have_text(paths[-1][:-1])

    discarded = next(node for node in tree.nodes if node.status == "discarded")
    open_decoding_view(page, tmp_path, decoded_sentence.beam, node=discarded.index)
    expect(page.locator(".hu-branch dd").last).to_contain_text("discarded")

    open_decoding_view(page, tmp_path, decoded_sentence.greedy)
    expect(page.locator(".hu-steps")).to_be_visible()
    expect(page.locator(".hu-tree")).to_be_hidden()
