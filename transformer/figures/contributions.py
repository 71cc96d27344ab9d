"""What each cell and each token contributes: data of the two linked tables of `contributions.js`,
and attributions as Plotly figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from transformer.figures.curves import BELOW_ZERO, DARK, LIGHT
from transformer.figures.packing import Part, pack
from transformer.figures.positions import Numbers, lay_out
from transformer.measures.kinds import AttentionKind

ROW_HEIGHT, LOW_ROW_HEIGHT = 24, 15  # pixels of a token's bars; low above `MAX_TALL_ROWS`
MAX_TALL_ROWS = 40
SOURCE_COLOUR, TARGET_COLOUR = 0, 3  # colours in the palette


@dataclass(frozen=True, eq=False)
class CellValues:
    """A quantity with one number per cell.

    Attributes:
        name: identifier, letters only.
        label: name in a line with its number.
        title: heading above the table.
        unit: shown below the table.
        values: (query, key), finite.
        signed: whether values can be negative.
        max_size: the end of its colour scale; 0 takes the greatest absolute value.
    """

    name: str
    label: str
    title: str
    unit: str
    values: Numbers
    signed: bool = False
    max_size: float = 0.0


def contributions_data(
    quantities: Sequence[CellValues],
    drawn_names: tuple[str, str],
    *,
    kind: AttentionKind,
    rows: Sequence[str],
    columns: Sequence[str],
    writes: Sequence[str] | None = None,
    cell: tuple[int, int] | None = None,
    head: str = "",
    large: bool = False,
) -> bytes:
    """Return what `contributions.js` draws.

    Args:
        quantities: all quantities; hovering over a cell shows each of them.
        drawn_names: names of the two that are drawn as tables.
        kind: kind of attention; "decoder" masks later positions.
        rows, columns: tokens of the queries and of the keys.
        writes: the tokens that the queries write, if they differ from those they read.
        cell: row and column of the selected cell.
        head: identifies the head and the sentence: when it changes, the view resets.

    Raises:
        ValueError: if labels and values do not match, or a name in `drawn_names` is unknown.
    """
    names = [quantity.name for quantity in quantities]
    for name in drawn_names:
        if name not in names:
            raise ValueError(f"There is no quantity {name!r}; there are {', '.join(names)}.")
    for quantity in quantities:
        if quantity.values.shape != (len(rows), len(columns)):
            raise ValueError(
                f"{quantity.name} has shape {quantity.values.shape}, but there are {len(rows)} "
                f"rows and {len(columns)} columns."
            )
    header = {
        "id": head,
        "kind": kind,
        "rows": list(rows),
        "columns": list(columns),
        "writes": None if writes is None else list(writes),
        "shown": list(drawn_names),
        "cell": None if cell is None else list(cell),
        "large": large,
        "quantities": [
            {name: getattr(quantity, name) for name in ("name", "label", "title", "unit", "signed")}
            | {"max_abs": quantity.max_size or float(np.abs(quantity.values).max(initial=0.0))}
            for quantity in quantities
        ],
    }
    return pack(header, [Part(each.name, each.values.astype("<f4")) for each in quantities])


def attribution_bars(
    tokens: Sequence[str],
    n_source: int,
    methods: Mapping[str, Numbers],
    *,
    dark: bool = False,
) -> go.Figure:
    """Draw several attributions of one output token: a panel per method, a bar per input token.

    Args:
        tokens: tokens of the source, then of the target prefix; they may repeat.
        n_source: number of source tokens.
        methods: shares by method, one per token; their absolute values sum to 1, and a negative
            share lowers the probability of the output token.
    """
    palette = DARK if dark else LIGHT
    ranges = _ranges([np.asarray(values, dtype=np.float64) for values in methods.values()])
    figure = make_subplots(
        cols=len(methods), shared_yaxes=True, horizontal_spacing=0.02,
        column_widths=[high - low for low, high in ranges],
        subplot_titles=[escape(name, quote=False) for name in methods],
    )  # fmt: skip
    # An empty line separates source and prefix.
    positions = [index + (index >= n_source) for index in range(len(tokens))]
    for column, (name, values) in enumerate(methods.items(), start=1):
        colours = [
            BELOW_ZERO[dark]
            if value < 0
            else palette[SOURCE_COLOUR if index < n_source else TARGET_COLOUR]
            for index, value in enumerate(values)
        ]
        figure.add_bar(
            x=np.asarray(values, dtype=np.float64),
            y=positions,
            orientation="h",
            marker={"color": colours},
            hovertemplate=f"%{{y}}<br>{escape(name, quote=False)} %{{x:.1%}}<extra></extra>",
            row=1,
            col=column,
        )
        figure.update_xaxes(range=ranges[column - 1], row=1, col=column)
    row_height = ROW_HEIGHT if len(tokens) <= MAX_TALL_ROWS else LOW_ROW_HEIGHT
    lay_out(figure, "", "", dark, height=70 + row_height * (len(tokens) + 1))
    figure.update_layout(showlegend=False, bargap=0.25, margin={"l": 92, "r": 8, "t": 30, "b": 30})
    # Numbers at every grid line would overlap on a phone.
    step = _step(ranges)
    figure.update_xaxes(dtick=step, showticklabels=False, zeroline=True, zerolinecolor="#808080")
    figure.add_annotation(
        text=f"grid lines every {step:.0%}", showarrow=False, xref="paper", yref="paper", x=0, y=0,
        yshift=-22,
    )  # fmt: skip
    figure.update_annotations(font={"size": 13})
    figure.update_yaxes(
        showgrid=False, range=[len(tokens) + 0.6, -0.6], tickvals=positions,
        ticktext=[piece_html(token) for token in tokens],
        tickfont={"size": 12 if row_height == ROW_HEIGHT else 10},
    )  # fmt: skip
    return figure


def _ranges(shares: Sequence[Numbers]) -> list[tuple[float, float]]:
    """Return the x range of each panel. With panels as wide as their ranges, one percent has the
    same length in all of them."""
    ends = [(min(values.min(), 0.0), max(values.max(), 0.0)) for values in shares]
    widest = max(high - low for low, high in ends) or 1.0
    # No panel is too narrow for its title.
    return [(low, low + 1.05 * max(high - low, 0.6 * widest)) for low, high in ends]


def _step(ranges: Sequence[tuple[float, float]]) -> float:
    """Return the distance between two ticks, the same in all panels."""
    narrowest = min(high - low for low, high in ranges)
    return max(
        (step for step in (0.5, 0.25, 0.2, 0.1, 0.05) if step <= 0.8 * narrowest), default=0.02
    )


def piece_html(token: str) -> str:
    """Return a token as HTML with a faint "▁", as in the explorer."""
    if token.startswith("▁") and len(token) > 1:
        return f'<span style="color:#888;font-size:8px">▁</span>{escape(token[1:], quote=False)}'
    return escape(token, quote=False)
