"""The home page: the text field and the translation below it."""

from __future__ import annotations

import math
import re

import numpy as np
from playwright.sync_api import Page, expect

from tests.browser.app_pages import wait_for_address
from tests.browser.conftest import NewPage
from tests.browser.home_page import (
    expected_glance,
    expected_words,
    open_home,
    tile,
    wait_for_all_words,
    words,
)
from transformer import Translator
from transformer.analysis.interventions.switching import all_heads, switched_off
from transformer.inference.alternatives import word_alternatives
from transformer.measures.head_codes import write_heads
from transformer.text.mistakes import MISTAKES

TEXT = "She has never seen the sea."
REDUCED_MOTION = {"reduced_motion": "reduce"}


def test_a_typed_sentence_is_translated_and_its_animation_plays_once(
    bundled_app: str, page: Page, en_fr: Translator
) -> None:
    open_home(page, bundled_app)
    field = page.get_by_label("Your sentence")
    field.fill("")
    field.press_sequentially(TEXT, delay=30)
    expect(page.locator(".hu-glance-row").first.locator("button")).to_have_text(TEXT.split())
    expect(field).to_be_focused()
    wait_for_address(page, "/", text=TEXT)

    message = page.locator(".hu-glance-problem")
    for text, problem in (
        ("", "Type a few words"),
        ("the lamp " * 300, "at most 512"),
    ):
        field.fill(text)
        expect(message).to_contain_text(problem)
        expect(field).to_have_attribute("aria-invalid", "true")
        assert field.input_value() == text
        assert words(page, "first") == TEXT.split()
    field.fill("She hides.")
    expect(message).to_be_hidden()
    expect(page.locator(".hu-glance-row").first.locator("button")).to_have_text(["She", "hides."])
    field.fill("<b>x</b> <img/src=x>")
    expect(page.locator(".hu-glance-row").first.locator("button").first).to_have_text("<b>x</b>")
    assert page.locator(".hu-glance :is(b, img)").count() == 0
    page.get_by_role("button", name=TEXT).click()  # an example
    expect(page.locator(".hu-glance-row").first.locator("button")).to_have_text(TEXT.split())
    expect(field).to_have_value(TEXT)

    open_home(page, bundled_app, f"?text={TEXT}")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".hu-glance-lines path.now").first).to_be_attached()
    assert words(page, "first") == TEXT.split()
    assert words(page) == expected_words(en_fr, TEXT)
    wait_for_all_words(page)
    expect(page.locator(".hu-glance-lines path.whole").first).to_be_attached()
    assert page.locator(".hu-glance-lines path.away").count() == 0
    bands = page.locator(".hu-glance-lines path").count()
    weight_rows = [word["weights"] for word in expected_glance(en_fr, TEXT)["words"]]
    assert bands == sum(weight >= 0.04 for row in weight_rows for weight in row)
    page.get_by_role("button", name="Play again").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    count = len(words(page))
    label = page.locator(".hu-glance-controls .hu-label")
    tile(page, 1).click()
    expect(label).to_have_text(f"word 2 of {count}")
    expect(tile(page, 1)).to_have_attribute("aria-current", "step")
    expect(page.locator(".hu-glance-sentence")).to_contain_text("The model writes")
    page.keyboard.press("ArrowRight")
    expect(label).to_have_text(f"word 3 of {count}")
    expect(tile(page, 2)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(tile(page, 2, "first")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    expect(label).to_have_text(f"word 1 of {count}")
    page.get_by_role("button", name="Next step").click()
    expect(label).to_have_text(f"word 2 of {count}")


def words_without_head(en_fr: Translator, text: str, layer: int, head: int) -> list[str]:
    hooks = switched_off(en_fr.model.config, [("cross", layer, head)])
    return expected_words(en_fr, text, hooks=hooks)


def test_with_reduced_motion_a_word_is_forced_and_a_head_switched_off(
    bundled_app: str, new_page: NewPage, en_fr: Translator
) -> None:
    page = new_page(**REDUCED_MOTION)
    open_home(page, bundled_app, f"?text={TEXT}")
    wait_for_all_words(page)
    expect(page.locator(".hu-glance-lines path.whole").first).to_be_attached()
    assert page.locator(".hu-glance-lines path.away").count() == 0
    rows = expected_glance(en_fr, TEXT)["words"]
    tile(page, 1, "first").hover()
    n_bands = sum(word["weights"][1] >= 0.04 for word in rows)
    expect(page.locator(".hu-glance-lines path.now")).to_have_count(n_bands)
    tile(page, 0).hover()
    n_bands = sum(weight >= 0.04 for weight in rows[0]["weights"])
    expect(page.locator(".hu-glance-lines path.now")).to_have_count(n_bands)

    open_home(page, bundled_app, f"?text={TEXT}")
    trace = en_fr.trace(TEXT, method="greedy")
    by_word = word_alternatives(en_fr, trace.translation)
    word = next(i for i, alternatives in enumerate(by_word) if alternatives)
    candidate = by_word[word][0]
    tile(page, word).click()
    chips = page.locator(".hu-glance-alternative")
    expect(chips).to_have_count(len(by_word[word]))
    chips.first.click()
    prefix = (*trace.translation.ids[: candidate.step], *candidate.ids)
    expect(page.get_by_role("button", name="Back to the model's own words")).to_be_visible()
    assert words(page) == expected_words(en_fr, TEXT, prefix=prefix)
    page.get_by_role("button", name="Back to the model's own words").click()
    expect(page.locator(".hu-glance-undo")).to_have_count(0)
    assert words(page) == expected_words(en_fr, TEXT)

    text = "If it rains, we will stay at home."
    open_home(page, bundled_app, f"?text={text}")
    data = expected_glance(en_fr, text)
    shape = (6, 8, len(data["words"]), len(data["source"]) + 1)
    weights = np.array(data["head_weights"]).reshape(shape)
    heads = page.locator(".hu-strip .hu-thumb")
    expect(heads).to_have_count(48)
    bands = page.locator(".hu-glance-lines path")
    # The last head without which the translation is another one.
    whole = expected_words(en_fr, text)
    number = max(
        8 * layer + head
        for layer, head in np.ndindex(6, 8)
        if words_without_head(en_fr, text, layer, head) != whole
    )
    layer, head = divmod(number, 8)
    expected = words_without_head(en_fr, text, layer, head)
    heads.nth(number).hover()
    expect(bands).to_have_count(int((weights[layer, head, :, :-1] >= 0.04).sum()))
    heads.nth(number).click()
    expect(page.locator(".hu-glance-row").last.locator("button")).to_have_text(expected)
    expect(page.locator(".hu-strip-effect q").last).to_have_text(" ".join(whole))
    wait_for_address(page, "/", text=text, off=f"c{layer}.{head}")
    page.reload()
    expect(page.locator(".hu-glance-row").last.locator("button")).to_have_text(expected)
    heads.nth(number).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="All heads on")).to_be_hidden()
    expect(page.locator(".hu-glance-row").last.locator("button")).to_have_text(whole)
    page.keyboard.press("ArrowLeft")
    expect(heads.nth(number - 1)).to_be_focused()
    page.get_by_role("switch", name="layer 6", exact=True).click()
    expect(page.locator(".hu-strip-effect")).to_contain_text("Without these 8 heads")


def test_the_least_certain_word_is_marked_and_explained(
    bundled_app: str, new_page: NewPage, en_fr: Translator
) -> None:
    page = new_page(**REDUCED_MOTION)
    mistake = MISTAKES["en", "fr"][0]
    open_home(page, bundled_app)
    page.get_by_role("button", name=mistake.text).click()
    trace = en_fr.trace(mistake.text, method="greedy")
    steps = trace.translation.steps
    least = min(range(len(steps) - 1), key=lambda step: steps[step].probability)
    before = steps[least].probability
    line = page.locator(".hu-least-button")
    expect(line).to_contain_text(f"{mistake.wrong}: {before:.0%}, least certain")
    expect(page.locator(".hu-least")).to_have_text(f"{mistake.wrong}.")
    expect(page.locator(".hu-mistake")).to_have_text(f"{mistake.wrong}.")
    expect(page.locator(".hu-glance-mistake")).to_contain_text(mistake.right)
    line.focus()
    page.keyboard.press("Enter")
    number = len(words(page)) - 1
    wait_for_address(page, "/", text=mistake.text, why=str(number))
    decides = page.locator(".hu-glance-decides")
    expect(decides).to_contain_text("decides most")
    expect(tile(page, number)).to_have_attribute("aria-current", "step")
    expect(page.locator(".hu-glance-sentence")).to_contain_text(f"{mistake.wrong} ({before:.0%})")

    # Switching off each head in Python finds the same head and the same probabilities.
    ids, changes = trace.translation.ids, {}
    for head in all_heads(en_fr.model.config):
        hooks = switched_off(en_fr.model.config, [head])
        changed = en_fr.trace(mistake.text, target=ids, hooks=hooks).translation.steps[least]
        changes[head] = changed.probability
    head = max(changes, key=lambda head: abs(changes[head] - before))
    sentence = decides.locator("p").inner_text()
    shares = [float(share) / 100 for share in re.findall(r"([\d.]+)%", sentence)]
    assert math.isclose(shares[0], before, abs_tol=0.006), sentence
    assert math.isclose(shares[1], changes[head], abs_tol=0.006), sentence
    assert f"layer {head[1] + 1}, head {head[2] + 1}," in sentence
    page.reload()
    expect(decides.locator("p")).to_have_text(sentence)
    decides.get_by_role("button", name="Switch it off").click()
    wait_for_address(page, "/", text=mistake.text, off=write_heads([head]))
    expect(decides).to_be_empty()
    page.get_by_role("button", name="All heads on").click()
    expect(line).to_contain_text(f"{before:.0%}, least certain")
    line.click()
    expect(decides).to_contain_text("decides most")
    page.get_by_role("button", name="Previous step").click()
    wait_for_address(page, "/", text=mistake.text)
