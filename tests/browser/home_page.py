"""Helpers to open and read the home page: a row of source words above a row of translated words."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.figures.deno import drawn
from tests.live_app import ROOT, wait_for_script_run
from transformer import Translator
from transformer.analysis.alignment.aligner_head import load_aligner_head
from transformer.checkpoint import checkpoint_hash
from transformer.figures.glance import glance_data


def words(page: Page, row: str = "last") -> list[str]:
    """Return the words of the source ("first") or of the translation ("last")."""
    return getattr(page.locator(".hu-glance-row"), row).locator("button").all_inner_texts()


def tile(page: Page, number: int, row: str = "last") -> Locator:
    """Return the button of a word, counted from 0, in the "first" or "last" row."""
    return getattr(page.locator(".hu-glance-row"), row).locator("button").nth(number)


def expected_words(translator: Translator, text: str, **options: object) -> list[str]:
    trace = translator.trace(text, method="greedy", **options)  # type: ignore[arg-type]
    return [word["text"] for word in drawn("glance", glance_data({}, trace))["words"]]


def expected_glance(translator: Translator, text: str) -> dict[str, Any]:
    """Return the home page's data for en-fr, with the head that `aligner.json` names."""
    folder = ROOT / "checkpoints/en-fr"
    aligner = load_aligner_head(folder, checkpoint_hash(folder), translator.model.config)
    packed = glance_data({}, translator.trace(text, method="greedy"), aligner=aligner)
    data: dict[str, Any] = drawn("glance", packed)
    return data


def open_home(page: Page, app: str, query: str = "") -> Page:
    page.goto(f"{app}/{query}")
    expect(tile(page, 0)).to_be_attached()
    wait_for_script_run(page)
    return page


def wait_for_all_words(page: Page) -> None:
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
