"""Take screenshots of every page on one sheet: light, dark, on phones, and 1,920 pixels wide.

    python docs/screenshot_sheets.py [PAGE ...]

PAGE is a path such as `attention`; the default is all pages. Writes docs/screenshots/<page>.png at
half size, to review changes that affect all pages.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from pictures import ROOT, VARIANTS, compress, open_page
from PIL import Image
from playwright.sync_api import Browser

from tests.live_app import app_server, chromium
from transformer.ui.shell.registry import PAGES, path

SHEET = (
    (VARIANTS[""], (0, 0)),
    (VARIANTS["-dark"], (1420, 0)),
    ({"viewport": {"width": 1920, "height": 1080}, "color_scheme": "light"}, (0, 920)),
    (VARIANTS["-phone"], (1940, 920)),
    (VARIANTS["-phone-dark"], (2350, 920)),
)
"""Variants of a page, and the position of their top left corner on the sheet."""
SIZE = (2820, 2000)


def sheet(browser: Browser, address: str, target: Path) -> None:
    canvas = Image.new("RGB", SIZE, "#8a8f96")
    for variant, corner in SHEET:
        page = open_page(browser, address, variant)
        with Image.open(io.BytesIO(page.screenshot(animations="disabled"))) as picture:
            canvas.paste(picture, corner)
        page.context.close()
    canvas.resize((SIZE[0] // 2, SIZE[1] // 2), Image.Resampling.LANCZOS).save(target)
    compress(target)


def main(names: list[str]) -> None:
    folder = ROOT / "docs" / "screenshots"
    folder.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as runs,
        app_server(ROOT / "checkpoints", HEADS_UP_RUNS=runs) as (address, _),
        chromium() as browser,
    ):
        for name in names or [path(file) or "home" for file in PAGES]:
            where = "" if name == "home" else name
            sheet(browser, f"{address}/{where}", folder / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
