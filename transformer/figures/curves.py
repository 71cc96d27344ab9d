"""Training curves of one or more runs as a Plotly figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.theme import note_empty, theme

MAX_POINTS = 600
"""Maximum number of points of a curve."""

# Partly after Okabe and Ito (2008): distinguishable with every common form of colour blindness.
# Orange is reserved for negative values.
LIGHT = ("#0072b2", "#7d7d00", "#009e73", "#cc79a7", "#882255", "#2b9bd8", "#5f6368", "#4b2a8c")
DARK = ("#56b4e9", "#a3a83a", "#00b586", "#cc79a7", "#d9488f", "#f0e442", "#b8bdc4", "#a06be8")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down")
MAX_NAME_LETTERS = 40  # letters of a run's name in the legend


@dataclass(frozen=True)
class Quantity:
    """A quantity that can be drawn, with its keys in the lines of metrics.jsonl.

    Attributes:
        name: name with its unit.
        training: keys in the lines of training steps; the first key that a line has is used.
        valid: key in the lines of validation.
        share: whether it is a share from 0 to 1, shown in percent.
    """

    name: str
    training: tuple[str, ...] = ()
    valid: str = ""
    share: bool = False


QUANTITIES = {
    # Without label smoothing, as validation is measured, so that the two can be compared.
    "loss": Quantity("loss (nats per token)", ("nll", "loss"), "valid_loss"),
    "smoothed_loss": Quantity("loss with label smoothing (nats per token)", ("loss",)),
    "perplexity": Quantity("perplexity", (), "perplexity"),
    "token_accuracy": Quantity("token accuracy", (), "token_accuracy", share=True),
    "sequence_accuracy": Quantity("sequence accuracy", (), "sequence_accuracy", share=True),
    "bleu": Quantity("BLEU", (), "bleu"),
    "aer": Quantity("alignment error rate", (), "aer", share=True),
    "previous_token": Quantity(
        "weight on the previous token, best encoder head", (), "previous_token_weight", share=True
    ),
    "aligned": Quantity(
        "weight on the aligned token, best cross-attention head", (), "aligned_weight", share=True
    ),
    "just_read": Quantity(
        "weight on the source of the token just read, best cross-attention head",
        (),
        "just_read_weight",
        share=True,
    ),
    "learning_rate": Quantity("learning rate", ("learning_rate",)),
    "gradient_norm": Quantity("gradient norm", ("gradient_norm",)),
    "tokens_per_second": Quantity("tokens per second", ("tokens_per_second",)),
}

Lines = Sequence[Mapping[str, Any]]
Points = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def curves(
    runs: Mapping[str, Lines],
    quantity_name: str = "loss",
    *,
    title: str = "",
    dark: bool = False,
) -> go.Figure:
    """Draw one quantity of one or more runs over their steps.

    Colour and dashes of a run follow from its position in `runs`. Training is a line of at most 600
    points that keeps every peak (`thin`), validation a line with markers.

    Args:
        runs: the lines of metrics.jsonl as dicts, in order, by the name of the run.
        quantity_name: one of `QUANTITIES`.
        title: title above the figure.

    Raises:
        ValueError: if the quantity is unknown.
    """
    if quantity_name not in QUANTITIES:
        raise ValueError(
            f"There is no curve of {quantity_name!r}; there are {', '.join(QUANTITIES)}."
        )
    quantity = QUANTITIES[quantity_name]
    figure = go.Figure()
    for index, (name, lines) in enumerate(runs.items()):
        _draw(
            figure, index, name if len(runs) > 1 else "", _points(lines, quantity), quantity, dark
        )
    _lay_out(figure, quantity, quantity_name, title, dark)
    if not figure.data:
        figure.update_xaxes(showticklabels=False, showgrid=False)
        figure.update_yaxes(showticklabels=False, showgrid=False)
        note_empty(figure, "Nothing to draw yet:<br>points appear as the run is measured.")
    return figure


def thin(
    x: npt.NDArray[np.floating], y: npt.NDArray[np.floating], max_points: int = MAX_POINTS
) -> Points:
    """Reduce a curve, sorted by x, to at most `max_points` points without losing a peak.

    The first and last points stay, and of each of several equal sections the lowest and highest.

    Raises:
        ValueError: if `max_points` is below 4.
    """
    if max_points < 4:
        raise ValueError(f"A curve needs 4 points or more, not {max_points}.")
    if len(x) <= max_points:
        return np.asarray(x, np.float64), np.asarray(y, np.float64)
    edges = np.linspace(1, len(x) - 1, (max_points - 2) // 2 + 1).astype(int)
    selected = {0, len(x) - 1}
    for start, end in pairwise(edges):
        part = y[start:end]
        selected |= {int(start + part.argmin()), int(start + part.argmax())}
    indices = np.array(sorted(selected))
    return np.asarray(x[indices], np.float64), np.asarray(y[indices], np.float64)


def add_band(
    figure: go.Figure, x: Sequence[float] | npt.NDArray[Any], low: Any, high: Any, colour: str,
    **options: Any,
) -> None:  # fmt: skip
    """Tint the area between two curves, `low` and `high`, which have the same x."""
    figure.add_scatter(
        x=[*x, *x[::-1]], y=[*high, *low[::-1]], fill="toself", fillcolor=colour, opacity=0.18,
        line={"width": 0}, mode="lines", showlegend=False, hoverinfo="skip", **options,
    )  # fmt: skip


def _points(lines: Lines, quantity: Quantity) -> dict[str, Points]:
    """Return the finite points of "training" and "validation", leaving out a part without any."""
    points_by_part: dict[str, list[tuple[float, float]]] = {"training": [], "validation": []}
    for line in lines:
        step = _number(line.get("step"))
        for part, keys in (("training", quantity.training), ("validation", (quantity.valid,))):
            values = [_value(line, key) for key in keys if key]
            value = next((value for value in values if value is not None), None)
            if step is not None and value is not None:
                points_by_part[part].append((step, value))
    curves = {}
    for part, points in points_by_part.items():
        if points:
            curves[part] = thin(*np.array(points, np.float64).T)
    return curves


def _value(line: Mapping[str, Any], key: str) -> float | None:
    if key == "tokens_per_second":
        tokens, seconds = _number(line.get("tokens")), _number(line.get("seconds"))
        return tokens / seconds if tokens is not None and seconds else None
    return _number(line.get(key))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _draw(
    figure: go.Figure,
    index: int,
    name: str,
    parts: Mapping[str, Points],
    quantity: Quantity,
    dark: bool,
) -> None:
    palette = DARK if dark else LIGHT
    colour = palette[index % len(palette)]
    # If dashes and colours repeated together, run 9 would look like run 1.
    dash = DASHES[(index + index // len(palette)) % len(DASHES)]
    number_format = ".1%" if quantity.share else ".4~g"
    for part, (xs, ys) in parts.items():
        text = f"{_plain(name)} · {part}" if name else part
        is_validation = part == "validation"
        is_behind = not is_validation and "validation" in parts
        figure.add_scatter(
            x=xs,
            y=ys,
            name=text,
            legendgroup=str(index),
            mode="lines+markers" if is_validation else "lines",
            # Training is noisy and drawn behind validation in the same colour: dashes would hide
            # its peaks.
            line={
                "color": colour,
                "dash": "solid" if is_behind else dash,
                "width": 2.2 if is_validation else 1.4,
            },
            marker={"symbol": MARKERS[index % len(MARKERS)], "size": 7},
            opacity=0.5 if is_behind else 1.0,
            hovertemplate=f"%{{y:{number_format}}} at step %{{x:,.6~g}}"
            "<extra>%{fullData.name}</extra>",
        )


def _lay_out(figure: go.Figure, quantity: Quantity, revision: str, title: str, dark: bool) -> None:
    """Set axes, legend and `uirevision`, which keeps the reader's zoom when new points arrive."""
    axis = {"linecolor": "rgba(128,128,128,0.7)"}
    figure.update_layout(
        template=theme(dark),
        title={"text": _plain(title), "x": 0, "xref": "paper"} if title else None,
        uirevision=revision,
        hovermode="closest",
        legend={"orientation": "h", "y": -0.22, "x": 0, "yanchor": "top"},
        margin={"l": 70, "r": 16, "t": 48 if title else 16, "b": 60},
        showlegend=len(figure.data) > 1,
        overwrite=True,
    )
    figure.update_xaxes(title="step", rangemode="tozero", **axis)
    figure.update_yaxes(title=quantity.name, **axis)
    if quantity.share:
        figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02])
    else:
        figure.update_yaxes(rangemode="tozero")


def _plain(text: str) -> str:
    """Return the text, shortened and escaped: Plotly interprets some HTML in names."""
    text = " ".join(text.split())
    shortened = text if len(text) <= MAX_NAME_LETTERS else text[: MAX_NAME_LETTERS - 1] + "…"
    return escape(shortened, quote=False)
