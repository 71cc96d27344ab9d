"""The page Learn of the static site, and the style of all its pages.

`app/learn/site-lessons.js` draws the lessons and asks their questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from transformer.figures.live_page import LIVE_POLICY
from transformer.figures.site_frame import NOT_STARTED, PLACES, page_html
from transformer.figures.views import json_script

LEARN = PLACES[1][0]
"""File of the page Learn."""
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --ground: #fff; --soft: #f1f3f5; --link: #0072b2;
  --line: #c8ced4; --muted: #4d555e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebef; --ground: #12161c; --soft: #1c222b;
  --link: #56b4e9; --line: #3a434e; --muted: #b4bcc6; } }
* { box-sizing: border-box; }
body { margin: 0; font: 17px/1.55 system-ui, sans-serif; color: var(--ink);
  background: var(--ground); overflow-wrap: anywhere; }
body > :is(header, main, footer) { max-width: 74rem; margin: 0 auto; padding: 0.8rem 1.2rem; }
header { display: flex; flex-wrap: wrap; gap: 0.4rem 1.4rem; border-bottom: 1px solid var(--line); }
header { align-items: baseline; } header nav { display: flex; gap: 0.4rem; }
header nav a { padding: 0.15rem 0.7rem; border-radius: 8px; color: inherit; text-decoration: none; }
header nav a:hover, header nav a[aria-current] { background: var(--soft); }
header nav a[aria-current] { font-weight: 650; }
@keyframes appear { from { visibility: hidden; } }
.not-started { animation: appear 3s step-end; } footer { color: var(--muted); font-size: 0.9rem; }
a { color: var(--link); } h1 { font-size: 1.9rem; line-height: 1.2; margin: 1rem 0 0.4rem; }
h2 { font-size: 1.25rem; margin: 2rem 0 0.5rem; } p, details, blockquote { max-width: 46rem; }
details { background: var(--soft); border: 1px solid var(--line); border-radius: 8px;
  margin: 0.5rem 0; padding: 0.55rem 0.9rem; }
summary { cursor: pointer; } details[open] > summary { font-weight: 650; }
.math { font-family: serif; font-style: italic; } ol, ul { padding-left: 1.7rem; }
main.learn > h1 { font-size: 1.3rem; margin: 0; }
/* The card of an open lesson stays visible on Try: left of a wide page, above a narrow one. */
main:not(.learn):has(> [data-lesson="card"]) > .live-heading p { display: none; }
main:not(.learn) > [data-lesson="card"] { position: sticky; top: 0; z-index: 5; max-height: 42vh;
  overflow-y: auto; }
@media (min-width: 1100px) {
  main:not(.learn):has(> [data-lesson="card"]) { display: grid; max-width: 110rem;
    grid-template-columns: 21rem minmax(0, 1fr); column-gap: 1.5rem; align-items: start; }
  main:not(.learn):has(> [data-lesson="card"]) > .live-heading { grid-column: 1 / -1; }
  main:not(.learn) > [data-lesson="card"] { top: 0.6rem; max-height: calc(100vh - 1.2rem); }
}
"""
_MAIN = """<main class="live learn"><h1>Learn</h1>
<div id="hu-lessons">{not_started}</div>
{films}
<noscript><p>The lessons need JavaScript, which is off here.</p></noscript>
</main>"""
FILMS = "Heads during training"


@dataclass(frozen=True)
class ViewLink:
    """A view of the site: its file, and its title as plain text."""

    file: str
    title: str


def learn_page(site: Mapping[str, Any], films: Sequence[ViewLink], footer: str) -> str:
    """Return the page Learn. `app/learn/site-lessons.js` reads `site`."""
    links = "".join(
        f'<li><a href="{escape(film.file)}">{escape(film.title)}</a></li>' for film in films
    )
    listed = f'<details class="films"><summary>{FILMS}</summary><ul>{links}</ul></details>'
    return page_html(
        "Learn · Heads Up",
        _MAIN.format(not_started=NOT_STARTED, films=listed if films else ""),
        footer,
        policy=LIVE_POLICY,
        current=LEARN,
        styles=("live.css",),
        scripts=f'{json_script("hu-site", site)}\n<script type="module" src="live.js"></script>',
    )
