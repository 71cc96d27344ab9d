"""The browser views: plain scripts and styles in `browser/`, without a build step.

A view is used in two ways: mounted by the app (`module` gives the script, `style` the style), or
as a file of its own that opens without a server (`page`, and `explorer.explorer_page`). Either way
what is shown comes as data, and reaches the page as text, never as HTML.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Literal

View = Literal[
    "explorer",
    "translation",
    "film",
    "moments",
    "figure1",
    "tensors",
    "moves",
    "switchboard",
    "headgrid",
]

# What draws tables of weights, alone or in a view.
_TABLES = (
    "base.js",
    "store.js",
    "matrix.js",
    "pen.js",
    "lettering.js",
    "stage.js",
    "cells.js",
    "legend.js",
    "mosaic.js",
    "options.js",
)
# In the order of their use: a script knows those before it. A view of the explorer adds its tab.
_SCRIPTS: dict[str, tuple[str, ...]] = {
    "explorer": (
        *_TABLES,
        "measures.js",
        "headlines.js",
        "headchips.js",
        "heads.js",
        "model.js",
        "heatmap.js",
        "working.js",
        "strips.js",
        "querykey.js",
        "tree.js",
        "stepping.js",
        "decoding.js",
        "differences.js",
        "comparing.js",
        "compare.js",
        "sheet.js",
        "take.js",
        "help.js",
        "explorer.js",
        "address.js",
    ),
    "translation": ("base.js", "translation.js"),
    "film": (
        *_TABLES,
        "heatmap.js",
        "sheet.js",
        "take.js",
        "help.js",
        "filmed.js",
        "scrubber.js",
        "film.js",
    ),
    "moments": ("base.js", "legend.js", "formula.js", "moments.js"),
    "figure1": ("base.js", "store.js", "figure1.js"),
    "tensors": (
        "base.js",
        "store.js",
        "lettering.js",
        "stage.js",
        "legend.js",
        "formula.js",
        "ranked.js",
        "tensordraw.js",
        "tensors.js",
    ),
    "moves": (
        "base.js",
        "store.js",
        "lettering.js",
        "stage.js",
        "cells.js",
        "legend.js",
        "formula.js",
        "moves.js",
    ),
    "switchboard": ("base.js", "store.js", "legend.js", "mosaic.js", "switchboard.js"),
    "headgrid": ("base.js", "legend.js", "headgrid.js"),
}
_STYLES: dict[str, tuple[str, ...]] = {
    "explorer": (
        "base.css",
        "explorer.css",
        "heads.css",
        "model.css",
        "querykey.css",
        "decoding.css",
        "compare.css",
        "tools.css",
    ),
    "translation": ("base.css", "translation.css"),
    "film": ("base.css", "explorer.css", "model.css", "tools.css", "film.css"),
    "moments": ("base.css", "explorer.css", "moments.css"),
    "figure1": ("base.css", "figure1.css"),
    "tensors": ("base.css", "explorer.css", "tensors.css"),
    "moves": ("base.css", "explorer.css", "moves.css"),
    "switchboard": ("base.css", "explorer.css", "model.css", "switchboard.css"),
    "headgrid": ("base.css", "explorer.css", "model.css", "headgrid.css"),
}

_MODULE = """
const views = new WeakMap(); // one for each place in the page, kept from call to call

export default function ({ data, parentElement, setStateValue }) {
  if (!views.has(parentElement)) views.set(parentElement, %s);
  const view = views.get(parentElement);
  if (data) view.show(data);
  return () => view.close();
}
"""
_MAKE = {
    "explorer": """explorerView(parentElement, (state, defaults) => {
    writeAddress(state, defaults);
    setStateValue("state", state);
  }, true)""",
    "translation": "translationView(parentElement)",
    "film": """filmView(parentElement, (state) => setStateValue("state", state))""",
    "moments": """momentsView(parentElement, (state) => setStateValue("state", state))""",
    "figure1": """figure1View(parentElement, (state) => setStateValue("state", state))""",
    "tensors": """tensorsView(parentElement, (state) => setStateValue("state", state))""",
    "moves": """movesView(parentElement, (state) => setStateValue("state", state))""",
    "switchboard": """switchboardView(parentElement, (state) => setStateValue("state", state))""",
    "headgrid": """headgridView(parentElement, (state) => setStateValue("state", state))""",
}

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
body {{ margin: 2rem auto; max-width: 1200px; padding: 0 1rem; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #12161c; }} }}
</style>
<body>
{data}
<script type="module" async>
{script}
{start}
</script>
{after}
</body>
</html>
"""


def script(view: View) -> str:
    """The view's functions; of "film" `filmView` is the one to call, and so on."""
    return "\n".join(_read(name) for name in _SCRIPTS[view])


def style(view: View) -> str:
    """The view's style sheet."""
    return "\n".join(_read(name) for name in _STYLES[view])


def module(view: View) -> str:
    """The script as a Streamlit component of the second kind imports it."""
    return script(view) + _MODULE % _MAKE[view]


def page(view: View, start: str, data: str = "", title: str = "Attention", after: str = "") -> str:
    """One HTML file that shows a view by itself: no server, nothing fetched.

    Args:
        start: the lines of script that make the view and show it.
        data: HTML elements that it reads at once.
        after: elements that may come later: the view is drawn before they are read.
    """
    shown = {"script": script(view), "start": start, "data": data, "after": after}
    return _PAGE.format(title=escape(title), style=style(view), **shown)


def translation_page(data: dict[str, Any], title: str = "Translation") -> str:
    """`translation_data` or `steps_data` as a file of its own."""
    # Inside a script element only "<" could end it or begin a comment.
    written = json.dumps(data).replace("<", "\\u003c")
    start = f"""const view = translationView(document.body);
document.querySelector(".hu").classList.add("hu-file");
view.show({written});"""
    return page("translation", start, title=title)


@cache
def _read(name: str) -> str:
    return (Path(__file__).parent / "browser" / name).read_text(encoding="utf-8")
