"""The page that trains a model in a browser tab: its files, for the static site and for the app.

They are ES modules that a browser loads unchanged and a student can read in its developer tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from transformer.figures.site_frame import NOT_STARTED, page_html

BROWSER = Path(__file__).parent / "browser"
FOLDERS = ("model", "training", "trainer")
FILES = (
    "common/base.js",
    "common/naming.js",
    "common/head-codes.js",
    "common/thumbnail.js",
    "common/mount.js",
    "common/base.css",
)
TITLE = "Train a Transformer in this tab"
# Products run in WebAssembly; other origins are blocked, so what is typed stays here.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
_MAIN = f"""<main class="live">
<h1 class="hu-trainer-title">{TITLE}</h1>
<div id="hu-trainer">{NOT_STARTED}</div>
<noscript><p>The model trains in this page and needs JavaScript, which is off here.</p></noscript>
</main>"""


@cache
def trainer_files() -> Mapping[str, bytes]:
    """Return the page's scripts and style sheets by their paths below one folder. The page needs
    the pairs of French as well, training/french-pairs.js (`text.tasks.pair_data`)."""
    paths = [BROWSER / name for name in FILES]
    for folder in FOLDERS:
        paths += [p for p in sorted((BROWSER / folder).iterdir()) if p.suffix in (".js", ".css")]
    return {path.relative_to(BROWSER).as_posix(): path.read_bytes() for path in paths}


def trainer_page(footer: str) -> str:
    """Return the page of the static site; `footer` is Markdown."""
    return page_html(
        TITLE,
        _MAIN,
        footer,
        policy=POLICY,
        current="train.html",
        styles=("scripts/common/base.css", "scripts/trainer/trainer.css"),
        scripts='<script type="module" src="scripts/trainer/page.js"></script>',
    )
