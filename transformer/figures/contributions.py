"""What a weight moves, and what an output token was made of: two tables that share their pointer,
for `contributions.js`; bars and a curve, as Plotly figures."""

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

ROW, LOW_ROW = 24, 15  # pixels of a token's bars, and of many's
FEW = 40
SOURCE, TARGET = 0, 3  # colours in the palette


@dataclass(frozen=True, eq=False)
class CellValues:
    """One number a cell.

    Attributes:
        name: short, of letters.
        label: in a line with its number; title: above the table; unit: below it.
        values: (query, key), finite.
        signed: whether it goes both ways from 0.
        most: the greatest size on its scale; 0 takes that of `values`.
    """

    name: str
    label: str
    title: str
    unit: str
    values: Numbers
    signed: bool = False
    most: float = 0.0


def contributions_data(
    quantities: Sequence[CellValues],
    shown: tuple[str, str],
    *,
    kind: str,
    rows: Sequence[str],
    columns: Sequence[str],
    writes: Sequence[str] | None = None,
    cell: tuple[int, int] | None = None,
    head: str = "",
    large: bool = False,
) -> bytes:
    """What the browser draws.

    Args:
        quantities: of all, a cell tells its number; two are drawn, those named `shown`.
        kind: of attention; in "decoder" the future is masked.
        rows, columns: tokens of the queries and of the keys; writes: what the queries write.
        cell: the row and column chosen.
        head: another one for every other head or sentence.

    Raises:
        ValueError: if labels and numbers do not match, or there is no such quantity.
    """
    names = [quantity.name for quantity in quantities]
    for name in shown:
        if name not in names:
            raise ValueError(f"There is no {name!r} to draw; there is {', '.join(names)}.")
    for quantity in quantities:
        if quantity.values.shape != (len(rows), len(columns)):
            raise ValueError(
                f"{quantity.name} of shape {quantity.values.shape} does not fit {len(rows)} rows "
                f"and {len(columns)} columns."
            )
    header = {
        "id": head,
        "kind": kind,
        "rows": list(rows),
        "columns": list(columns),
        "writes": None if writes is None else list(writes),
        "shown": list(shown),
        "cell": None if cell is None else list(cell),
        "large": large,
        "quantities": [
            {name: getattr(one, name) for name in ("name", "label", "title", "unit", "signed")}
            | {"most": one.most or float(np.abs(one.values).max(initial=0.0))}
            for one in quantities
        ],
    }
    return pack(header, [Part(one.name, one.values.astype("<f4")) for one in quantities])


def answers(
    tokens: Sequence[str],
    n_source: int,
    methods: Mapping[str, Numbers],
    *,
    dark: bool = False,
) -> go.Figure:
    """Several answers to "what was this made of?", a panel each, the tokens down, a bar a token.

    Args:
        tokens: of the source, then of the target prefix; any may come twice.
        n_source: how many of them are the source's.
        methods: name to shares, one a token, whose sizes sum to 1; below 0 speaks against.
    """
    palette = DARK if dark else LIGHT
    ranges = _ranges([np.asarray(values, dtype=np.float64) for values in methods.values()])
    figure = make_subplots(
        cols=len(methods), shared_yaxes=True, horizontal_spacing=0.02,
        column_widths=[high - low for low, high in ranges],
        subplot_titles=[escape(name, quote=False) for name in methods],
    )  # fmt: skip
    # A line's room between source and prefix.
    places = [at + (at >= n_source) for at in range(len(tokens))]
    for column, (name, values) in enumerate(methods.items(), start=1):
        colours = [
            BELOW_ZERO[dark] if value < 0 else palette[SOURCE if at < n_source else TARGET]
            for at, value in enumerate(values)
        ]
        figure.add_bar(
            x=np.asarray(values, dtype=np.float64),
            y=places,
            orientation="h",
            marker={"color": colours},
            hovertemplate=f"%{{y}}<br>{escape(name, quote=False)} %{{x:.1%}}<extra></extra>",
            row=1,
            col=column,
        )
        figure.update_xaxes(range=ranges[column - 1], row=1, col=column)
    row = ROW if len(tokens) <= FEW else LOW_ROW
    lay_out(figure, "", "", dark, height=70 + row * (len(tokens) + 1))
    figure.update_layout(showlegend=False, bargap=0.25, margin={"l": 92, "r": 8, "t": 30, "b": 30})
    # Numbers below every line would run into one another on a phone.
    step = _step(ranges)
    figure.update_xaxes(dtick=step, showticklabels=False, zeroline=True, zerolinecolor="#808080")
    figure.add_annotation(
        text=f"a line every {step:.0%}", showarrow=False, xref="paper", yref="paper", x=0, y=0,
        yshift=-22,
    )  # fmt: skip
    figure.update_annotations(font={"size": 13})
    figure.update_yaxes(
        showgrid=False, range=[len(tokens) + 0.6, -0.6], tickvals=places,
        ticktext=[piece(token) for token in tokens], tickfont={"size": 12 if row == ROW else 10},
    )  # fmt: skip
    return figure


def _ranges(shares: Sequence[Numbers]) -> list[tuple[float, float]]:
    """What each panel shows: panels as wide as their ranges draw a percent equally long in all."""
    ends = [(min(values.min(), 0.0), max(values.max(), 0.0)) for values in shares]
    most = max(high - low for low, high in ends) or 1.0
    # No panel is too narrow for its title.
    return [(low, low + 1.05 * max(high - low, 0.6 * most)) for low, high in ends]


def _step(ranges: Sequence[tuple[float, float]]) -> float:
    """Between two ticks, the same in all panels."""
    narrow = min(high - low for low, high in ranges)
    return max((step for step in (0.5, 0.25, 0.2, 0.1, 0.05) if step <= 0.8 * narrow), default=0.02)


def piece(token: str) -> str:
    """As the explorer writes it: the "▁" that begins a word is faint."""
    if token.startswith("▁") and len(token) > 1:
        return f'<span style="color:#888;font-size:8px">▁</span>{escape(token[1:], quote=False)}'
    return escape(token, quote=False)


def source_curve(
    tokens: Sequence[str],
    share: Numbers,
    level: float,
    *,
    at: int,
    dark: bool = False,
) -> go.Figure:
    """The share of the source at every output token, and the level that rollout always gives.

    Args:
        share: from 0 to 1, one an output token.
        level: rollout's.
        at: the token that is chosen.
    """
    palette = DARK if dark else LIGHT
    places = np.arange(len(tokens))
    figure = go.Figure()
    figure.add_scatter(
        x=places, y=np.full(len(tokens), level), name="rollout, whatever the weights",
        mode="lines", line={"color": palette[6], "dash": "dot", "width": 2},
        hovertemplate="rollout %{y:.1%}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=places, y=share, name="ALTI+", mode="lines+markers",
        line={"color": palette[SOURCE], "width": 2.4},
        marker={
            "size": [13 if place == at else 8 for place in places],
            "symbol": ["diamond" if place == at else "circle" for place in places],
            "color": palette[SOURCE],
        },
        hovertemplate="%{x}<br>%{y:.1%} from the source<extra></extra>",
    )  # fmt: skip
    lay_out(figure, "output token", "share of the source", dark, height=300)
    figure.update_xaxes(
        showgrid=False, range=[-0.5, len(tokens) - 0.5],
        tickvals=places, ticktext=[piece(token) for token in tokens], tickfont={"size": 12},
    )  # fmt: skip
    figure.update_yaxes(tickformat=".0%", range=[0, 1.04])
    return figure
