"""The film's captions in a browser: those of the step that is shown, from the first one on."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_film import FRAMES, STEPS, opened, slider
from tests.figures.filmed import LABELS
from transformer.figures.film import film_data
from transformer.figures.packing import unpack

pytestmark = pytest.mark.browser


def test_a_caption_stands_below_the_scrubber_and_goes_with_the_step(
    page: Page, tmp_path: Path
) -> None:
    header, _ = unpack(film_data({step: FRAMES[step] for step in STEPS}, LABELS))
    said = header["probes"][0]["captions"]["cross"]
    opened(page, tmp_path, step=STEPS[0])
    expect(page.locator(".hu-step")).to_have_text("Step 0")
    expect(page.locator(".hu-caption")).to_have_text(said[0])
    slider(page).press("End")
    expect(page.locator(".hu-caption")).to_have_text(said[-1])
    page.get_by_role("radio", name="Encoder", exact=True).or_(
        page.get_by_role("button", name="Encoder", exact=True)
    ).first.click()
    expect(page.locator(".hu-caption")).to_have_text(header["probes"][0]["captions"]["encoder"][-1])
