"""Bars, stacked shares and animated clocks for the Positions page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.positions import Numbers, lay_out, ticks

# Parts of the score: blue for the key's word, red for its position; dark where the query's half is
# of the same kind.
PART_COLOURS = ("#08427f", "#d795b4", "#5ba3d0", "#882255", "#a9bfe0", "#eed3e0")
PART_COLOURS_DARK = ("#2f86c9", "#93345f", "#a3cbe4", "#eda3c2", "#1c4a73", "#5c2440")
SECONDS_PER_WORD, MAX_SECONDS = 0.7, 5.0
"""Length of the animation. It stops within five seconds, as WCAG 2.2.2 asks."""
STYLE = """
.hu-clocks { overflow-x: auto; }
.hu-clocks table { border-collapse: collapse; }
.hu-clocks :is(th, td) { padding: 0.15rem 0.6rem 0.15rem 0; text-align: left; font-weight: 400; }
.hu-clocks thead th { font-size: 0.85rem; opacity: 0.8; }
.hu-clock { position: relative; display: block; width: 2.4rem; height: 2.4rem; }
.hu-clock { border: 1.5px solid; border-radius: 50%; }
.hu-clocks .large .hu-clock { width: 4.2rem; height: 4.2rem; margin-block: 0.3rem; }
.hu-clock i { position: absolute; left: calc(50% - 1.5px); bottom: 50%; width: 3px; height: 44%; }
.hu-clock i { border-radius: 2px; background: currentColor; }
.hu-clock i { transform: rotate(var(--end)); transform-origin: 50% 100%; }
.hu-clocks-word { display: inline-block; padding: 0 0.4rem; border-radius: 0.3rem; }
@media (prefers-reduced-motion: no-preference) {
  .hu-clocks .large i { animation: hu-turn var(--all) steps(var(--places), jump-end) 1; }
  .hu-clocks-word { animation: hu-here var(--one) linear var(--wait) 1; }
}
@keyframes hu-turn { from { transform: rotate(0deg); } to { transform: rotate(var(--end)); } }
@keyframes hu-here { from, to { background: light-dark(#bcdcf2, #134b77); } }
"""


def grouped_bars(
    groups: Mapping[str, Sequence[float] | Numbers],
    labels: Sequence[str],
    *,
    x_title: str,
    y_title: str,
    dark: bool = False,
) -> go.Figure:
    """Draw grouped bars over each label; labels may repeat."""
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for index, (name, heights) in enumerate(groups.items()):
        figure.add_bar(
            x=list(range(len(labels))),
            y=heights,
            name=escape(name, quote=False),
            marker={"color": palette[index % len(palette)]},
            hovertemplate="%{x}<br>%{y:.2f}<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, x_title, y_title, dark)
    figure.update_xaxes(showgrid=False, **ticks(labels))
    return figure


def stacked_shares(
    values: Numbers, parts: Sequence[str], labels: Sequence[str], *, dark: bool = False
) -> go.Figure:
    """Draw one stacked bar per label, from 0 to 100%, with one segment per part (up to six).

    Args:
        values: (label, part), each row summing to 1; the first label is at the top.
    """
    colours = PART_COLOURS_DARK if dark else PART_COLOURS
    figure = go.Figure()
    for index, part in enumerate(parts):
        figure.add_bar(
            y=list(range(len(labels))),
            x=values[:, index],
            orientation="h",
            name=escape(part),
            marker={"color": colours[index]},
            hovertemplate="%{y}<br>%{x:.1%}<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, "share of the variance along the rows", "", dark, height=140 + 30 * len(labels))
    figure.update_layout(barmode="stack", legend={"traceorder": "normal"})
    figure.update_xaxes(tickformat=".0%", range=[0, 1.001])
    figure.update_yaxes(autorange="reversed", showgrid=False, **ticks(labels))
    return figure


def animated_clocks(
    words: Sequence[str], wavelengths: Sequence[float], turn: int = 0, first_number: int = 0
) -> str:
    """Return HTML: a row of large clocks that run once through the words, then a row per word.

    Where the browser asks for reduced motion, the large clocks show the last position.

    Args:
        words: the tokens of a sentence, the first at position 0.
        wavelengths: wavelengths of the pairs to show, in positions, the fastest first.
        turn: a counter; changing it restarts the animation.
        first_number: the number that is shown for the first position.

    Raises:
        ValueError: if there are no words.
    """
    if not words:
        raise ValueError("There are no words; the clocks need at least one.")
    last = len(words) - 1
    total_seconds = min(MAX_SECONDS, SECONDS_PER_WORD * len(words))
    seconds_per_word = total_seconds / len(words)
    word_row = "".join(
        f'<span class="hu-clocks-word" style="--one:{seconds_per_word:.3f}s;'
        f'--wait:{position * seconds_per_word:.3f}s">{escape(word)}</span>'
        for position, word in enumerate(words)
    )
    large_clocks = "".join(
        f'<td style="--all:{last * seconds_per_word:.3f}s;--places:{max(last, 1)}">'
        f"{_clock(angle(last, length))}</td>"
        for length in wavelengths
    )
    column_headings = "".join(
        f'<th scope="col">once in {length:,.{int(length < 100)}f} positions</th>'
        for length in wavelengths
    )
    rows = "".join(
        f'<tr><th scope="row">{position + first_number} <b>{escape(word)}</b></th>'
        + "".join(f"<td>{_clock(angle(position, length))}</td>" for length in wavelengths)
        + "</tr>"
        for position, word in enumerate(words)
    )
    return (
        f'<div class="hu-clocks" data-turn="{turn}" tabindex="0" role="region" '
        f'aria-label="Clocks over the words"><p>{word_row}</p>'
        f"<table><thead><tr><th></th>{column_headings}</tr></thead>"
        f'<tbody><tr class="large" aria-hidden="true"><th scope="row"></th>{large_clocks}</tr>'
        f"{rows}</tbody></table></div>"
    )


def angle(position: int, wavelength: float) -> float:
    """Return the angle of a hand at this position, in degrees clockwise from the top.

    The y coordinate is the cosine and the x coordinate the sine, so at position 0 every hand points
    up.
    """
    return 360 * position / wavelength


def _clock(degrees: float) -> str:
    return f'<span class="hu-clock"><i style="--end:{degrees:.4f}deg"></i></span>'
