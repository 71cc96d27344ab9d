"""The frame of every page of the static site: head, navigation and footer."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

PLACES = (("index.html", "Try"), ("learn.html", "Learn"), ("train.html", "Train"))
"""Pages of the site that its navigation lists, with their titles in the app."""
NOT_STARTED = """<p class="not-started">If this text stays, the script of this
page has not started. A page opened from a disk (file:) runs no module scripts: serve the folder,
for example with <code>python -m http.server</code> in it, and open the address that it prints. On a
web server, a script is missing, or is sent as another type than text/javascript, or
this browser is too old for it.</p>"""
"""What a page shows before its script, which replaces it; a style sheet delays it."""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title><link rel="icon" href="data:,">
{styles}
</head><body>
{header}
{main}
<footer>{footer}</footer>
{scripts}
</body></html>
"""


def page_html(
    title: str,
    main: str,
    footer: str,
    *,
    policy: str,
    current: str,
    up: str = "",
    styles: Sequence[str] = (),
    scripts: str = "",
) -> str:
    """Return a page.

    Args:
        main: the `<main>` element.
        policy: its Content-Security-Policy.
        current: file of the place in `PLACES` that it belongs to.
        up: path from the page to the site's folder.
        styles: files of style sheets in the site's folder, besides site.css.
        scripts: elements at the end.
    """
    mark = ' aria-current="page"'
    links = "".join(
        f'<a href="{up}{file}"{mark if file == current else ""}>{name}</a>' for file, name in PLACES
    )
    sheets = (f'<link rel="stylesheet" href="{up}{file}">' for file in ("site.css", *styles))
    return _PAGE.format(
        policy=policy,
        title=escape(title),
        styles="".join(sheets),
        header=f'<header><b>Heads Up</b><nav aria-label="Pages">{links}</nav></header>',
        main=main,
        footer=escape(footer),
        scripts=scripts,
    )
