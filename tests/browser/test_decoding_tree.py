"""The tree of a beam search: navigation, selection and ranking."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.decoding_page import (
    DecodedSentence,
    open_decoding_view,
    percent,
)
from transformer.inference import BeamNode

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

    discarded = next(node for node in decoded_sentence.tree.nodes if node.status == "discarded")
    open_decoding_view(page, tmp_path, decoded_sentence.beam, node=discarded.index)
    expect(page.locator(".hu-branch dd").last).to_contain_text("discarded")

    open_decoding_view(page, tmp_path, decoded_sentence.greedy)
    expect(page.locator(".hu-tree")).to_contain_text("Choose beam search to see the search tree")
    expect(page.locator(".hu-treebox")).to_be_hidden()
