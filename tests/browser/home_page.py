"""The home page and helpers to read it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from benchmarks.browser import ROOT, wait_for_script_run
from transformer import Translator
from transformer.analysis.alignment.aligner_head import load_aligner_head
from transformer.checkpoint import checkpoint_hash
from transformer.figures.glance import glance_data


def words(page: Page, position: str = "last") -> list[str]:
    return getattr(page.locator(".hu-glance-row"), position).locator("button").all_inner_texts()


def tile(page: Page, number: int, position: str = "last") -> Locator:
    return getattr(page.locator(".hu-glance-row"), position).locator("button").nth(number)


def expected_words(translator: Translator, text: str, **options: object) -> list[str]:
    data = glance_data(translator.trace(text, method="greedy", **options))  # type: ignore[arg-type]
    return [word["text"] for word in data["words"]]


def expected_glance(translator: Translator, text: str) -> dict[str, Any]:
    """Return en-fr's data of the home page, with the head in `aligner.json`."""
    folder = ROOT / "checkpoints/en-fr"
    aligner = load_aligner_head(folder, checkpoint_hash(folder), translator.model.config)
    return glance_data(translator.trace(text, method="greedy"), aligner=aligner)


def open_home(page: Page, app: str, query: str = "") -> Page:
    page.goto(f"{app}/{query}")
    expect(tile(page, 0)).to_be_attached()
    wait_for_script_run(page)
    return page


def show_all_words(page: Page) -> None:
    """Wait until all words are shown."""
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
