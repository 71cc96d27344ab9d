"""Printable worksheets: questions with a picture and space for answers, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from jaxtyping import Float

from transformer.figures.inline_markdown import html_of

_CELL, _LETTER = 26, 7.2
_STYLE = """
:root { color-scheme: light; }
body { font: 11.5pt/1.5 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 0.3rem; } h2 { font-size: 1.2rem; margin: 0 0 0.2rem; }
.meta { color: #555; font-size: 0.9em; margin: 0 0 0.8rem; }
.who span { display: inline-block; min-width: 16rem; border-bottom: 1px solid #777; }
section { break-inside: avoid; padding: 1rem 0 0.6rem; border-top: 1px solid #bbb; }
section.own { border: 0; }
blockquote { margin: 0.5rem 0; padding-left: 0.8rem; border-left: 3px solid #888; }
.question { font-weight: 600; }
ul.options { list-style: none; padding-left: 0.3rem; } .options li::before { content: "☐  "; }
.lines { height: 1.9rem; border-bottom: 1px solid #999; } .lines + .lines { margin-top: 0.1rem; }
.answer { border: 1px solid #999; border-radius: 4px; padding: 0.3rem 0.7rem; margin-top: 0.5rem; }
svg { max-width: 100%; height: auto; display: block; margin: 0.5rem 0 0; }
figure { margin: 0.6rem 0; break-inside: avoid; } figcaption { font-size: 0.9em; color: #444; }
code { font-size: 0.95em; } .math { font-family: serif; font-style: italic; }
@page { margin: 16mm; }
@media print { body { margin: 0; max-width: none; padding: 0; } }
"""


@dataclass(frozen=True, eq=False)
class Picture:
    """Attention between words, drawn for print.

    Attributes:
        weights: greater weights are drawn darker.
        rows, columns: the words.
        caption: plain text.
        lit: the row that the question is about, or None.
    """

    weights: Float[np.ndarray, "rows columns"]
    rows: Sequence[str]
    columns: Sequence[str]
    caption: str
    lit: int | None = None


@dataclass(frozen=True)
class Exercise:
    """A lesson as it is printed; texts are Markdown.

    Attributes:
        meta: a line below the title.
        notes: paragraphs before the question.
        quote: a line in which to find the mistake.
        lines: number of lines to write on.
        answer: "" on a sheet to fill in.
    """

    title: str
    meta: str
    notes: Sequence[str]
    question: str
    options: Sequence[str] = ()
    quote: str = ""
    picture: Picture | None = None
    lines: int = 3
    answer: str = ""


def sheet_page(title: str, exercises: Sequence[Exercise], about: str = "") -> str:
    """Return the page as HTML; `about` is a line of plain text below its title."""
    class_attribute = ' class="own"' if len(exercises) == 1 else ""
    body = "".join(
        f"<section{class_attribute}>{_exercise(exercise)}</section>" for exercise in exercises
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="meta">{escape(about)}</p>'
        '<p class="who">Name <span></span> Date <span style="min-width: 8rem"></span></p>'
        f"{body}</main></body></html>\n"
    )


def _exercise(exercise: Exercise) -> str:
    parts = [f"<h2>{html_of(exercise.title)}</h2>", f'<p class="meta">{html_of(exercise.meta)}</p>']
    parts += [f"<p>{html_of(note)}</p>" for note in exercise.notes]
    if exercise.quote:
        parts.append(f"<blockquote>{html_of(exercise.quote)}</blockquote>")
    if exercise.picture is not None:
        caption = f"<figcaption>{escape(exercise.picture.caption)}</figcaption>"
        parts.append(f"<figure>{weights_drawing(exercise.picture)}{caption}</figure>")
    parts.append(f'<p class="question">{html_of(exercise.question)}</p>')
    if exercise.options:
        listed = "".join(f"<li>{html_of(option)}</li>" for option in exercise.options)
        parts.append(f'<ul class="options">{listed}</ul>')
    if exercise.answer:
        parts.append(f'<div class="answer">{html_of(exercise.answer)}</div>')
    else:
        parts += ['<div class="lines"></div>'] * exercise.lines
    return "".join(parts)


def weights_drawing(picture: Picture) -> str:
    """Return SVG with a square for every weight. Its area is the weight, so that it shows without
    colours too, and its title gives the number."""
    weights = np.clip(np.nan_to_num(picture.weights), 0, 1)
    label_width = 12 + _LETTER * max((len(word) for word in picture.rows), default=0)
    top = 12 + _LETTER * 0.75 * max((len(word) for word in picture.columns), default=0)
    grid_width, grid_height = len(picture.columns) * _CELL, len(picture.rows) * _CELL
    width = label_width + grid_width + top + 4  # the last column label is slanted beyond the edge
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width:.0f} {top + grid_height + 4:.0f}" '
        f'width="{width:.0f}" role="img" aria-label="{escape(picture.caption)}" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#1b1f24">'
    ]
    for column, word in enumerate(picture.columns):
        x = label_width + (column + 0.5) * _CELL
        rotation = f'transform="rotate(-45 {x:.1f} {top - 5:.1f})"'
        parts.append(f'<text x="{x:.1f}" y="{top - 5:.1f}" {rotation}>{escape(word)}</text>')
    for row, word in enumerate(picture.rows):
        y, bold = top + row * _CELL, ' font-weight="700"' if row == picture.lit else ""
        parts.append(
            f'<text x="{label_width - 7:.1f}" y="{y + _CELL * 0.67:.1f}" text-anchor="end"{bold}>'
            f"{escape(word)}</text>"
        )
        parts += [
            _cell(label_width + column * _CELL, y, float(weights[row, column]))
            for column in range(len(picture.columns))
        ]
        if row == picture.lit:
            parts.append(
                f'<rect x="{label_width - 2:.1f}" y="{y - 2:.1f}" width="{grid_width + 4}" '
                f'height="{_CELL + 4}" fill="none" stroke="#1b1f24" stroke-width="2.5"/>'
            )
    return "".join([*parts, "</svg>"])


def _cell(x: float, y: float, weight: float) -> str:
    """Return a cell's frame and a square in it whose area is the weight."""
    side = (_CELL - 4) * weight**0.5
    inset = (_CELL - side) / 2
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_CELL}" height="{_CELL}" fill="none" '
        'stroke="#ccc"/>'
        f'<rect x="{x + inset:.1f}" y="{y + inset:.1f}" width="{side:.1f}" height="{side:.1f}" '
        f'fill="#08519c"><title>{weight:.2f}</title></rect>'
    )
