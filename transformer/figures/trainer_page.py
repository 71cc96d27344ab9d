"""The page that trains a model in a browser tab: its files, for the static site and for the app.

They are ES modules that a browser loads unchanged and a student can read in its developer tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from transformer.figures.inline_markdown import html_of
from transformer.figures.live_page import NOT_STARTED, header_html

BROWSER = Path(__file__).parent / "browser"
FOLDERS = ("model", "training", "trainer")
FILES = ("base.js", "naming.js", "head-codes.js", "mount.js", "base.css")
TITLE = "Train a Transformer in this tab"
# Products run in WebAssembly; other origins are blocked, so what is typed stays here.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="site.css"><link rel="stylesheet" href="scripts/base.css">
<link rel="stylesheet" href="scripts/trainer/trainer.css">
</head><body>
{header}
<main class="live">
<h1 class="hu-trainer-title">{title}</h1>
<div id="hu-trainer">{not_started}</div>
<noscript><p>The model trains in this page and needs JavaScript, which is off here.</p></noscript>
</main>
<footer>{footer}</footer>
<script type="module" src="scripts/trainer/page.js"></script>
</body></html>
"""


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
    return _PAGE.format(
        policy=POLICY,
        title=TITLE,
        header=header_html(current="train.html"),
        not_started=NOT_STARTED,
        footer=html_of(footer),
    )
