"""The Heads view: its weights of tokens and words equal numpy's, by pointer and keyboard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.heads_page import (
    SRC,
    TGT,
    TOLERANCE,
    TRACE,
    check_readout,
    open_heads_view,
    option,
    point,
    readout_weights,
    state,
)
from tests.figures.fake_traces import HOSTILE, fake_trace

pytestmark = pytest.mark.browser


def test_hovering_over_a_token_shows_its_weights_in_both_directions(heads: Page) -> None:
    weights = TRACE.weights("cross", 1)[2]
    check_readout(heads, "Hover over a token")
    for row in (0, 3, 5):
        point(heads, "q", row)
        token = [*TGT[1:], "</s>"][row]
        order = np.argsort(-weights[row])[:3]
        check_readout(heads, f"{TGT[row]} → {token} attends most to", SRC[order[0]])
        assert readout_weights(heads) == pytest.approx(weights[row, order], abs=TOLERANCE)
    for column in (0, 6):
        point(heads, "k", column)
        order = np.argsort(-weights[:, column])[:3]
        check_readout(heads, f"{SRC[column]} gets most attention from", TGT[order[0]])
        assert readout_weights(heads) == pytest.approx(weights[order, column], abs=TOLERANCE)
    assert heads.locator(".hu-lines").evaluate("(node) => node.style.opacity") == "0.1"
    heads.mouse.move(0, 0)
    check_readout(heads, "Hover over a token")
    assert heads.locator(".hu-lines").evaluate("(node) => node.style.opacity") == "1"
    assert state(heads, "tokens") == ""


def test_pinned_queries_are_averaged_and_pinned_keys_summed(heads: Page) -> None:
    heads.get_by_role("button", name="all of layer 2").click()
    expect(heads.locator(".hu-title")).to_have_text("Layer 2, all heads")
    expect(heads.locator(".hu-code")).to_have_text('trace.weights("cross", layer=1)')
    point(heads, "q", 1, click=True)
    point(heads, "q", 4, click=True)
    assert state(heads, "tokens") == "q1,q4"
    weights = TRACE.weights("cross", 1)
    check_readout(heads, "▁la → ▁mai attends most to", "▁est → ▁la attends most to")
    strongest = [
        *np.sort(weights[:, 1], axis=None)[:-3:-1],
        *np.sort(weights[:, 4], axis=None)[:-3:-1],
    ]
    assert readout_weights(heads) == pytest.approx(strongest, abs=TOLERANCE)
    for column in (0, 4):  # the same token at different positions
        point(heads, "k", column)
        check_readout(heads, "▁la → ▁mai, ▁est → ▁la attend to ▁the, mean of 2: ", "L2·H4")
        expected = weights[:, [1, 4], column].mean(axis=1)
        assert readout_weights(heads) == pytest.approx(expected, abs=2 * TOLERANCE)
    point(heads, "q", 4, click=True)
    assert state(heads, "tokens") == "q1"
    point(heads, "q", 1, click=True)
    point(heads, "k", 2, click=True)
    point(heads, "k", 5, click=True)
    assert state(heads, "tokens") == "k2,k5"
    point(heads, "q", 3)
    assert readout_weights(heads) == pytest.approx(
        weights[:, 3, 2] + weights[:, 3, 5], abs=2 * TOLERANCE
    )
    heads.get_by_role("button", name="Unpin").click()
    assert state(heads, "tokens") == ""
    expect(heads.get_by_role("button", name="Unpin")).to_be_hidden()


def test_the_keyboard_selects_pins_and_unpins(heads: Page) -> None:
    weights = TRACE.weights("cross", 1)[2]
    heads.locator(".hu-canvas").focus()
    for key, token in [
        ("ArrowDown", "<s>"),
        ("ArrowDown", "▁la"),
        ("End", "▁la"),
        ("ArrowDown", "▁la"),
        ("ArrowUp", "▁est"),
    ]:
        heads.keyboard.press(key)
        expect(heads.locator(".hu-reading strong")).to_contain_text(f"{token} → ")
    heads.keyboard.press("Enter")
    assert state(heads, "tokens") == "q4"
    heads.keyboard.press("ArrowRight")
    assert readout_weights(heads) == pytest.approx([weights[4, 4]], abs=TOLERANCE)
    heads.keyboard.press("End")
    check_readout(heads, "attends to </s>")
    assert readout_weights(heads) == pytest.approx([weights[4, 6]], abs=TOLERANCE)
    heads.keyboard.press("ArrowLeft")
    heads.keyboard.press("Space")
    assert state(heads, "tokens") == "q4,q5"
    heads.keyboard.press("Space")
    heads.keyboard.press("Escape")
    assert state(heads, "tokens") == ""
    check_readout(heads, "Hover over a token")
    chip = heads.get_by_role("button", name="layer 2, head 4")
    chip.focus()
    heads.keyboard.press("Space")
    assert state(heads, "heads") == "1.2,1.3"
    expect(chip).to_be_focused()


def test_words_sum_their_tokens_and_pins_are_kept(heads: Page) -> None:
    point(heads, "q", 2, click=True)  # the row that predicts "son", of the word "maison"
    tokens_button = heads.get_by_role("button", name="Show tokens", exact=True)
    tokens_button.click()
    check_readout(heads, "maison attends most to")
    weights = TRACE.weights("cross", 1)[2]
    from_word = weights[1:3].mean(axis=0)  # predicted by rows 1 and 2
    to_words = [from_word[0], from_word[1] + from_word[2], *from_word[3:]]
    for column, expected in enumerate(to_words):
        point(heads, "k", column, n_rows=6)
        assert readout_weights(heads) == pytest.approx([expected], abs=TOLERANCE)
    check_readout(heads, "attends to end")
    option(heads, "Start and end").select_option("hidden")
    option(heads, "Rows").select_option("1")
    point(heads, "k", 1, n_rows=5)
    check_readout(heads, "maison attends to house")
    renormalised = np.array(to_words[:-1]) / sum(to_words[:-1])
    assert readout_weights(heads) == pytest.approx([renormalised[1]], abs=TOLERANCE)
    tokens_button.click()
    check_readout(heads, "▁mai → son attends most to")
    assert state(heads, "tokens") == "q2"


def test_masked_positions_have_no_line(heads: Page) -> None:
    heads.get_by_role("button", name="Decoder self-attention").click()
    point(heads, "q", 1, n_rows=6, click=True)
    point(heads, "k", 1, n_rows=6)
    assert len(readout_weights(heads)) == 1
    point(heads, "k", 2, n_rows=6)
    check_readout(heads, "masked: no attention to later tokens")
    assert readout_weights(heads) == []
    heads.locator(".hu-canvas").press("Escape")
    heads.get_by_text("As a table").click()
    expect(heads.locator(".hu-data-table tbody tr")).to_have_count(6 * 7 // 2)


def test_tokens_are_plain_text_and_repeated_ones_are_distinct(page: Page, tmp_path: Path) -> None:
    trace = fake_trace(HOSTILE, HOSTILE)
    open_heads_view(page, tmp_path, trace, kind="encoder")
    for row, token in enumerate(HOSTILE):
        point(page, "q", row)
        expect(page.locator(".hu-reading strong")).to_have_text(token)
        max_weight = trace.weights("encoder", 1)[2, row].max()
        assert readout_weights(page)[0] == pytest.approx(max_weight, abs=TOLERANCE)
    assert page.locator(".hu script, .hu b").count() == 0
