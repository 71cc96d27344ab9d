"""Figure of word alignment: the links between two sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.theme import theme

Link = tuple[int, int]  # positions of a source word and of a target word, from 0
MAX_LETTERS = 14  # of a word next to the links
WORD_SPACING = 30  # pixels from word to word
GOLD_COLOURS = {False: "rgba(214,160,0,0.38)", True: "rgba(240,228,66,0.34)"}


def alignment(
    source: Sequence[str],
    target: Sequence[str],
    predicted: Collection[Link],
    scores: Float[np.ndarray, "target source"],
    *,
    sure: Collection[Link] | None = None,
    possible: Collection[Link] = (),
    names: tuple[str, str] = ("Source", "Target"),
    dark: bool = False,
) -> go.Figure:
    """Draw source words on the left, target words on the right and links as lines between them.

    Args:
        predicted: the links of a head. Those that are not gold are dashed, in another colour.
        scores: the score of every pair of words, shown in hover.
        sure, possible: gold links, drawn as broad lines behind; `sure` is None if there are none.
        names: headings of the two columns.

    Raises:
        ValueError: if a link points to a word that does not exist.
    """
    n_src, n_tgt = len(source), len(target)
    for i, j in {*predicted, *(sure or ()), *possible}:
        if not (0 <= i < n_src and 0 <= j < n_tgt):
            raise ValueError(f"There is no link {i}-{j} between {n_src} and {n_tgt} words.")
    palette = DARK if dark else LIGHT
    good = {*(sure or ()), *possible}
    groups: list[tuple[str, Collection[Link], str, str, float]] = [
        ("gold links", sure or (), GOLD_COLOURS[dark], "solid", 13),
        ("possible gold links", set(possible) - set(sure or ()), GOLD_COLOURS[dark], "dot", 9),
    ]
    if sure is None:
        groups.append(("links of the head", predicted, palette[0], "solid", 2.4))
    else:
        right, wrong = set(predicted) & good, set(predicted) - good
        groups.append(("links of the head, gold", right, palette[0], "solid", 2.4))
        groups.append(("links of the head, not gold", wrong, palette[1], "dash", 2.4))
    figure = go.Figure()
    for name, links, colour, dash, width in groups:
        if links:
            figure.add_scatter(
                x=[x for _ in links for x in (0, 1, None)],
                y=[y for i, j in sorted(links) for y in (i, j, None)],
                mode="lines",
                name=name,
                line={"color": colour, "width": width, "dash": dash},
                hoverinfo="skip",
            )
    _draw_words(figure, source, 0, "middle left", dark)
    _draw_words(figure, target, 1, "middle right", dark)
    _add_hover_markers(figure, source, target, predicted, scores, None if sure is None else good)
    _lay_out(figure, WORD_SPACING * max(n_src, n_tgt) + 110, dark)
    figure.update_xaxes(visible=False, range=[-0.95, 1.95], fixedrange=True)
    figure.update_yaxes(visible=False, range=[max(n_src, n_tgt) - 0.4, -1.4], fixedrange=True)
    for x, name, anchor in ((0, names[0], "right"), (1, names[1], "left")):
        figure.add_annotation(
            x=x, y=-0.95, text=f"<b>{escape(name)}</b>", showarrow=False, xanchor=anchor
        )
    return figure


def _draw_words(
    figure: go.Figure, words: Sequence[str], x: int, text_position: str, dark: bool
) -> None:
    figure.add_scatter(
        x=[x] * len(words),
        y=list(range(len(words))),
        mode="markers+text",
        text=[f"\u2002{_short(word)}\u2002" for word in words],  # keeps it off the marker
        customdata=[
            f"{position}: {escape(word, quote=False)}" for position, word in enumerate(words)
        ],
        textposition=text_position,
        marker={"size": 7, "color": "#b8bdc4" if dark else "#5f6368"},
        hovertemplate="word %{customdata}<extra></extra>",
        showlegend=False,
    )


def _add_hover_markers(
    figure: go.Figure,
    source: Sequence[str],
    target: Sequence[str],
    predicted: Collection[Link],
    scores: Float[np.ndarray, "target source"],
    good: Collection[Link] | None,
) -> None:
    """Add an invisible marker with hover text in the middle of every link."""
    links = sorted(predicted)
    notes = ["" if good is None else ("; gold" if link in good else "; not gold") for link in links]
    figure.add_scatter(
        x=[0.5] * len(links),
        y=[(i + j) / 2 for i, j in links],
        mode="markers",
        marker={"size": 22, "opacity": 0},
        customdata=[
            f"{escape(source[i], quote=False)} – {escape(target[j], quote=False)}: "
            f"{scores[j, i]:.3f}{note}"
            for (i, j), note in zip(links, notes, strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )


def _lay_out(figure: go.Figure, height: int, dark: bool) -> None:
    figure.update_layout(
        template=theme(dark),
        height=height,
        font={"size": 15},
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        legend={"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "x": 0},
        hovermode="closest",
        dragmode=False,
    )


def _short(word: str) -> str:
    """Return the word, shortened and escaped: Plotly interprets some HTML in labels."""
    return escape(word if len(word) <= MAX_LETTERS else word[: MAX_LETTERS - 1] + "…", quote=False)
