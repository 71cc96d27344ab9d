"""The film in a browser: every control shows the numbers of the selected step."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import bounding_box, open_html, table, weights
from tests.figures.film_frames import LABELS, film_frames
from transformer.figures.film import film_data
from transformer.figures.views import page as view_page

STEPS = [0, 1, 2, 4, 8, 16, 32, 40, 64, 100]
FRAMES = film_frames([*STEPS, 128, 200])
START = """
import { filmView } from "./views/film/film.js";
window.createView = filmView;
window.view = filmView(document.body);
document.querySelector(".hu").classList.add("hu-file");
window.showBytes = (letters) => {
  window.view.show(Uint8Array.from(atob(letters), (c) => c.charCodeAt(0)));
};
"""


def show_steps(page: Page, steps: Sequence[int], **options: Any) -> None:
    """Show the film of these steps, as a rerun of the page does."""
    data = film_data({step: FRAMES[step] for step in steps}, LABELS, **options)
    page.evaluate("(letters) => window.showBytes(letters)", base64.b64encode(data).decode())


def open_film(page: Page, folder: Path, steps: Sequence[int] = STEPS, **start: Any) -> Page:
    open_html(page, folder, view_page(START))
    show_steps(page, steps, start=start)
    return page


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Step of training")


def check_step(page: Page, step: int, kind: str = "cross", layer: int = 1, head: int = 2) -> None:
    """Check the step's name and that the large picture has the numbers of its array."""
    expect(page.locator(".hu-step")).to_have_text(f"Step {step}")
    expect(page.locator(".hu-title")).to_have_text(
        f"Step {step} · layer {layer + 1}, head {head + 1}"
    )
    table(page)
    expect(page.locator(".hu-data-table caption")).to_contain_text(
        f"Step {step} · layer {layer + 1}"
    )
    expected = FRAMES[step][f"0.{kind}"][layer, head].astype(float)
    displayed = weights(page)
    # A level is 1/255 of a square root, and two digits are shown.
    np.testing.assert_allclose(
        displayed[~np.isnan(displayed)], expected[~np.isnan(displayed)], atol=0.01
    )


def check_steps_are_selected(page: Page, tmp_path: Path) -> None:
    open_film(page, tmp_path)
    check_step(page, 100)
    expect(page.locator(".hu-step-note")).to_have_text("picture 10 of 10")
    expect(page.locator(".hu-role-now")).to_contain_text(
        "Layer 2, head 3: reads backwards. 100% of the rows"
    )
    slider(page).focus()
    for button in (slider(page), page.get_by_role("button", name="Play")):
        button.focus()
        for key, step in [("ArrowLeft", 64), ("Home", 0), ("ArrowRight", 1), ("End", 100)]:
            page.keyboard.press(key)
            check_step(page, step)
    expect(slider(page)).to_have_attribute("aria-valuetext", "step 100")
    slider(page).fill("3")
    check_step(page, 4)
    strip = page.locator(".hu-strip")
    box = bounding_box(strip)
    strip.click(position={"x": box["width"] * 5 / 9 + 4, "y": 16})
    check_step(page, 16)
    slider(page).press("End")
    page.get_by_role("button", name="Encoder self-attention", exact=True).click()
    check_step(page, 100, "encoder")
    page.get_by_role("combobox", name="Sentence").select_option("1")
    table(page)
    expect(page.locator(".hu-data-table tbody tr")).to_have_count(5)
    header, rows = table(page)
    assert header[1:] == [f"{i} {token}" for i, token in enumerate(LABELS[1]["src"])]
    assert len(rows) == 5


def check_playing(page: Page, tmp_path: Path) -> None:
    open_film(page, tmp_path)
    button = page.locator(".hu-play")
    button.click()
    expect(button).to_have_text("Pause")
    expect(page.locator(".hu-step")).not_to_have_text("Step 100")
    expect(button).to_have_text("Play")
    check_step(page, 100)
    show_steps(page, [*STEPS, 128])
    check_step(page, 128)  # the film follows the newest step
    slider(page).fill("4")
    check_step(page, 8)
    show_steps(page, [*STEPS, 128, 200])
    check_step(page, 8)
    expect(page.locator(".hu-step-note")).to_have_text("picture 5 of 12")
    page.get_by_role("button", name="Latest").click()
    check_step(page, 200)
    expect(page.get_by_role("button", name="Latest")).to_be_hidden()

    open_film(page, tmp_path, step=0)
    slider(page).focus()
    page.keyboard.press("Space")
    expect(page.locator(".hu-step")).not_to_have_text("Step 0")
    page.keyboard.press("Space")
    expect(page.locator(".hu-play")).to_have_text("Play")
    step = int((slider(page).get_attribute("aria-valuetext") or "").removeprefix("step "))
    assert step in STEPS[1:-1]
    page.wait_for_timeout(700)  # longer than one step
    check_step(page, step)

    open_html(page, tmp_path, view_page(START))
    show_steps(page, STEPS[-3:], play=True)
    expect(page.locator(".hu-play")).to_have_text("Pause")
    expect(page.locator(".hu-play")).to_have_text("Play")
    check_step(page, 100)


def check_a_film_keeps_its_head_and_step_when_redrawn(page: Page, tmp_path: Path) -> None:
    """The page is redrawn when a run ends or is stopped; the film once jumped to step 0."""
    open_html(page, tmp_path, view_page(START))
    show_steps(page, STEPS, name="a-run", ended=False)
    check_step(page, 100)
    page.get_by_role("button", name="Encoder self-attention", exact=True).click()
    page.get_by_role("radio", name="layer 1, head 2").click()
    layers = page.locator(".hu-film .hu-grid .hu-row")
    expect(layers).to_have_text(["1", "2"])
    remount = """() => {
      document.querySelector(".hu").remove();
      window.view.close();
      window.view = window.createView(document.body);
      document.querySelector(".hu").classList.add("hu-file");
    }"""
    page.evaluate(remount)
    show_steps(page, [*STEPS, 128], name="a-run")
    check_step(page, 128, "encoder", 0, 1)
    slider(page).fill("4")
    page.evaluate(remount)
    show_steps(page, [*STEPS, 128], name="a-run")
    check_step(page, 8, "encoder", 0, 1)
    page.evaluate(remount)
    show_steps(page, [*STEPS, 128], name="another")
    check_step(page, 128)
    expect(layers).to_have_text(["2", "1"])  # an ended run: the layer of the clearest head is first


def check_a_growing_film(page: Page, tmp_path: Path) -> None:
    open_film(page, tmp_path, STEPS[:4])
    page.get_by_role("radio", name="layer 1, head 2").click()
    page.get_by_role("radio", name="layer 1, head 2").press("ArrowRight")
    show_steps(page, STEPS)
    check_step(page, 100, layer=0, head=2)
    expect(page.get_by_role("radio", name="layer 1, head 3")).to_be_focused()

    open_film(page, tmp_path, [])
    expect(page.get_by_text("No picture yet")).to_be_visible()
    expect(page.locator(".hu-scrub")).to_be_hidden()
    show_steps(page, [0])
    expect(page.locator(".hu-step")).to_have_text("Step 0")
    expect(page.locator(".hu-play")).to_be_disabled()
    show_steps(page, STEPS)
    check_step(page, 100)


def test_a_film_is_played_scrubbed_and_keeps_its_place_while_it_grows(
    page: Page, tmp_path: Path
) -> None:
    check_steps_are_selected(page, tmp_path)
    check_playing(page, tmp_path)
    check_a_film_keeps_its_head_and_step_when_redrawn(page, tmp_path)
    check_a_growing_film(page, tmp_path)
    page.emulate_media(reduced_motion="reduce")
    open_html(page, tmp_path, view_page(START))
    show_steps(page, STEPS, play=True)
    check_step(page, 100)
    expect(page.locator(".hu-play")).to_have_text("Play")
