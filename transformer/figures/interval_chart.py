"""Measurements with their confidence intervals, as a small Plotly chart or as HTML."""

from __future__ import annotations

from html import escape

import pandas as pd
import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, MARKERS
from transformer.figures.theme import LEGEND_ABOVE, theme
from transformer.measures.chart import Chart

MARGIN = 0.2
"""Free space at both ends of the line, as a share of the range of its numbers: for the labels."""
LABEL_WIDTH = 16.0
"""Percentage of the line that two labels centred on their numbers need between them."""


def measurement_chart(table: pd.DataFrame, chart: Chart, *, dark: bool = False) -> go.Figure:
    """Draw the columns of a table that `chart` names, with their intervals.

    Args:

    Raises:
        KeyError: if the table lacks a column.
    """
    figure = go.Figure()
    palette = DARK if dark else LIGHT
    words = list(dict.fromkeys(table[chart.x].astype(str)))
    numeric = pd.api.types.is_numeric_dtype(table[chart.x])
    groups = [(name, part) for name, part in table.groupby(chart.by, sort=False)] if chart.by else [
        ("", table)
    ]  # fmt: skip
    for index, (name, part) in enumerate(groups):
        positions = part[chart.x] if numeric else part[chart.x].astype(str).map(words.index)
        has_interval = chart.low in part and chart.high in part
        number_format = ".1%" if chart.percent else ".4~g"
        interval_text = (
            f" (%{{customdata[0]:{number_format}}} to %{{customdata[1]:{number_format}}})"
            if has_interval
            else ""
        )
        figure.add_scatter(
            x=positions,
            y=part[chart.y],
            name=escape(str(name), quote=False),
            mode="lines+markers" if chart.joined else "markers",
            line={"color": palette[index % len(palette)], "dash": DASHES[index % len(DASHES)]},
            marker={"symbol": MARKERS[index % len(MARKERS)], "size": 7},
            text=[escape(str(label), quote=False) for label in part[chart.x]],
            customdata=part[[chart.low, chart.high]].to_numpy() if has_interval else None,
            error_y={
                "type": "data",
                "symmetric": False,
                "array": part[chart.high] - part[chart.y],
                "arrayminus": part[chart.y] - part[chart.low],
                "thickness": 1,
                "width": 2,
            }
            if has_interval
            else None,
            hovertemplate=f"%{{text}}<br>%{{y:{number_format}}}{interval_text}<extra>%{{fullData.name}}</extra>",
        )
    _lay_out(figure, chart, [] if numeric else words, dark)
    return figure


def _lay_out(figure: go.Figure, chart: Chart, words: list[str], dark: bool) -> None:
    axis = {"linecolor": "rgba(128,128,128,0.7)"}
    figure.update_layout(
        template=theme(dark),
        height=320,
        hovermode="closest",
        legend=LEGEND_ABOVE,
        margin={"l": 70, "r": 16, "t": 40, "b": 56},
        showlegend=len(figure.data) > 1,
        overwrite=True,
    )
    figure.update_xaxes(title=chart.x_title, **axis)
    if words:
        figure.update_layout(height=400)
        figure.update_xaxes(automargin=True, autotickangles=[0, 90])
        labelled = range(0, len(words), max(1, len(words) // 12))
        figure.update_xaxes(
            tickvals=list(labelled), ticktext=[escape(words[n], quote=False) for n in labelled]
        )
    figure.update_yaxes(title=chart.y_title, **axis)
    if chart.percent:
        figure.update_yaxes(tickformat=".0%")
    if chart.mark:
        value, name = chart.mark
        figure.add_hline(
            y=value,
            line={"dash": "dash", "width": 1, "color": "rgba(128,128,128,0.9)"},
            annotation_text=escape(name, quote=False),
            annotation_position="top left",
        )


def interval(
    name: str, unit: str, bounds: tuple[float, float, float], floor: float, *, below: bool = False
) -> str:
    """Return one effect as HTML: its name and numbers in words, and `interval_line`."""
    return (
        f'<div class="hu-effect"><p>{escape(name[0].upper() + name[1:])}: '
        f"<b>{_numbers(unit, bounds)}</b></p>{interval_line(unit, bounds, floor, below=below)}"
        f"<p>The claim needs {'&lt;' if below else '&gt;'} {format_value(floor)}{_unit(unit)}: the "
        "shaded side.</p></div>"
    )


def interval_line(
    unit: str, bounds: tuple[float, float, float], floor: float, *, below: bool = False
) -> str:
    """Return an effect's interval as a line in HTML, with its numbers for screen readers.

    The line runs over 0, the floor and the interval, with their numbers; the side on which the
    claim holds is shaded.

    Args:
        bounds: the interval's lower end, the value, its upper end.
        below: whether the claim holds below the floor.
    """
    low, value, high = bounds
    first, last = min(low, floor, 0.0), max(high, floor, 0.0)
    margin = (last - first or 1.0) * MARGIN
    first, last = first - margin, last + margin

    def percent(value: float) -> float:
        return 100 * (value - first) / (last - first)

    def offset(value: float) -> str:
        return f"{percent(value):.2f}%"

    def label(number: float, classes: str) -> str:
        return (
            f'<span class="{classes}" style="left:{offset(number)}">{format_value(number)}</span>'
        )

    lower, upper = sorted((0.0, floor))
    is_close = percent(upper) - percent(lower) < LABEL_WIDTH
    labels = label(low, "end left") + label(high, "end right")
    if floor:
        labels += label(lower, "tick left" if is_close else "tick")
        labels += label(upper, "tick right" if is_close else "tick")
    else:
        labels += label(0, "tick")
    start, end = (first, floor) if below else (floor, last)
    zero = f'<i class="zero" style="left:{offset(0)}"></i>' if floor else ""
    side = "less than" if below else "more than"
    return (
        f'<div class="line" role="img" aria-label="{_numbers(unit, bounds)}, the claim needs '
        f'{side} {format_value(floor)}">'
        f'<i class="side" style="left:{offset(start)};right:calc(100% - {offset(end)})"></i>{zero}'
        f'<i class="floor" style="left:{offset(floor)}"></i>'
        f'<i class="bar" style="left:{offset(low)};right:calc(100% - {offset(high)})"></i>'
        f'<i class="dot" style="left:{offset(value)}"></i>{labels}</div>'
    )


def _numbers(unit: str, bounds: tuple[float, float, float]) -> str:
    low, value, high = bounds
    return f"{format_value(value)}{_unit(unit)} (95%: {format_value(low)} to {format_value(high)})"


def format_value(number: float) -> str:
    """Return the number with three significant digits and a typographic minus."""
    return f"{number:.3g}".replace("-", "−")


def _unit(unit: str) -> str:
    return escape(unit if unit.startswith("%") else f" {unit}")
