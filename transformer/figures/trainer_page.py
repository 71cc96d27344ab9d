"""The pages that train models in a browser tab, *Train in this tab* and the *Bug clinic*.

Their files, for the static site and for the app.

They are ES modules that a browser loads unchanged and a student can read in its developer tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from transformer.figures.modules import CLIENT
from transformer.figures.site_frame import NOT_STARTED, page_html

FOLDERS = ("model", "training", "app/trainer", "app/clinic")
FILES = (
    "common/base.js",
    "common/base64.js",
    "common/csv.js",
    "common/naming.js",
    "common/head-codes.js",
    "common/numbers.js",
    "common/sentences.js",
    "common/terms.js",
    "common/thumbnail.js",
    "common/mount.js",
    "common/base.css",
    "views/grids/all-heads.js",
    "views/grids/all-heads.css",
)
SHEETS = ("common/base", "views/grids/all-heads")
TITLE = "Train a Transformer in this tab"
CLINIC_TITLE, CLINIC = "Bug clinic", "clinic.html"
SCORE_RACE = (
    "n_layers=1;n_heads=1;d_ff=128;score=dot;steps=400;option.longest=6"
    "~0@0;score=scaled_dot~0@0;score=additive"
)
"""The race of the three score functions, as in `client/app/trainer/races.js`."""
WARMUP_RACE = "n_layers=2;learning_rate=0.01;steps=400;warmup=100~0@0;warmup=1"
"""Two runs with and without a warm-up."""
# Products run in WebAssembly; other origins are blocked, so what is typed stays here.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
_MAIN = """<main class="live">
<h1 class="hu-trainer-title">{title}</h1>
<div id="{container}">{not_started}</div>
<noscript><p>The model trains in this page and needs JavaScript, which is off here.</p></noscript>
</main>"""


@cache
def trainer_files() -> Mapping[str, bytes]:
    """Return the scripts and style sheets by their paths below one folder. A page also needs
    the pairs of French, training/french-pairs.js (`text.tasks.pair_data`)."""
    paths = [CLIENT / name for name in FILES]
    for folder in FOLDERS:
        paths += [p for p in sorted((CLIENT / folder).iterdir()) if p.suffix in (".js", ".css")]
    return {path.relative_to(CLIENT).as_posix(): path.read_bytes() for path in paths}


def trainer_page(footer: str) -> str:
    """Return the page Train of the static site."""
    return _page(TITLE, "hu-trainer", footer, "train.html", ("app/trainer/trainer",), "app/trainer")


def clinic_page(footer: str) -> str:
    """Return the bug clinic of the static site."""
    sheets = ("app/trainer/trainer", "app/clinic/symptoms", "app/clinic/clinic")
    return _page(CLINIC_TITLE, "hu-clinic", footer, "learn.html", sheets, "app/clinic")


def _page(
    title: str, container: str, footer: str, current: str, sheets: Sequence[str], folder: str
) -> str:
    return page_html(
        title,
        _MAIN.format(title=title, container=container, not_started=NOT_STARTED),
        footer,
        policy=POLICY,
        current=current,
        styles=[f"scripts/{sheet}.css" for sheet in (*SHEETS, *sheets)],
        scripts=f'<script type="module" src="scripts/{folder}/page.js"></script>',
    )
