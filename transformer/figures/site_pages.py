"""Lesson pages of the static site: a course of questions, each with a view to find the answer in.

Each answer to choose is a `<details>` element, and a page of `views` loads in a frame when it is
opened. A question about the picture of a sentence is asked by `app/learn/live-lesson.js`, about any
sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from transformer.figures.inline_markdown import html_of
from transformer.figures.lesson_thumbnail import lesson_thumbnail
from transformer.figures.live_page import LIVE_POLICY
from transformer.figures.site_frame import NOT_STARTED, PLACES, page_html
from transformer.figures.views import json_script

LEARN = PLACES[1][0]
"""File of the list of lessons."""
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --ground: #fff; --soft: #f1f3f5; --link: #0072b2;
  --line: #c8ced4; --muted: #4d555e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebef; --ground: #12161c; --soft: #1c222b;
  --link: #56b4e9; --line: #3a434e; --muted: #b4bcc6; } }
* { box-sizing: border-box; }
body { margin: 0; font: 17px/1.55 system-ui, sans-serif; color: var(--ink);
  background: var(--ground); overflow-wrap: anywhere; }
header, main, footer { max-width: 74rem; margin: 0 auto; padding: 0.8rem 1.2rem; }
header { display: flex; flex-wrap: wrap; gap: 0.4rem 1.4rem; border-bottom: 1px solid var(--line); }
header { align-items: baseline; } header nav { display: flex; gap: 0.4rem; }
header nav a { padding: 0.15rem 0.7rem; border-radius: 8px; color: inherit; text-decoration: none; }
header nav a:hover, header nav a[aria-current] { background: var(--soft); }
header nav a[aria-current] { font-weight: 650; }
@keyframes appear { from { visibility: hidden; } }
.not-started { animation: appear 3s step-end; } footer { color: var(--muted); font-size: 0.9rem; }
a { color: var(--link); } h1 { font-size: 1.9rem; line-height: 1.2; margin: 1rem 0 0.4rem; }
h2 { font-size: 1.25rem; margin: 2rem 0 0.5rem; } p, ol, details, blockquote { max-width: 46rem; }
.meta { color: var(--muted); margin: 0 0 1rem; } .question { font-weight: 650; font-size: 1.1rem; }
blockquote { margin: 0.8rem 0; padding-left: 0.9rem; border-left: 4px solid var(--line); }
details { background: var(--soft); border: 1px solid var(--line); border-radius: 8px;
  margin: 0.5rem 0; padding: 0.55rem 0.9rem; }
summary { cursor: pointer; } details[open] > summary { font-weight: 650; }
details.look { max-width: none; background: none; }
iframe { width: 100%; height: 46rem; border: 1px solid var(--line); border-radius: 8px;
  background: var(--ground); }
.math { font-family: serif; font-style: italic; } .way { display: flex; gap: 1.5rem;
  flex-wrap: wrap; margin: 1.6rem 0; }
.begin, .way a { border: 1px solid var(--link); border-radius: 8px; padding: 0.4rem 0.9rem;
  text-decoration: none; }
.begin { display: inline-block; color: var(--ground); background: var(--link); font-weight: 650; }
.parts { columns: 20rem; column-gap: 2.5rem; } .parts section { break-inside: avoid; }
.parts h2 { margin-top: 0.6rem; } .parts li { margin: 0.35rem 0; }
.lesson-thumbnail { vertical-align: middle; margin-right: 0.6rem; background: var(--soft); }
 ol, ul { padding-left: 1.7rem; }
"""
# `file:` allows opening the site from a disk; the style sheet is a separate file.
_POLICY = (
    "default-src 'none'; img-src data:; style-src 'self' file:; frame-src 'self' file:; "
    "base-uri 'none'"
)


@dataclass(frozen=True)
class AnswerChoice:
    """One answer to choose from; `feedback` is the Markdown text that it opens."""

    label: str
    feedback: str
    right: bool = False


@dataclass(frozen=True)
class ViewLink:
    """A view of the site: its file, and its title as plain text."""

    file: str
    title: str


@dataclass(frozen=True)
class CourseStep:
    """A question of the course; texts are Markdown.

    Attributes:
        file: file of this page in the site.
        picture: of the list, as `lesson_thumbnail` reads it.
        meta: a line below the title.
        notes: paragraphs before the question.
        answer: the answer with its explanation; "" if a script asks the question.
        choices: answers to choose from; empty if the reader finds the answer in the view.
        exhibit: what the question refers to, such as a translation.
        quote: a line in which to find the mistake.
        train_link: the page that trains such a model.
        start_link: where the reader finds the answer, if there are no choices.
        question_picture: of a question that is not asked about a model in the page, as
            `trace/questions/case.js` describes it.
        site, live: data of the models and of this lesson for `app/learn/live-lesson.js`; None if
            the question is not asked about a model in the page.
    """

    file: str
    title: str
    picture: str
    meta: str
    notes: Sequence[str]
    question: str
    answer: str = ""
    choices: Sequence[AnswerChoice] = ()
    exhibit: str = ""
    quote: str = ""
    view_link: ViewLink | None = None
    train_link: ViewLink | None = None
    start_link: ViewLink | None = None
    question_picture: Mapping[str, Any] | None = None
    site: Mapping[str, Any] | None = None
    live: Mapping[str, Any] | None = None


def step_page(
    step: CourseStep,
    previous_step: CourseStep | None,
    next_step: CourseStep | None,
    footer: str,
) -> str:
    """Return the page of one question."""
    parts = [f"<h1>{html_of(step.title)}</h1>", f'<p class="meta">{html_of(step.meta)}</p>']
    if step.live is not None or step.question_picture is not None:
        parts.append('<div id="hu-picture" class="hu hu-file"></div>')
    parts += [f"<p>{html_of(note)}</p>" for note in step.notes]
    if step.live is not None and step.site is not None:
        parts.append(f'<div id="hu-live">{NOT_STARTED}</div>')
    if step.exhibit or step.live is not None:
        parts.append(f'<p id="hu-exhibit">{html_of(step.exhibit)}</p>')
    if step.quote:
        parts.append(f"<blockquote>{html_of(step.quote)}</blockquote>")
    parts.append(f'<p class="question">{html_of(step.question)}</p>')
    if step.start_link is not None:
        title = escape(step.start_link.title)
        parts.append(f"<p>{_link(f'../{step.start_link.file}', title)}</p>")
    answers = [*map(_choice_details, step.choices)]
    if step.live is None:
        answers.append(_answer_details(step))
    parts.append(f'<div id="hu-answers">{"".join(answers)}</div>')
    links = [_step_link("← ", previous_step), _step_link("", next_step, " →")]
    parts.append(f'<nav class="way" aria-label="Steps">{"".join(links)}</nav>')
    data = ""
    if step.live is not None and step.site is not None:
        data = json_script("hu-site", step.site) + json_script("hu-lesson", step.live)
    elif step.question_picture is not None:
        data = json_script("hu-question", step.question_picture)
    scripts = f'{data}\n<script type="module" src="../live.js"></script>' if data else ""
    return _page(step.title, parts, footer, "../", scripts)


def index_page(
    title: str,
    lead: Sequence[str],
    sections: Sequence[tuple[str, Sequence[CourseStep]]],
    view_links: Sequence[tuple[str, Sequence[ViewLink]]],
    footer: str,
) -> str:
    """Return the list of lessons: an introduction, the parts of the course, and the views."""
    parts = [f"<h1>{escape(title)}</h1>", *(f"<p>{html_of(text)}</p>" for text in lead)]
    first = next((step for _, steps in sections for step in steps), None)
    if first is not None:
        title_of = html_of(first.title)
        parts.append(f'<p><a class="begin" href="{escape(first.file)}">Begin: {title_of} →</a></p>')
    parts.append('<div class="parts">')
    number = 1
    for name, steps in sections:
        listed = "".join(
            f"<li>{lesson_thumbnail(step.picture)}{_link(step.file, html_of(step.title))}</li>"
            for step in steps
        )
        parts.append(
            f'<section><h2>{escape(name)}</h2><ol start="{number}">{listed}</ol></section>'
        )
        number += len(steps)
    for name, links in view_links:
        listed = "".join(f"<li>{_link(link.file, escape(link.title))}</li>" for link in links)
        parts.append(f"<section><h2>{escape(name)}</h2><ul>{listed}</ul></section>")
    parts.append("</div>")
    return _page(title, parts, footer)


def _page(title: str, parts: Sequence[str], footer: str, up: str = "", scripts: str = "") -> str:
    return page_html(
        title,
        "\n".join(["<main>", *parts, "</main>"]),
        footer,
        policy=LIVE_POLICY if scripts else _POLICY,
        current=LEARN,
        up=up,
        styles=("live.css",) if scripts else (),
        scripts=scripts,
    )


def _choice_details(choice: AnswerChoice) -> str:
    """Return an answer to choose; the shared name closes the others when one opens."""
    word = "✓ Correct." if choice.right else "✗ Incorrect."
    feedback = f"<p><b>{word}</b> {html_of(choice.feedback)}</p>"
    kind = ' class="right"' if choice.right else ""
    label = f"<summary>{html_of(choice.label)}</summary>"
    return f'<details name="guess"{kind}>{label}{feedback}</details>'


def _answer_details(step: CourseStep) -> str:
    """Return the element that opens the answer and the view."""
    parts = [f"<p>{html_of(step.answer)}</p>"]
    if step.view_link is not None:
        file, title = f"../{escape(step.view_link.file)}", escape(step.view_link.title)
        parts.append(f'<p><a href="{file}">{title}, in its own page</a></p>')
        if step.view_link.file.startswith(("views/", "films/")):
            parts.append(f'<iframe loading="lazy" src="{file}" title="{title}"></iframe>')
    if step.train_link is not None:
        link = _link(f"../{step.train_link.file}", escape(step.train_link.title))
        parts.append(f"<p>{link}</p>")
    return (
        f'<details class="look right"><summary>Show the answer</summary>{"".join(parts)}</details>'
    )


def _step_link(before_title: str, step: CourseStep | None, after_title: str = "") -> str:
    if step is None:
        return ""
    return f'<a href="../{escape(step.file)}">{before_title}{html_of(step.title)}{after_title}</a>'


def _link(file: str, title: str) -> str:
    """Return a link to a page; `title` is HTML already."""
    return f'<a href="{escape(file)}">{title}</a>'
