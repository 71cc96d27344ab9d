"""The browser views: plain scripts and styles in `browser/`, without a build step.

A view is used in two ways: mounted by the app (`module` gives the script, `style` the style), or
as a file of its own that opens without a server (`page`, and `explorer.explorer_page`). Either way
what is shown comes as data, and reaches the page as text, never as HTML.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

_BROWSER = Path(__file__).parent / "browser"

# What draws tables of weights, alone or in a view.
_TABLES = ("base", "store", "matrix", "pen", "lettering", "stage", "cells", "legend", "mosaic")
EXPLORER: dict[str, tuple[str, ...]] = {
    "heads": ("headlines", "headchips", "heads"),
    "model": ("model",),
    "heatmap": ("heatmap",),
    "query-key": ("working", "strips", "querykey"),
    "decoding": ("tree", "stepping", "decoding"),
    "compare": ("differences", "comparing", "compare"),
}
"""The explorer's views in the order of their tabs, each with what draws it; the last script of each
adds its tab."""
COMPONENTS: dict[str, tuple[str, ...]] = {
    "explorer": (
        *_TABLES,
        "explorer.css",
        "options",
        "measures",
        *chain(*EXPLORER.values()),
        "sheet",
        "take",
        "tools.css",
        "help",
        "explorer",
        "address",
    ),
    "translation": ("base", "translation"),
    "film": (
        *_TABLES,
        "explorer.css",
        "model.css",
        "tools.css",
        "options",
        "heatmap",
        "sheet",
        "take",
        "help",
        "filmed",
        "scrubber",
        "film",
    ),
    "moments": ("base", "explorer.css", "legend", "formula", "moments"),
    "figure1": ("base", "store", "figure1"),
    "tensors": (
        "base",
        "explorer.css",
        "store",
        "lettering",
        "stage",
        "legend",
        "formula",
        "ranked",
        "tensordraw",
        "tensors",
    ),
    "moves": (
        "base",
        "explorer.css",
        "store",
        "lettering",
        "stage",
        "cells",
        "legend",
        "formula",
        "moves",
    ),
    "switchboard": (
        "base",
        "explorer.css",
        "model.css",
        "store",
        "legend",
        "mosaic",
        "switchboard",
    ),
    "headgrid": ("base", "explorer.css", "model.css", "legend", "headgrid"),
}
"""Every component with its files in `browser/`, in the order of their use: a script knows those
before it. A name stands for a script and, where there is one, its style."""

_MODULE = """
const views = new WeakMap(); // one for each place in the page, kept from call to call

export default function ({ data, parentElement, setStateValue }) {
  if (!views.has(parentElement)) views.set(parentElement, %s);
  const view = views.get(parentElement);
  if (data) view.show(data);
  return () => view.close();
}
"""
_MAKE = """%sView(parentElement, (state) => setStateValue("state", state))"""
_MAKE_EXPLORER = """explorerView(parentElement, (state, defaults) => {
    writeAddress(state, defaults);
    setStateValue("state", state);
  }, true)"""

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


@cache
def script(view: str) -> str:
    """The functions of a component; of "film" `filmView` is the one to call, and so on."""
    return "\n".join(_read(f"{name}.js") for name in COMPONENTS[view] if "." not in name)


@cache
def style(view: str) -> str:
    """The component's style sheet."""
    given = [name for name in COMPONENTS[view] if "." in name]
    names = [name if "." in name else f"{name}.css" for name in COMPONENTS[view]]
    found = [name for name in dict.fromkeys(names) if name in given or (_BROWSER / name).exists()]
    return "\n".join(_read(name) for name in found)


def module(view: str) -> str:
    """The script as a Streamlit component of the second kind imports it."""
    make = _MAKE_EXPLORER if view == "explorer" else _MAKE % view
    return script(view) + _MODULE % make


def page(view: str, start: str, data: str = "", title: str = "Attention", after: str = "") -> str:
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


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8")
