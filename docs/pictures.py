"""Take the screenshots of the documentation: the pages and the explorer's views.

    python docs/pictures.py [CHECKPOINTS]

CHECKPOINTS is a folder of checkpoints, by default `checkpoints`. Writes docs/<page>.png,
docs/<view>.png, and docs/sources.png: the first page of the app next to that of the static site.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.live_app import app_server, chromium, http_server, wait_for_script_run, wait_until  # noqa: E402
from transformer.ui.site.static_site import write_site  # noqa: E402

RAIN = "text=If it rains, we will stay at home."
VIEWS = {
    "pin": "?depth=heads&text=Who gave you that red umbrella?&pin=s5",
    "model": f"?depth=heads&{RAIN}&view=model&measure=entropy",
    "heatmap": f"?depth=heads&{RAIN}&view=heatmap&layer=3&head=2&row=5&column=5",
    "query-key": f"?depth=heads&{RAIN}&view=query-key&layer=3&head=2&row=3&column=3",
    "decoding": "?depth=heads&view=decoding&layer=3&head=2&step=3&method=beam",
    "compare": f"?depth=heads&{RAIN}&view=compare&layer=3&head=2&other=If it snows, we stay here.",
}
"""Views of the explorer, as screenshots of the whole explorer."""

LAB = "text=She has never seen the sea."
PAGES = {
    "home": (f"?{RAIN}&off=c4.3", 900),
    "attention": (f"?depth=heads&{RAIN}&layer=3&head=2", 900),
    "learn": ("learn", 900),
    "lessons": ("learn?lesson=umbrella", 720),
    "inside": (f"inside?{RAIN}&box=encoder.self_attn.softmax&layer=2&head=3", 1200),
    "positions": (f"inside?tab=positions&{RAIN}&topic=parts&head=0", 1200),
    "why": ("inside?tab=why&n=64&d=512", 1200),
    "lab": (f"?{LAB}&depth=off&off=c3.2,c5.1", 1200),
    "findings": ("research?experiment=findings", 1200),
}
"""The pages, with the height of the window in pixels."""

WIDTH = 1400
MAX_BYTES = 250_000
"""Maximum bytes of a screenshot, because the repository stores every version."""


def take_screenshot(
    browser: Browser, address: str, target: Path, height: int, element: str = ""
) -> None:
    """Take a screenshot of a page in a window of this height, or of this element of the page."""
    page = open_page(browser, address, WIDTH, height)
    picture = page.locator(element) if element else page
    picture.screenshot(path=target, animations="disabled")
    page.context.close()
    compress(target)


def open_page(browser: Browser, address: str, width: int, height: int) -> Page:
    """Open a page in a new context; return it when everything is drawn."""
    page = _new_page(browser, width, height)
    page.goto(address)
    page.get_by_role("heading", level=1).wait_for()
    wait_for_script_run(page)
    page.evaluate("document.fonts.ready")
    # Charts and tables are drawn after the script run.
    wait_until(page, "!document.querySelector('[data-testid=stSkeleton]')")
    page.wait_for_timeout(1500)
    page.mouse.move(0, 0)
    return page


def _new_page(browser: Browser, width: int, height: int) -> Page:
    return browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="light",
        reduced_motion="reduce",  # no animation
    )


def train(browser: Browser, address: str, target: Path) -> None:
    """Train the first suggestion on the server and take a screenshot at the end."""
    context = browser.new_context(viewport={"width": 1400, "height": 1780})
    page = context.new_page()
    page.goto(f"{address}/train")
    page.get_by_role("button", name="Train on the server").first.click()
    page.mouse.move(0, 0)  # no tooltip
    page.get_by_text("finished", exact=True).wait_for(timeout=300_000)
    page.locator(".hu-thumb").first.wait_for()
    wait_for_script_run(page)
    page.wait_for_timeout(1000)  # the curves are complete
    page.screenshot(path=target, animations="disabled")
    context.close()
    compress(target)


def app_and_site(browser: Browser, address: str, target: Path) -> None:
    """Take one picture of the app's first page (left) and the site's (right)."""
    with tempfile.TemporaryDirectory() as folder:
        write_site(Path(folder) / "site")
        with http_server(Path(folder) / "site") as site:
            pictures = []
            for page in (
                open_page(browser, f"{address}/?{LAB}", 1000, 860),
                _site_page(browser, site),
            ):
                content = page.screenshot(animations="disabled")
                pictures.append(Image.open(io.BytesIO(content)).convert("RGB"))
                page.context.close()
    sheet = Image.new("RGB", (2020, 860), "#8a8f96")
    for picture, left in zip(pictures, (0, 1020), strict=True):
        sheet.paste(picture, (left, 0))
    sheet.resize((1515, 645), Image.Resampling.LANCZOS).save(target)
    compress(target)


def _site_page(browser: Browser, site: str) -> Page:
    """The site's first page after its model has translated the sentence."""
    page = _new_page(browser, 1000, 860)
    page.goto(f"{site}?{LAB}")
    page.locator(".hu-live-bar").wait_for(state="hidden")
    page.locator(".hu-glance-words").first.wait_for()
    page.wait_for_timeout(1500)  # alternatives are loaded
    page.mouse.move(0, 0)
    return page


def compress(target: Path) -> None:
    """Reduce a screenshot to 256 colours; exit if it is still too large."""
    with Image.open(target) as picture:
        picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
    size = target.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{target} has {size} bytes; at most {MAX_BYTES} are allowed.")
    print(f"{target.relative_to(ROOT)}  {size / 1000:.0f} kB")


def train_in_tab(browser: Browser, address: str, target: Path) -> None:
    """Take a screenshot of a run in the browser whose fork has learned without a head."""
    link = "task=reverse~0@150;off=c1.0"
    page = open_page(browser, f"{address}/train?here={quote(link)}", WIDTH, 900)
    finished = page.get_by_role("group", name="Runs").get_by_text("finished after")
    finished.nth(1).wait_for(timeout=120_000)
    page.get_by_role("group", name="Runs").get_by_role("button").nth(1).click()
    page.wait_for_timeout(500)
    page.screenshot(path=target)
    page.context.close()
    compress(target)


def main(checkpoints: Path) -> None:
    if not list(checkpoints.glob("*/config.json")):
        sys.exit(f"There is no checkpoint in {checkpoints}.")
    with (
        tempfile.TemporaryDirectory() as runs,
        app_server(checkpoints, HEADS_UP_RUNS=runs) as (address, _),
        chromium() as browser,
    ):
        for name, (path, height) in PAGES.items():
            take_screenshot(browser, f"{address}/{path}", ROOT / "docs" / f"{name}.png", height)
        for name, path in VIEWS.items():
            target = ROOT / "docs" / f"{name}.png"
            take_screenshot(browser, f"{address}/{path}", target, 3000, ".hu-explorer")
        app_and_site(browser, address, ROOT / "docs" / "sources.png")
        train(browser, address, ROOT / "docs" / "train.png")
        train_in_tab(browser, address, ROOT / "docs" / "train-tab.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "checkpoints")
