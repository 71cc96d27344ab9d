"""The tree of a beam search: navigation, selection and ranking."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.decoding_page import (
    DecodedSentence,
    check_step_number,
    open_decoding_view,
    percent,
)
from tests.browser.explorer_file import bounding_box
from transformer.inference import BeamNode, BeamTree
from transformer.inference.trace import Trace

pytestmark = pytest.mark.browser


def test_the_tree_is_navigated_with_the_keyboard(
    page: Page, tmp_path: Path, decoded_sentence: DecodedSentence
) -> None:
    tree = decoded_sentence.tree
    open_decoding_view(page, tmp_path, decoded_sentence.beam, node=0)
    box, branch = page.locator(".hu-treebox"), page.locator(".hu-branch")
    values = branch.locator("dd")

    def check_box(node: BeamNode) -> None:
        expect(branch.locator(".hu-piece")).to_have_text(
            [ancestor.token for ancestor in tree.path(node)]
        )
        displayed = [text.replace("−", "-") for text in values.all_inner_texts()]
        assert percent(displayed[0]) == pytest.approx(node.probability, abs=6e-4)
        assert float(displayed[1]) == pytest.approx(node.log_probability, abs=6e-5)
        assert float(displayed[2]) == pytest.approx(node.score, abs=6e-5)
        assert displayed[3].startswith(node.status)

    current = tree.nodes[0]
    check_box(current)
    box.focus()
    while tree.children(current) and current.depth < 4:
        page.keyboard.press("ArrowRight")
        current = next(child for child in tree.children(current) if child.best)
        check_box(current)
    visited = {current.index}
    for _ in range(6):  # to the last node of this step; then up through all of them
        page.keyboard.press("ArrowDown")
    for _ in range(6):
        path = branch.locator(".hu-piece").all_inner_texts()
        selected = next(
            node
            for node in tree.nodes
            if node.depth == current.depth
            and [ancestor.token for ancestor in tree.path(node)] == path
        )
        visited |= {selected.index}
        page.keyboard.press("ArrowUp")
    assert visited == {n.index for n in tree.nodes if n.depth == current.depth}
    path = branch.locator(".hu-piece").all_inner_texts()
    page.keyboard.press("ArrowLeft")
    expect(branch.locator(".hu-piece")).to_have_text(path[:-1])

    best = [node for node in decoded_sentence.tree.nodes if node.best]
    discarded = next(node for node in decoded_sentence.tree.nodes if node.status == "discarded")
    open_decoding_view(page, tmp_path, decoded_sentence.beam, node=best[3].index)
    page.get_by_role("button", name="Show this step").click()
    check_step_number(page, 2, decoded_sentence.beam)
    open_decoding_view(page, tmp_path, decoded_sentence.beam, node=discarded.index)
    expect(page.locator(".hu-branch dd").last).to_contain_text("discarded")
    expect(page.get_by_role("button", name="Show this step")).to_have_count(0)

    open_decoding_view(page, tmp_path, decoded_sentence.greedy)
    expect(page.locator(".hu-tree")).to_contain_text("Choose beam search to see the search tree")
    expect(page.locator(".hu-treebox")).to_be_hidden()


def height(locator: Locator) -> float:
    box = bounding_box(locator)
    return box["height"]


def finished_search(decoded_sentence: DecodedSentence) -> Trace:
    """Return the beam's trace with a tree that has three finished hypotheses and a wide last
    step."""
    nodes = [BeamNode(0, None, 0, "<s>", 1, 1.0, 0.0, 0.0, "kept", True)]
    for i, (token, score) in enumerate([("▁le", -0.5), ("▁la", -0.9), ("▁un", -0.7)]):
        nodes.append(BeamNode(2 * i + 1, 0, 1, token, 40 + i, 0.3, score, score, "kept", i == 0))
        nodes.append(
            BeamNode(2 * i + 2, 2 * i + 1, 2, "</s>", 2, 0.9, score * 2, score, "finished", i == 0)
        )
    for index in range(7, 30):
        nodes.append(
            BeamNode(index, 1, 2, f"▁discarded{index}", index, 0.01, -9.0, -9.0, "discarded", False)
        )
    return replace(
        decoded_sentence.beam,
        translation=replace(
            decoded_sentence.beam.translation, tree=BeamTree(tuple(nodes), 12, 0.6)
        ),
    )


def test_finished_hypotheses_are_ranked_and_discarded_ones_collapsed(
    page: Page, tmp_path: Path, decoded_sentence: DecodedSentence
) -> None:
    open_decoding_view(page, tmp_path, finished_search(decoded_sentence))
    expect(page.locator(".hu-end bdi")).to_have_text(["le", "un", "la"])
    expect(page.locator(".hu-end .hu-number")).to_have_text(["−0.5000", "−0.7000", "−0.9000"])
    page.locator(".hu-end").nth(1).click()
    expect(page.locator(".hu-branch dd").last).to_have_text("finished: 2 of 3 by score")
    box, field = page.locator(".hu-treebox"), page.locator(".hu-treefield")
    collapsed_height = height(field)
    page.get_by_role("button", name="+23 discarded").click()
    assert height(field) > collapsed_height + 500
    assert height(field.locator("canvas")) <= height(box) < 500  # only the visible nodes are drawn
    page.locator(".hu-end").first.click()
    box.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hu-branch dd").last).to_contain_text("discarded")
    page.get_by_role("button", name="Hide discarded hypotheses").click()
    expect(page.locator(".hu-branch dd").last).not_to_contain_text("discarded")

    open_decoding_view(page, tmp_path, finished_search(decoded_sentence), node=0)
    # A column's boxes are sorted by score from top to bottom: the second column has le, un, la.
    clicked_tokens = []
    for y in range(12, 130, 12):
        page.locator(".hu-treebox").click(position={"x": 190, "y": y})
        clicked_tokens.append(page.locator(".hu-branch .hu-piece").last.inner_text())
    assert list(dict.fromkeys(clicked_tokens)) == ["<s>", "▁le", "▁un", "▁la"]
