"""What several benchmarks share: their options, the window, a measurement, the lines they print."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import median, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a machine for `benchmarks.gpu` needs no browser
    from playwright.sync_api import ViewportSize

VIEWPORT: ViewportSize = {"width": 1400, "height": 900}

MEASURE_KEYSTROKE = """([text, selector]) => new Promise((done) => {
  const views = [document, ...[...document.querySelectorAll("*")].map((node) => node.shadowRoot)];
  const root = views.find((view) => view?.querySelector(".hu-glance textarea"));
  const area = root.querySelector("textarea");
  area.focus();
  area.value = text;
  const start = performance.now();
  area.dispatchEvent(new Event("input", { bubbles: true }));
  const look = () => {
    const words = [...(root.querySelector(".hu-glance-words")?.children ?? [])];
    const typed = words.map((word) => word.textContent).join(" ") === text;
    const drawn = typed && root.querySelector(selector);
    requestAnimationFrame(drawn ? () => done(performance.now() - start) : look);
  };
  look();
})"""
"""Milliseconds from an input to the frame after its translation and `selector` are on the page,
with the time that the field waits for further letters."""


def option_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that shows a module's docstring as it is written."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )


def report(
    label: str, values: Sequence[float], goal: str = "", digits: int = 0, unit: str = "ms"
) -> None:
    """Print the median of the values, of at least 8 also the 95th percentile, and the goal."""
    number = f"{median(values):8.{digits}f}" if values else "       –"
    percentile = f" (p95 {quantiles(values, n=20)[-1]:.{digits}f})" if len(values) >= 8 else ""
    limit = f"   goal: {goal}" if goal else ""
    print(f"{label:<66} {number} {unit}{percentile}{limit}", flush=True)
