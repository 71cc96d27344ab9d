"""Exports of every view as PNG, SVG and CSV files, and the Export menu."""

from __future__ import annotations

import base64
import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import (
    CSV,
    PNG,
    SRC,
    SVG,
    TGT,
    TRACE,
    Numbers,
    bounding_box,
    colour_scale,
    download,
    open_explorer,
    table,
)
from tests.figures.fake_traces import fake_trace
from transformer.figures.views import EXPLORER


def picture(url: str) -> Numbers:
    """Return red, green and blue of a picture that a script returns as a data URL."""
    with Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))) as image:
        values: Numbers = np.asarray(image.convert("RGB")).astype(float)
    return values


def check_png_has_the_colours_of_the_screen(page: Page, tmp_path: Path) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        open_explorer(page, tmp_path, TRACE, layer=1, head=2)
        name, path = download(page, PNG, tmp_path)
        assert name == "attention-elan-b-x-b-say-it-heatmap-cross-L2-H3.png"
        with Image.open(path) as image:
            values = np.asarray(image.convert("RGB")).astype(int)
        box = bounding_box(page.locator(".hu-canvas"))
        assert values.shape[:2] == (3 * (box["height"] + 52 + 54 + 16), 3 * (box["width"] + 32))
        background = {"light": (255, 255, 255), "dark": (18, 22, 28)}[scheme]
        assert tuple(values[1, 1]) == background
        # It contains every colour of the cells.
        rgb_codes = np.unique(values @ [65536, 256, 1])
        colours = np.stack([rgb_codes >> 16, rgb_codes >> 8 & 255, rgb_codes & 255], axis=1)
        levels = np.rint(255 * np.sqrt(TRACE.weights("cross", 1)[2])).astype(int).ravel()
        for expected in colour_scale(page)[levels, :3]:
            assert np.abs(expected - colours).max(axis=1).min() <= 4
        assert (values[:150] != background).any(axis=(1, 2)).any()  # the title is above the picture


def check_svg_has_the_colours_of_print(page: Page, tmp_path: Path) -> None:
    """Check it while the screen is dark."""
    page.mouse.move(0, 0)
    before = page.locator(".hu-canvas").screenshot()
    name, path = download(page, SVG, tmp_path)
    assert name.endswith("-cross-L2-H3.svg")
    root = ElementTree.parse(path).getroot()
    namespaces = {"svg": "http://www.w3.org/2000/svg"}
    assert root.findtext("svg:title", namespaces=namespaces) == "Layer 2, head 3"
    described = root.findtext("svg:desc", namespaces=namespaces)
    assert described == f"Cross-attention · {TRACE.translation.source} → rows r."
    fills = [node.get("fill") for node in root.iterfind(".//svg:rect", namespaces)]
    assert fills[0] == "#ffffff"
    cells = 5 * len(SRC)
    assert len(fills) > cells
    texts = [node.text for node in root.iterfind(".//svg:text", namespaces)]
    expected = [text.removeprefix("▁") for text in [*SRC, *TGT, "</s>"]]
    assert {text[:6] for text in expected} <= {(text or "")[:6] for text in texts}
    assert root.findall(".//svg:image", namespaces) == []
    assert root.findall(".//svg:script", namespaces) == []
    page.mouse.move(0, 0)
    page.keyboard.press("Escape")
    page.locator("body").click(position={"x": 1, "y": 1})
    assert page.locator(".hu-canvas").screenshot() == before  # the screen keeps its colours


def check_png_and_svg_are_the_same_picture(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, kind="decoder", layer=1, head=2, special="dimmed")
    page.evaluate(
        """window.el = (tag, values) => Object.assign(document.createElement(tag), values)"""
    )
    pictures = []
    for label in (PNG, SVG):
        _, path = download(page, label, tmp_path)
        pictures.append(base64.b64encode(path.read_bytes()).decode())
    images = page.evaluate(
        """async ([png, svg]) => {
          const pictures = [];
          for (const url of [`data:image/png;base64,${png}`, `data:image/svg+xml;base64,${svg}`]) {
            const image = new Image();
            image.src = url;
            await image.decode();
            const canvas = el("canvas", { width: 600, height: 560 });
            canvas.getContext("2d").drawImage(image, 0, 0, 600, 560);
            pictures.push(canvas.toDataURL());
          }
          return pictures;
        }""",
        pictures,
    )
    png, svg = map(picture, images)
    assert png.std() > 30
    assert np.abs(png - svg).mean() < 2
    # Nothing as large as a letter is in only one of the two pictures.
    patches = np.abs(png - svg).mean(axis=2).reshape(56, 10, 60, 10).mean(axis=(1, 3))
    assert patches.max() < 40


def check_menu(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE)
    button = page.get_by_role("button", name="Export")
    menu = page.locator(".hu-menu")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    for key, focused in [
        ("ArrowDown", SVG),
        ("ArrowUp", PNG),
        ("ArrowUp", CSV),
    ]:
        page.keyboard.press(key)
        expect(page.get_by_role("button", name=focused)).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    page.locator(".hu-title").click()
    expect(menu).to_be_hidden()
    button.click()
    page.keyboard.press("Shift+Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(menu).to_be_hidden()
    expect(page.get_by_role("button", name="Fewer tools")).to_be_focused()

    open_explorer(page, tmp_path, fake_trace(["</s>"], ["<s>", "a"]), special="hidden")
    page.get_by_role("button", name="Export").click()
    for button in (PNG, SVG):
        expect(page.get_by_role("button", name=button)).to_be_disabled()


def check_every_view_has_a_table_and_files(page: Page, tmp_path: Path) -> None:
    pair = [
        fake_trace(SRC, TGT, vectors=True),
        fake_trace(SRC[2:], TGT, vectors=True, source="Another one."),
    ]
    open_explorer(page, tmp_path, *pair, layer=1, head=2)
    tabs = page.locator(".hu-tabs [role=tab]")
    names = [tab.get_attribute("data-view") for tab in tabs.all()]
    assert names == list(EXPLORER)
    for number, name in enumerate(names):
        tabs.nth(number).click()
        header, rows = table(page)
        if name != "decoding":  # its picture is the tree of a beam search
            _, path = download(page, SVG, tmp_path)
            description = ElementTree.parse(path).findtext("{http://www.w3.org/2000/svg}desc") or ""
            assert ("Another one." in description) == (name == "compare")
            _, path = download(page, PNG, tmp_path)
            with Image.open(path) as image:
                assert len(set(image.convert("L").resize((300, 300)).tobytes())) > 5, name
        _, path = download(page, CSV, tmp_path)
        data = path.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf"), "a spreadsheet would not read it as UTF-8"
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
        assert lines == [header, *rows], f"the file of {name} is not its table"
        page.locator(".hu-data-table summary").click()
        expect(page.locator(".hu-data-table table")).to_have_count(0)


def test_every_view_is_exported_as_a_picture_and_as_a_table(page: Page, tmp_path: Path) -> None:
    check_png_has_the_colours_of_the_screen(page, tmp_path)
    check_svg_has_the_colours_of_print(page, tmp_path)
    page.emulate_media(color_scheme="light")
    check_png_and_svg_are_the_same_picture(page, tmp_path)
    check_menu(page, tmp_path)
    check_every_view_has_a_table_and_files(page, tmp_path)
