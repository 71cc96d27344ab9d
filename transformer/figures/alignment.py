"""Two sentences word by word and the links between them, and the two rows that tell of one word."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.theme import theme

Link = tuple[int, int]  # positions of a source word and of a target word, from 0
LONGEST = 14  # letters of a word beside the links
STEP = 30  # pixels from word to word
GOLD = {False: "rgba(214,160,0,0.38)", True: "rgba(240,228,66,0.34)"}


def alignment(
    source: Sequence[str],
    target: Sequence[str],
    found: Collection[Link],
    scores: Float[np.ndarray, "target source"],
    *,
    sure: Collection[Link] | None = None,
    possible: Collection[Link] = (),
    names: tuple[str, str] = ("Source", "Target"),
    dark: bool = False,
) -> go.Figure:
    """Source words on the left, target words on the right; links as lines between them.

    Args:
        found: what a head links. Those that are not gold are dashed, in another colour.
        scores: of every pair of words, for the pointer.
        sure, possible: gold links, broad behind the others; None if nobody knows them.
        names: of the two sides.

    Raises:
        ValueError: for a link to a word that is not there.
    """
    n_src, n_tgt = len(source), len(target)
    for i, j in {*found, *(sure or ()), *possible}:
        if not (0 <= i < n_src and 0 <= j < n_tgt):
            raise ValueError(f"There is no link {i}-{j} between {n_src} and {n_tgt} words.")
    palette = DARK if dark else LIGHT
    good = {*(sure or ()), *possible}
    groups: list[tuple[str, Collection[Link], str, str, float]] = [
        ("gold links", sure or (), GOLD[dark], "solid", 13),
        ("possible gold links", set(possible) - set(sure or ()), GOLD[dark], "dot", 9),
    ]
    if sure is None:
        groups.append(("links of the head", found, palette[0], "solid", 2.4))
    else:
        right, wrong = set(found) & good, set(found) - good
        groups.append(("links of the head that are gold", right, palette[0], "solid", 2.4))
        groups.append(("and that are not", wrong, palette[1], "dash", 2.4))
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
    _words(figure, source, 0, "middle left", dark)
    _words(figure, target, 1, "middle right", dark)
    _middles(figure, source, target, found, scores, None if sure is None else good)
    _lay_out(figure, STEP * max(n_src, n_tgt) + 110, dark)
    figure.update_xaxes(visible=False, range=[-0.95, 1.95], fixedrange=True)
    figure.update_yaxes(visible=False, range=[max(n_src, n_tgt) - 0.4, -1.4], fixedrange=True)
    for x, name, anchor in ((0, names[0], "right"), (1, names[1], "left")):
        figure.add_annotation(
            x=x, y=-0.95, text=f"<b>{escape(name)}</b>", showarrow=False, xanchor=anchor
        )
    return figure


def two_rows(
    source: Sequence[str],
    rows: Sequence[tuple[str, Float[np.ndarray, "source"]]],
    unit: str,
    *,
    dark: bool = False,
) -> go.Figure:
    """A few rows of attention over the same words, as bars below each other.

    Args:
        rows: what each is called, and its numbers; the greatest of each has its number beside it.
        unit: of the numbers.
    """
    figure = go.Figure()
    palette = DARK if dark else LIGHT
    for place, (name, values) in enumerate(rows):
        best = int(values.argmax())
        figure.add_bar(
            x=values,
            y=list(range(len(source))),
            orientation="h",
            name=escape(name, quote=False),
            marker={"color": palette[place], "pattern": {"shape": ("", "/")[place % 2]}},
            text=[f"{value:.2f}" if at == best else "" for at, value in enumerate(values)],
            textposition="outside",
            cliponaxis=False,
            customdata=[escape(word, quote=False) for word in source],
            hovertemplate="%{customdata}: %{x:.3f}<extra>%{fullData.name}</extra>",
        )
    _lay_out(figure, 34 * len(source) + 150, dark)
    figure.update_layout(
        bargap=0.25,
        margin={"l": 110, "r": 40, "t": 50, "b": 50},
        legend={"y": 1, "yanchor": "top", "traceorder": "normal"},
    )
    figure.update_xaxes(title=unit, rangemode="tozero", fixedrange=True)
    figure.update_yaxes(
        tickvals=list(range(len(source))),
        ticktext=[f"{_short(word)}\u2002" for word in source],
        autorange="reversed",
        fixedrange=True,
    )
    return figure


def _words(figure: go.Figure, words: Sequence[str], x: int, where: str, dark: bool) -> None:
    figure.add_scatter(
        x=[x] * len(words),
        y=list(range(len(words))),
        mode="markers+text",
        text=[f"\u2002{_short(word)}\u2002" for word in words],  # apart from its marker
        customdata=[f"{at}: {escape(word, quote=False)}" for at, word in enumerate(words)],
        textposition=where,
        marker={"size": 7, "color": "#b8bdc4" if dark else "#5f6368"},
        hovertemplate="word %{customdata}<extra></extra>",
        showlegend=False,
    )


def _middles(
    figure: go.Figure,
    source: Sequence[str],
    target: Sequence[str],
    found: Collection[Link],
    scores: Float[np.ndarray, "target source"],
    good: Collection[Link] | None,
) -> None:
    """What the pointer reads of a link, at its middle."""
    links = sorted(found)
    notes = ["" if good is None else ("; gold" if link in good else "; not gold") for link in links]
    figure.add_scatter(
        x=[0.5] * len(links),
        y=[(i + j) / 2 for i, j in links],
        mode="markers",
        marker={"size": 22, "opacity": 0},
        customdata=[
            f"{escape(source[i], quote=False)} – {escape(target[j], quote=False)}: "
            f"{scores[j, i]:.3f}{more}"
            for (i, j), more in zip(links, notes, strict=True)
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
    """Plotly reads a little HTML in labels; a word `<b>` is to be seen, not obeyed."""
    return escape(word if len(word) <= LONGEST else word[: LONGEST - 1] + "…", quote=False)
