"""The browser views: scripts and styles in `client/`, without a build step.

A view is either mounted by the app (`module` returns its script, `style` its style, and `loader` a
short script that fetches both), or written to one HTML file that opens without a server (`page`,
and `explorer.explorer_page`). Content is passed as data and inserted as text, never as HTML.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from transformer.figures.modules import JoinedModules, join_modules

COMPONENTS = {
    "try": "app/try",
    "film": "views/film",
    "moments": "views/film",
    "figure1": "views/inside",
    "tensors": "views/inside",
    "headgrid": "views/grids",
    "wall": "views/grids",
    "frame": "app/frame",
    "classroom": "app/frame",
    "lesson": "app/learn",
}
"""Views that a page can mount, each with its folder: `views/film/film.js` exports `filmView`, and
so on."""

EXPLORER = {
    "heads": "views/heads/heads",
    "heatmap": "views/explorer/heatmap",
    "model": "views/explorer/model",
    "query-key": "views/querykey/querykey",
    "decoding": "views/decoding/decoding",
    "compare": "views/compare/compare",
}
"""The explorer's views in the order of their tabs, each with its script; `views/heads/heads.js`
exports `headsTab`, and so on."""

_TAB_NAMES = {name: f"{script.rpartition('/')[2]}Tab" for name, script in EXPLORER.items()}
TABS = "\n".join(
    [
        *(f'import {{ {_TAB_NAMES[n]} }} from "./{script}.js";' for n, script in EXPLORER.items()),
        *["const TABS = {", *(f'  "{name}": {tab},' for name, tab in _TAB_NAMES.items()), "};"],
    ]
)
"""Script that imports the explorer's views and defines them as `TABS`."""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}
body {{ margin: 2rem auto; max-width: 1200px; padding: 0 1rem; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #12161c; }} }}
</style>
<body>
{data}
<script type="module" async>
{script}</script>
{after}
</body>
</html>
"""


def module(view: str) -> str:
    """Return the script of a view as a Streamlit component (v2) imports it."""
    return _component(view).script


def style(view: str) -> str:
    return _component(view).style


@cache
def served_script(view: str) -> bytes:
    """Return `module(view)` and its style as the one script that `loader` fetches."""
    return f"{module(view)}export const STYLE = {json.dumps(style(view))};\n".encode()


def loader(path: str, pages: Sequence[str]) -> str:
    """Return the script of a component that fetches the view from its server.

    Args:
        path: path of the view below the app's address.
        pages: paths of the app's pages, so that the script can find the app's address.
    """
    arguments = f"{json.dumps(path)}, {json.dumps(list(pages))}"
    return join_modules(
        f"{_use('common/view-loader', 'servedView')}\nexport default await servedView({arguments});"
    ).script


@cache
def _component(view: str) -> JoinedModules:
    if view == "try":
        start = f"{TABS}\n{_use('app/try/component', 'tryComponent')}\n"
        return join_modules(f"{start}export default tryComponent(TABS);")
    names = f"{_use_view(view)}\n{_use('common/mount', 'streamlitComponent')}\n"
    return join_modules(f"{names}export default streamlitComponent({view}View);")


def widget_module() -> JoinedModules:
    """Return the explorer as the front-end module of an anywidget, which exports `{ render }`."""
    start = f"{TABS}\n{_use('views/explorer/explorer-widget', 'explorerWidget')}\n"
    return _joined(f"{start}export default explorerWidget(TABS);")


def try_widget_module() -> JoinedModules:
    """Return the page Try as the front-end module of an anywidget, which exports `{ render }`."""
    start = f"{TABS}\n{_use('app/try/notebook', 'tryWidget')}\n"
    return _joined(f"{start}export default tryWidget(TABS);")


def _use(script: str, name: str) -> str:
    return f'import {{ {name} }} from "./{script}.js";'


def _use_view(view: str) -> str:
    return _use(f"{COMPONENTS[view]}/{view}", f"{view}View")


def page(start: str, data: str = "", title: str = "Attention", after: str = "") -> str:
    """Return one HTML file that shows a view without a server and without loading other files.

    Args:
        start: a script that creates the view, with its imports.
        data: HTML elements that it reads first.
        after: elements that it reads after the view is drawn.
    """
    joined = _joined(start)
    return _PAGE.format(
        script=joined.script, style=joined.style, title=escape(title), data=data, after=after
    )


_joined = cache(join_modules)


def view_page(view: str, data: Mapping[str, Any], title: str) -> str:
    """Return one of `COMPONENTS` that reads JSON as one HTML file."""
    return page(_open_file_script(view, "jsonIn"), json_script("hu-first", data), title)


def packed_page(view: str, data: bytes, title: str, *, shared: bool = False) -> str:
    """Return one of `COMPONENTS` that reads packed data as one HTML file, or as a page that loads
    the script and the style that it shares with others from its folder (`shared_files`)."""
    packed = data_script("id", "hu-first", data)
    if not shared:
        return page(_open_file_script(view, "bytesIn"), packed, title)
    return _PAGE.format(
        script=f'import "./{view}.js";\n',
        style=f'@import "{view}.css";',
        title=escape(title),
        data=packed,
        after="",
    )


def shared_files(view: str) -> dict[str, str]:
    """Return the script and the style of `packed_page` by their names."""
    joined = _joined(_open_file_script(view, "bytesIn"))
    return {f"{view}.js": joined.script, f"{view}.css": joined.style}


def _open_file_script(view: str, read: str) -> str:
    names = f"{_use_view(view)}\n{_use('common/file', f'{read}, openFile')}\n"
    return f'{names}openFile({view}View, await {read}(document.getElementById("hu-first")));'


def json_script(name: str, data: Mapping[str, Any]) -> str:
    """Return a script element that holds the data, for `jsonIn` of `common/file.js`."""
    # Inside a script element only "<" could close it or open a comment.
    escaped_json = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{escaped_json}</script>'


def data_script(name: str, value: str, data: bytes) -> str:
    """Return compressed data in a script element that is not executed; base64 has no "<"."""
    encoded = base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
    return f'<script type="text/plain" {name}="{value}">{encoded}</script>'
