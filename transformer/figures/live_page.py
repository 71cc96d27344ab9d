"""The page of a site whose model runs in the browser, and the scripts that it loads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from transformer.figures.marked import html_of
from transformer.figures.modules import Joined, join_modules
from transformer.figures.views import TABS, json_script

BROWSER = Path(__file__).parent / "browser"
WORKER_FOLDERS = ("live", "model", "trace")
"""Folders of `browser/` that the worker loads as they are: ES modules that a student can read in
the browser's own tools."""
SERVICE_WORKER = "live/service-worker.js"

# WebAssembly for the fast product; views set styles in attributes. Nothing may come from elsewhere.
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'"
)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="site.css"><link rel="stylesheet" href="live.css">
</head><body>
<main class="live">
<div class="live-heading"><h1>{title}</h1>
{lead}</div>
<div id="hu-live"></div>
<noscript><p>The model runs in this page and needs JavaScript, which is off here.</p></noscript>
</main>
<footer>{footer}</footer>
{data}
<script type="module" src="live.js"></script>
</body></html>
"""


@cache
def live_script() -> Joined:
    """The page's script and the style of all its views."""
    start = 'openLive(TABS, JSON.parse(document.getElementById("hu-site").textContent));\n'
    return join_modules(f'{TABS}\nimport {{ openLive }} from "./live.js";\n{start}')


def worker_scripts() -> dict[str, str]:
    """The modules of the worker by their paths below `scripts/`."""
    return {
        f"{folder}/{path.name}": path.read_text(encoding="utf-8")
        for folder in WORKER_FOLDERS
        for path in sorted((BROWSER / folder).glob("*.js"))
        if f"{folder}/{path.name}" != SERVICE_WORKER
    }


def service_worker(version: str, files: Sequence[str]) -> str:
    """The script that keeps these files for a visit without a network."""
    script = (BROWSER / SERVICE_WORKER).read_text(encoding="utf-8")
    for name, value in (("VERSION", json.dumps(version)), ("FILES", json.dumps(list(files)))):
        empty = f"const {name} = {'[]' if name == 'FILES' else chr(34) * 2};"
        if empty not in script:
            raise ValueError(f"{SERVICE_WORKER} has no line {empty!r} to be filled in.")
        script = script.replace(empty, f"const {name} = {value};")
    return script


def live_page(site: Mapping[str, Any], title: str, lead: Sequence[str], footer: str) -> str:
    """The first page. `site` is what `browser/live.js` takes; `lead` and `footer` are Markdown."""
    return _PAGE.format(
        policy=_POLICY,
        title=escape(title),
        lead="".join(f"<p>{html_of(text)}</p>" for text in lead),
        footer=html_of(footer),
        data=json_script("hu-site", site),
    )
