"""A pinned word colours every head by its attention to the word; notices link to heads.

`tests/figures/test_drawn.py` and `pins.test.js` check the numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import open_explorer, open_html
from tests.figures.fake_traces import HOSTILE, fake_trace
from transformer.figures import PackedTrace, explorer_page
from transformer.figures.views import EXPLORER

LAYERS, HEADS = 3, 4
SRC = ["▁the", "▁red", "▁um", "brella", "?", *HOSTILE[:2], "</s>"]
TGT = ["<s>", "▁le", "▁para", "pluie", "▁rouge"]
TRACE = fake_trace(SRC, TGT, layers=LAYERS, heads=HEADS)


def pin(page: Page, word: str) -> None:
    page.get_by_role("toolbar", name="Pin a word").get_by_role("button", name=word).click()


def test_a_word_is_pinned_in_all_heads_and_its_strongest_head_opens(
    page: Page, tmp_path: Path
) -> None:
    open_explorer(page, tmp_path, TRACE, view="heads")
    panel = page.locator(".hu-pinned")
    expect(panel).to_be_hidden()
    pin(page, "umbrella")
    expect(panel).to_be_visible()
    for label, kinds in (
        ("Attention to it", ["encoder", "cross"]),
        ("Attention from it", ["encoder"]),
        ("Both", ["encoder", "cross"]),
    ):
        panel.get_by_role("button", name=label, exact=True).click()
        sections = panel.locator("section[data-kind]")
        expect(sections).to_have_count(len(kinds))
        expect(sections.get_by_role("radio")).to_have_count(len(kinds) * LAYERS * HEADS)
        texts = panel.locator(".hu-pinweight").all_inner_texts()
        listed = [float(text.strip("> ")) for text in texts]
        assert listed == sorted(listed, reverse=True), "the strongest head is not the first"

    open_explorer(page, tmp_path, TRACE, view="model", way="to")
    pin(page, "umbrella")
    best = page.locator(".hu-clearest button").first
    kind, _, numbers = (best.get_attribute("data-head") or "").partition(" ")
    layer, head = map(int, numbers.split("."))
    best.click()
    expect(page.get_by_role("tab", name="Heads")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".hu-title")).to_have_text(f"Layer {layer + 1}, head {head + 1}")
    expect(page.locator(f".hu-kinds [data-kind={kind}]")).to_have_attribute("aria-pressed", "true")
    # The readout is about the pinned word's last token.
    expect(page.locator(".hu-reading")).to_contain_text("brella")
    pin(page, "umbrella")
    expect(page.locator(".hu-pinned")).to_be_hidden()
    expect(page.locator(".hu-reading")).to_contain_text("Hover over a token")

    open_explorer(page, tmp_path, TRACE, view="heads")
    words = page.locator(".hu-pinword")
    words.first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(words.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(words.nth(2)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(page.locator(".hu-pinned")).to_be_hidden()
    expect(words.nth(2)).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Space")
    expect(words.last).to_have_attribute("aria-pressed", "true")
    page.get_by_role("tab", name="Heads").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".hu-pinned")).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 900})
    open_explorer(page, tmp_path, TRACE, view="heads", pin="t3")
    expect(page.locator(".hu-pinword[aria-pressed=true]")).to_have_text("parapluie")
    expect(page.locator(".hu-pinned section[data-kind]")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    source = [HOSTILE[0], "▁the", "▁red", "</s>"]
    weights = np.full((3, 4, 4, 4), 0.25, np.float32)
    weights[2, 1] = np.roll(np.eye(4), -1, 1)  # each row attends to the one before
    trace = fake_trace(source, ["<s>", "▁x"], kinds=["encoder"], encoder=weights)
    state = {"view": "heatmap", "layer": 0, "head": 0}
    html = explorer_page([PackedTrace(trace)], state, has_notices=True)
    open_html(page, tmp_path, html)
    notice = page.locator(".hu-first-notice")
    expect(notice).to_have_text(
        f"the attends to the previous word, {HOSTILE[0]}, with weight 1.00. 2 of 2 words give the "
        "previous word at least half: Encoder self-attention, layer 3, head 2"
    )
    notice.get_by_role("button").press("Enter")
    expect(page.locator(".hu-title")).to_have_text("Layer 3, head 2")
    expect(page.locator(".hu-reading")).to_contain_text("the")

    weights = np.full((3, 4, 4, 4), 0.25, np.float32)
    trace = fake_trace(["▁a", "▁b", "▁c", "</s>"], ["<s>"], kinds=["encoder"], encoder=weights)
    open_explorer(page, tmp_path, trace)
    expect(page.locator(".hu-first-notice")).to_be_hidden()

    open_explorer(page, tmp_path, TRACE, more=0)
    colour, more = page.get_by_label("Colour"), page.get_by_role("button", name="More tools")
    expect(colour).to_have_count(0)
    expect(page.get_by_role("tab")).to_have_text(["Heads", "Heatmap"])
    expect(page.get_by_role("button", name="Export")).to_have_count(0)
    more.press("Enter")
    expect(page.get_by_role("tab")).to_have_count(len(EXPLORER))
    colour.select_option("linear")
    page.get_by_role("button", name="Fewer tools").click()
    expect(colour).to_be_visible()  # an option with another value than its default stays visible
    expect(page.get_by_label("Start and end")).to_have_count(0)
