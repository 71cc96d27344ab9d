"""Take the screenshots of the documentation: some pages wide and on a phone, light and dark; the
other pages and the explorer's views once.

    python docs/pictures.py [CHECKPOINTS]

CHECKPOINTS is a folder of checkpoints, by default `checkpoints`. Writes docs/<page>.png, with the
suffixes -dark and -phone for the variants, docs/<view>.png, and docs/sources.png: the first page of
the app next to that of the static site.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.browser import chromium, http_server, served, settled, wait_until  # noqa: E402
from transformer.ui.site import write_site  # noqa: E402

RAIN = "text=If it rains, we will stay at home."
PAGES = {
    "home": "",
    "translate": "translate?text=She has never seen the sea.&method=beam",
    "attention": f"attention?{RAIN}&layer=3&head=2",
}
VIEWS = {
    "pin": "attention?text=Who gave you that red umbrella?&pin=s5",
    "model": f"attention?{RAIN}&view=model&measure=entropy",
    "heatmap": f"attention?{RAIN}&view=heatmap&layer=3&head=2&row=5&column=5",
    "query-key": f"attention?{RAIN}&view=query-key&layer=3&head=2&row=3&column=3",
    "decoding": f"attention?{RAIN}&view=decoding&layer=3&head=2&step=3&method=beam",
    "compare": f"attention?{RAIN}&view=compare&layer=3&head=2&other=If it snows, we stay here.",
}
"""Further views of the Attention page, as full-page screenshots in one variant."""

LAB = "text=She has never seen the sea."
OTHER_PAGES = {
    "lessons": "lessons?lesson=umbrella",
    "inside": f"inside?{RAIN}&box=encoder.self_attn.softmax&layer=2&head=3",
    "positions": f"positions?{RAIN}&topic=parts&head=0",
    "why": "why?part=table&n=64&d=512",
    "lab": f"lab?{LAB}&lab=switch&off=c3.2,c5.1",
    "findings": "findings",
}
"""The other pages, in one variant."""

LOOKS: dict[str, dict[str, Any]] = {
    "": {"viewport": {"width": 1400, "height": 900}, "color_scheme": "light"},
    "-dark": {"viewport": {"width": 1400, "height": 900}, "color_scheme": "dark"},
    "-phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "-phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
LARGEST = 250_000
"""Maximum bytes of a screenshot, as the repository keeps every version."""


def photograph(
    browser: Browser,
    address: str,
    target: Path,
    look: Mapping[str, Any],
    *,
    full_page: bool = False,
) -> None:
    """Take a screenshot of a page's top window, or of the whole explorer."""
    page = opened(browser, address, look)
    if full_page:
        page.set_viewport_size({"width": 1400, "height": 3000})
        page.wait_for_timeout(300)  # the frame in which it is drawn at its new size
        page.locator(".hu-explorer").screenshot(path=target, animations="disabled")
    else:
        page.screenshot(path=target, animations="disabled")
    page.context.close()
    keep(target)


def opened(browser: Browser, address: str, look: Mapping[str, Any]) -> Page:
    """Open a page in a new context and return it when everything is drawn."""
    page = browser.new_context(**look, reduced_motion="reduce").new_page()  # nothing half written
    page.goto(address)
    page.get_by_role("heading", level=1).wait_for()
    settled(page)
    page.evaluate("document.fonts.ready")
    # Charts and tables are fetched and drawn after the script has ended.
    wait_until(page, "!document.querySelector('[data-testid=stSkeleton]')")
    page.wait_for_timeout(1500)
    page.mouse.move(0, 0)
    return page


def train(browser: Browser, address: str, target: Path) -> None:
    """Train the first suggestion on the Train page and take a screenshot at the end."""
    context = browser.new_context(viewport={"width": 1400, "height": 1780})
    page = context.new_page()
    page.goto(f"{address}/train")
    page.get_by_role("button", name="Train").first.click()
    page.mouse.move(0, 0)  # no tip over what comes where the button was
    page.get_by_text("finished", exact=True).wait_for(timeout=300_000)
    page.locator(".hu-thumb").first.wait_for()
    settled(page)
    page.wait_for_timeout(1000)  # the curves are drawn to their end
    page.screenshot(path=target, animations="disabled")
    context.close()
    keep(target)


def both_sources(browser: Browser, address: str, target: Path) -> None:
    """The app's first page on the left, the site's on the right: one view, two sources."""
    look = {"viewport": {"width": 1000, "height": 860}, "color_scheme": "light"}
    with tempfile.TemporaryDirectory() as folder:
        write_site(Path(folder) / "site")
        with http_server(Path(folder) / "site") as site:
            pictures = []
            for page in (
                opened(browser, f"{address}/?{LAB}", look),
                _site_page(browser, site, look),
            ):
                content = page.screenshot(animations="disabled")
                pictures.append(Image.open(io.BytesIO(content)).convert("RGB"))
                page.context.close()
    whole = Image.new("RGB", (2020, 860), "#8a8f96")
    for picture, left in zip(pictures, (0, 1020), strict=True):
        whole.paste(picture, (left, 0))
    whole.resize((1515, 645), Image.Resampling.LANCZOS).save(target)
    keep(target)


def _site_page(browser: Browser, site: str, look: Mapping[str, Any]) -> Page:
    """The site's first page after its model has translated the sentence."""
    page = browser.new_context(**look, reduced_motion="reduce").new_page()
    page.goto(f"{site}?{LAB}")
    page.locator(".hu-live-bar").wait_for(state="hidden")
    page.locator(".hu-glance-words").first.wait_for()
    page.wait_for_timeout(1500)  # the words that came close are asked for
    page.mouse.move(0, 0)
    return page


def keep(target: Path) -> None:
    """Reduce a screenshot to 256 colours; exit if it is still too large."""
    with Image.open(target) as picture:
        picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
    size = target.stat().st_size
    if size > LARGEST:
        sys.exit(f"{target} has {size} bytes; at most {LARGEST} are wanted.")
    print(f"{target.relative_to(ROOT)}  {size / 1000:.0f} kB")


def main(checkpoints: Path) -> None:
    if not list(checkpoints.glob("*/config.json")):
        sys.exit(f"There is no checkpoint in {checkpoints}.")
    with (
        tempfile.TemporaryDirectory() as runs,
        served(checkpoints, HEADS_UP_RUNS=runs) as (address, _),
        chromium() as browser,
    ):
        for name, path in PAGES.items():
            for suffix, look in LOOKS.items():
                target = ROOT / "docs" / f"{name}{suffix}.png"
                photograph(browser, f"{address}/{path}", target, look)
        for name, path in VIEWS.items():
            target = ROOT / "docs" / f"{name}.png"
            photograph(browser, f"{address}/{path}", target, LOOKS[""], full_page=True)
        for name, path in OTHER_PAGES.items():
            tall = {**LOOKS[""], "viewport": {"width": 1400, "height": 1200}}
            photograph(browser, f"{address}/{path}", ROOT / "docs" / f"{name}.png", tall)
        both_sources(browser, address, ROOT / "docs" / "sources.png")
        train(browser, address, ROOT / "docs" / "train.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "checkpoints")
