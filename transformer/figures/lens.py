"""Figure of the logit lens: the most probable token of each state."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from transformer.figures.theme import RAMP, cell_ticks, text_on, theme

ROW_HEIGHT = 27  # pixels
MAX_LABELLED_POSITIONS = 48
"""Up to this many positions, tokens are written into the cells."""
_MAX_WORD_LETTERS = 14  # letters of a word within a cell


def lens_map(
    titles: Sequence[str],
    reads: Sequence[str],
    chosen: Sequence[str],
    tokens: Sequence[Sequence[Sequence[str]]],
    probabilities: Float[np.ndarray, "sites positions k"],
    *,
    dark: bool = False,
) -> go.Figure:
    """Draw the most probable token of every state: layers down, positions across.

    The colour is its probability. It is bold where it is the token that the model wrote; hover
    lists the other probable tokens.

    Args:
        titles: names of the states, the first layer first.
        reads, chosen: at each position, the token read and the token written.
        tokens: tokens of each state and position, the most probable first.
        probabilities: their probabilities.

    Raises:
        ValueError: if labels and probabilities do not match.
    """
    sites, positions, _ = probabilities.shape
    if (len(titles), len(reads), len(chosen)) != (sites, positions, positions):
        raise ValueError(
            f"Probabilities of {sites} states and {positions} positions do not fit {len(titles)} "
            f"titles, {len(reads)} tokens read and {len(chosen)} written."
        )
    hover_texts = [
        [_hover_text(names, shares) for names, shares in zip(*row, strict=True)]
        for row in zip(tokens, probabilities, strict=True)
    ]
    labels = [
        [
            _word(names[0], names[0] == chosen_token, text_on(share, dark))
            for names, chosen_token, share in zip(row, chosen, row_shares, strict=True)
        ]
        for row, row_shares in zip(tokens, probabilities[:, :, 0], strict=True)
    ]
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(probabilities[:, :, 0], np.float64),
            zmin=0,
            zmax=1,
            text=labels,
            texttemplate="%{text}" if positions <= MAX_LABELLED_POSITIONS else "",
            textfont={"size": 13},
            customdata=hover_texts,
            hovertemplate="%{y}<br>%{customdata}<extra></extra>",
            colorscale=RAMP[dark],
            colorbar={"title": "probability", "thickness": 12, "tickformat": ".0%"},
            xgap=1,
            ygap=1,
        )
    )
    _lay_out(figure, dark, 120 + ROW_HEIGHT * sites)
    pairs = [
        f"{_plain(token_read)} → <b>{_plain(chosen_token)}</b>"
        for token_read, chosen_token in zip(reads, chosen, strict=True)
    ]
    figure.update_xaxes(
        title="token read → token written", side="top", tickangle=-40, **cell_ticks(pairs)
    )
    figure.update_yaxes(autorange="reversed", **cell_ticks([_plain(title) for title in titles]))
    return figure


def _hover_text(names: Sequence[str], shares: Float[np.ndarray, " k"]) -> str:
    lines = (f"{share:.1%}  {_plain(name)}" for name, share in zip(names, shares, strict=True))
    return "<br>".join(lines)


def _word(token: str, right: bool, colour: str) -> str:
    shortened = token if len(token) <= _MAX_WORD_LETTERS else token[: _MAX_WORD_LETTERS - 1] + "…"
    word = f"<b>{_plain(shortened)}</b>" if right else _plain(shortened)
    return f'<span style="color: {colour}">{word}</span>'


def _plain(text: str) -> str:
    """Return a token escaped, as Plotly interprets some HTML in labels, with a small "▁"."""
    escaped = escape(text, quote=False)
    small_space = '<span style="font-size: 7px">▁</span>'
    return f"{small_space}{escaped[1:]}" if escaped[1:] and escaped[0] == "▁" else escaped


def _lay_out(figure: go.Figure, dark: bool, height: int) -> None:
    figure.update_layout(
        template=theme(dark),
        height=height,
        hoverlabel={"align": "left"},
        margin={"l": 10, "r": 10, "t": 40, "b": 20},
    )
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
