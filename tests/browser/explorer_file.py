"""Helpers to open the explorer as a file in a browser, and to read its picture, table and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from playwright.sync_api import FloatRect, Locator, Page

from tests.figures.fake_traces import HOSTILE, FakeTrace, fake_trace
from transformer.figures import PackedTrace, explorer_page

Numbers = npt.NDArray[np.float64]

# Read pixels from a copy, as reading from a canvas changes how the browser draws it.
_COPY_CANVAS = """
  const canvas = document.querySelector(".hu-view .hu-canvas");
  const ratio = canvas.width / canvas.clientWidth;
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
"""
PNG, SVG, CSV = "Image (PNG)", "Vector image (SVG)", "Table (CSV)"
TGT = ["<s>", "▁r", "ows", "▁r", "."]
SRC = [*HOSTILE, "</s>"]
TRACE = fake_trace(SRC, TGT, source="Élan & <b>x</b>: say, it's so!")
PREDICTED = [*TGT[1:], "</s>"]


def open_explorer(page: Page, folder: Path, *traces: FakeTrace, **state: Any) -> Page:
    """Open the explorer of one or two traces, by default the heatmap with all options and with
    tokens instead of words."""
    names = "AB" if len(traces) > 1 else " "
    sides = [PackedTrace(trace, name.strip()) for trace, name in zip(traces, names, strict=False)]
    html = explorer_page(
        sides, {"view": "heatmap", "layer": 0, "head": 0, "more": 1, "exact": 1, **state}
    )
    open_html(page, folder, html)
    page.locator(".hu-view > *").first.wait_for()
    return page


def open_html(page: Page, folder: Path, html: str) -> Page:
    """Open this HTML as a file."""
    (folder / "page.html").write_text(html, encoding="utf-8")
    page.goto((folder / "page.html").as_uri())
    return page


def bounding_box(element: Locator) -> FloatRect:
    """Return the bounding box of an element."""
    box = element.bounding_box()
    assert box
    return box


def table(page: Page) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table below the view."""
    page.locator(".hu-data-table").evaluate("(node) => { node.open = true; }")
    page.locator(".hu-data-table table").wait_for()
    header, *rows = page.locator(".hu-data-table table").evaluate(
        "(node) => [...node.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return header, rows


def weights(page: Page) -> Numbers:
    """Return the displayed weights; masked ones are NaN."""
    header, rows = table(page)
    start = 2 if "writes" in header else 1
    values: Numbers = np.array(
        [[np.nan if text == "masked" else float(text) for text in row[start:]] for row in rows]
    )
    return values


def pinned_frame(page: Page) -> tuple[float, float, float, float]:
    """Return left, top, width and height of the pinned cell, inside its frame, in CSS pixels."""
    left, top, right, bottom = page.evaluate(
        f"""() => {{{_COPY_CANVAS}
          const {{ data }} = pen.getImageData(0, 0, copy.width, copy.height);
          let [left, top, right, bottom] = [Infinity, Infinity, -1, -1];
          for (let i = 0; i < data.length; i += 4) {{
            if (data[i] !== 0 || data[i + 1] !== 146 || data[i + 2] !== 106) continue;
            const [x, y] = [(i / 4) % copy.width, Math.floor(i / 4 / copy.width)];
            [left, top] = [Math.min(left, x), Math.min(top, y)];
            [right, bottom] = [Math.max(right, x), Math.max(bottom, y)];
          }}
          return [left, top, right, bottom].map((value) => value / ratio);
        }}"""
    )
    return left, top, right - left, bottom - top


def pixels(page: Page, points: list[tuple[float, float]]) -> Numbers:
    """Return red, green, blue and opacity at these points of the picture."""
    values: Numbers = np.array(
        page.evaluate(
            f"""(points) => {{{_COPY_CANVAS}
              return points.map(([x, y]) => [...pen.getImageData(x * ratio, y * ratio, 1, 1).data]);
            }}""",
            points,
        )
    )
    return values


def canvas_pixels(canvas: Locator) -> Numbers:
    """Return all pixels of a canvas, (height, width, 4)."""
    height, width, data = canvas.evaluate(
        """(canvas) => {
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const pen = copy.getContext("2d", { willReadFrequently: true });
          pen.drawImage(canvas, 0, 0);
          const { data } = pen.getImageData(0, 0, copy.width, copy.height);
          return [copy.height, copy.width, [...data]];
        }"""
    )
    return np.array(data, float).reshape(height, width, 4)


def colour_scale(page: Page) -> Numbers:
    """Return the colour of each level from 0 to 255, from the scale below the picture."""
    levels: Numbers = canvas_pixels(page.locator(".hu-view .hu-scale"))[0, :256]
    return levels


def download_text(page: Page, button: str) -> str:
    """Return the text of a file from the Export menu."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    return download.value.path().read_text("utf-8-sig")


def download(page: Page, button: str, folder: Path) -> tuple[str, Path]:
    """Return the name and the path of a downloaded file."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    path = folder / f"download{Path(download.value.suggested_filename).suffix}"
    download.value.save_as(path)
    return download.value.suggested_filename, path


def head(kind: str, layer: int, number: int, trace: FakeTrace = TRACE) -> Numbers:
    return trace.weights(kind, layer)[number].astype(float)


def tooltip_value(page: Page) -> str:
    return page.locator(".hu-tip strong").inner_text()


def cell_centres(page: Page, rows: int, columns: int) -> list[tuple[float, float]]:
    """Return the centres of all cells, row by row; measured at the first and the last cell."""
    page.locator(".hu-canvas").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    left, top, *_ = pinned_frame(page)
    for key, count in (("ArrowDown", rows), ("ArrowRight", columns)):
        for _ in range(count - 1):
            page.keyboard.press(key)
    right, bottom, width, height = pinned_frame(page)
    page.keyboard.press("Escape")
    xs = np.linspace(left, right, columns) + width / 2
    ys = np.linspace(top, bottom, rows) + height / 2
    return [(float(x), float(y)) for y in ys for x in xs]
