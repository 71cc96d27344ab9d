"""The film of connections in a browser: every step shows its own edges and values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import open_html
from transformer.figures.connections import connections_data, connections_page

pytestmark = pytest.mark.browser

EDGES = (("source", "cross.1.0", "value"), ("cross.1.0", "output", "all"))


def step(scale: float) -> dict[str, Any]:
    """Return a step whose two edges have effects of `scale` and minus half of it."""
    table = [
        {"upstream": a, "downstream": b, "input": name, "score": 2 * effect, "effect": effect}
        for (a, b, name), effect in zip(EDGES, (scale, -scale / 2), strict=True)
    ]
    return {"clean": 2.0, "corrupted": -2.0, "accuracy": scale, "edges": 529, "table": table}


STEPS = {0: step(0.1), 8: step(0.5), 64: step(1.0)}


def open_film(page: Page, folder: Path, steps: dict[int, dict[str, Any]] = STEPS) -> None:
    open_html(page, folder, connections_page(connections_data(steps, 2, 4, exact=False)))


def widths(page: Page) -> list[float]:
    edges = page.locator("path.hu-edge")
    return sorted(float(width) for width in edges.evaluate_all(
        "paths => paths.map((path) => path.getAttribute('stroke-width'))"))  # fmt: skip


def test_the_slider_shows_each_step_with_its_edges(page: Page, tmp_path: Path) -> None:
    open_film(page, tmp_path)
    expect(page.locator(".hu-step")).to_have_text("Step 64")
    expect(page.locator("path.hu-edge")).to_have_count(2)
    at_end = widths(page)
    assert at_end[1] == pytest.approx(2 * at_end[0])  # in proportion to the effects
    # The edge with a negative effect is dashed.
    expect(page.locator("path.hu-edge[stroke-dasharray]")).to_have_count(1)
    expect(page.locator(".hu-caption")).to_contain_text(
        "source embedding → cross-attention layer 2, head 1 (value), effect 1 nats."
    )
    expect(page.locator(".hu-connections")).to_contain_text(
        "over the 2 drawn of 529 connections: 1"
    )
    slider = page.get_by_role("slider", name="Step of training of the connections")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator(".hu-step")).to_have_text("Step 0")
    assert widths(page)[1] == pytest.approx(at_end[1] / 10)
    expect(page.locator(".hu-caption")).to_contain_text("at 10% of the positions")


def test_a_connection_can_be_read_without_a_mouse(page: Page, tmp_path: Path) -> None:
    open_film(page, tmp_path)
    page.get_by_text("All drawn connections").click()
    page.get_by_role("button", name="cross-attention layer 2, head 1").press("Enter")
    expect(page.locator(".hu-edge-detail")).to_have_text(
        "cross-attention layer 2, head 1 → output: score −1, effect −0.5 nats."
    )
    expect(page.locator("tr[data-selected='1'] button")).to_be_focused()
    expect(page.locator("path.hu-edge-outline")).to_have_count(1)


def test_it_plays_to_the_end(page: Page, tmp_path: Path) -> None:
    open_film(page, tmp_path)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator(".hu-step")).to_have_text("Step 64")


def test_an_empty_film_says_what_to_do(page: Page, tmp_path: Path) -> None:
    open_film(page, tmp_path, {})
    expect(page.get_by_role("status").first).to_have_text(
        "No connections yet. Compute them for a step first."
    )
