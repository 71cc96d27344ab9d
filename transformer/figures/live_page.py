"""The first page of the static site, whose model runs in the browser, and the scripts it loads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from transformer.figures.modules import CLIENT, JoinedModules, join_modules
from transformer.figures.site_frame import NOT_STARTED, PLACES, page_html
from transformer.figures.views import TABS, json_script

WORKER_FOLDERS = ("model", "trace", "trace/questions")
"""Folders of `client/` that the worker loads unchanged: ES modules that a student can read in the
browser's developer tools."""
WORKER_FILES = (
    *("engine/worker.js", "engine/changes.js", "engine/model-files.js"),
    *("common/base.js", "common/base64.js", "common/naming.js", "common/head-codes.js"),
    *("common/matrix.js", "common/numbers.js", "common/sentences.js"),
)
"""Further modules that the worker loads."""
SERVICE_WORKER = "engine/service-worker.js"

# Matrix products run in WebAssembly, and views set styles in attributes. Other origins are blocked.
LIVE_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "connect-src 'self'; style-src 'self' 'unsafe-inline' file:; img-src 'self' data: blob:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'"
)
_MAIN = """<main class="live">
<div class="live-heading"><h1>{title}</h1>
{lead}</div>
<div id="hu-lessons"></div>
<div id="hu-live">{not_started}</div>
<noscript><p>The model runs in this page and needs JavaScript, which is off here.</p></noscript>
</main>"""


@cache
def live_script() -> JoinedModules:
    """Return the script of the first page and of the page Learn, and the style of all views."""
    return join_modules(
        f'{TABS}\nimport {{ openSite }} from "./app/try/site.js";\n'
        'import { openSiteLearn } from "./app/learn/site-lessons.js";\n'
        'const site = JSON.parse(document.getElementById("hu-site").textContent);\n'
        'if (document.getElementById("hu-live")) openSite(TABS, site);\n'
        "else openSiteLearn(site);\n"
    )


def worker_scripts() -> dict[str, str]:
    """Return the modules of the worker by their paths below `scripts/`."""
    paths = [
        f"{folder}/{path.name}"
        for folder in WORKER_FOLDERS
        for path in sorted((CLIENT / folder).glob("*.js"))
    ]
    return {path: (CLIENT / path).read_text(encoding="utf-8") for path in (*paths, *WORKER_FILES)}


def service_worker(version: str, files: Sequence[str]) -> str:
    """Return the service worker script, which caches these files for offline use."""
    script = (CLIENT / SERVICE_WORKER).read_text(encoding="utf-8")
    for name, value in (("VERSION", json.dumps(version)), ("FILES", json.dumps(list(files)))):
        placeholder = f"const {name} = {'[]' if name == 'FILES' else chr(34) * 2};"
        if placeholder not in script:
            raise ValueError(f"{SERVICE_WORKER} needs the line {placeholder!r}, which is replaced.")
        script = script.replace(placeholder, f"const {name} = {value};")
    return script


def live_page(site: Mapping[str, Any], title: str, lead: str, footer: str) -> str:
    """Return the first page. `app/try/site.js` reads `site`."""
    main = _MAIN.format(
        title=escape(title),
        lead=f"<p>{escape(lead)}</p>",
        not_started=NOT_STARTED,
    )
    return page_html(
        title,
        main,
        footer,
        policy=LIVE_POLICY,
        current=PLACES[0][0],
        styles=("live.css",),
        scripts=f'{json_script("hu-site", site)}\n<script type="module" src="live.js"></script>',
    )
