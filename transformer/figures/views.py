"""The browser views: plain scripts and styles that stand beside this file, without a build step.

A view is used in two ways: mounted by the app (`module` gives the script, `style` the style), or
as a file of its own that opens without a server (`page`). Either way what is shown comes as data,
and reaches the page as text, never as HTML.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Literal

View = Literal["attention", "translation"]

_SCRIPTS: dict[str, tuple[str, ...]] = {
    "attention": ("base.js", "heatmap.js", "attention.js"),
    "translation": ("base.js", "translation.js"),
}
_STYLES: dict[str, tuple[str, ...]] = {
    "attention": ("base.css", "attention.css"),
    "translation": ("base.css", "translation.css"),
}

_MODULE = """
const views = new WeakMap(); // one for each place in the page, kept from call to call

export default function ({ data, parentElement, setStateValue }) {
  if (!views.has(parentElement)) {
    views.set(parentElement, %sView(parentElement, (value) => setStateValue("chosen", value)));
  }
  const view = views.get(parentElement);
  if (data) view.show(data);
  return () => view.close();
}
"""

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
<script type="module">
{script}
const view = {view}View(document.body, () => {{}});
document.querySelector(".hu").classList.add("hu-file");
view.show({data});
</script>
</body>
</html>
"""


def script(view: View) -> str:
    """The view's functions, `attentionView` or `translationView` the one to call."""
    return "\n".join(_read(name) for name in _SCRIPTS[view])


def style(view: View) -> str:
    """The view's style sheet."""
    return "\n".join(_read(name) for name in _STYLES[view])


def module(view: View) -> str:
    """The script as a Streamlit component of the second kind imports it."""
    return script(view) + _MODULE % view


def page(view: View, data: bytes | dict[str, Any], title: str = "Attention") -> str:
    """One HTML file that shows `data` by itself: no server, nothing fetched.

    Args:
        data: of `pack` for "attention", of `translation_data` for "translation".
    """
    if isinstance(data, bytes):
        letters = base64.b64encode(data).decode()
        written = f'Uint8Array.from(atob("{letters}"), (letter) => letter.charCodeAt(0))'
    else:
        # Inside a script element only "<" could end it or begin a comment.
        written = json.dumps(data).replace("<", "\\u003c")
    return _PAGE.format(
        title=escape(title), style=style(view), script=script(view), view=view, data=written
    )


@cache
def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
