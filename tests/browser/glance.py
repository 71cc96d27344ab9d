"""The first screen, and what is read there."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from benchmarks.browser import ROOT, settled
from transformer import Translator
from transformer.analysis.alignment.aligner_head import load_aligner_head
from transformer.checkpoint import checkpoint_hash
from transformer.figures.glance import glance_data


def words(page: Page, which: str = "last") -> list[str]:
    return getattr(page.locator(".hu-glance-row"), which).locator("button").all_inner_texts()


def tile(page: Page, number: int, which: str = "last") -> Locator:
    return getattr(page.locator(".hu-glance-row"), which).locator("button").nth(number)


def wanted(translator: Translator, text: str, **more: object) -> list[str]:
    found = glance_data(translator.trace(text, method="greedy", **more))  # type: ignore[arg-type]
    return [one["text"] for one in found["written"]]


def shown(translator: Translator, text: str) -> dict[str, Any]:
    """The picture of en-fr as the page draws it, with the head in `aligner.json`."""
    folder = ROOT / "checkpoints/en-fr"
    aligner = load_aligner_head(folder, checkpoint_hash(folder), translator.model.config)
    return glance_data(translator.trace(text, method="greedy"), aligner=aligner)


def opened(page: Page, app: str, query: str = "") -> Page:
    page.goto(f"{app}/{query}")
    expect(tile(page, 0)).to_be_attached()
    settled(page)
    return page


def whole(page: Page) -> None:
    """Until all words stand there."""
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
