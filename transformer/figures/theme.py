"""Colours of weights, and the Plotly theme of all pages: one light and one dark template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io

LIGHT_THEME, DARK_THEME = "heads-up-light", "heads-up-dark"
FONT = '"Source Sans", system-ui, sans-serif'
"""The font of the page, which Streamlit serves."""
TEXT_COLOURS = {LIGHT_THEME: "#1b1f24", DARK_THEME: "#e8ebef"}
FONT_SIZE = 14
"""Default font size in pixels."""
LARGER = 1.3
"""Scale factor for a projector."""
RAMP = {
    False: (
        *("#f3f8fc", "#dceaf5", "#bfd9ec", "#9cc5e1", "#75aed4"),
        *("#4f96c6", "#2f7db4", "#17659e", "#084d82", "#053560"),
    ),
    True: (
        *("#14202b", "#123049", "#0f4268", "#145788", "#226ea5"),
        *("#3a86be", "#5ba0d1", "#82bae0", "#aed4ec", "#ddeef8"),
    ),
}
"""Colours of weights from 0 to 1, by whether the page is dark: one hue, readable with colour
blindness and in grey print. `.streamlit/config.toml` has them for the pages and
`client/common/base.css` for files and the static site; a test compares them."""
AXIS = {"gridcolor": "rgba(128,128,128,0.25)", "zeroline": False}

LEGEND_ABOVE = {"orientation": "h", "y": 1.02, "x": 0, "yanchor": "bottom"}
"""The legend as a line above the figure."""

for _name, _ink in TEXT_COLOURS.items():
    plotly.io.templates[_name] = go.layout.Template(
        layout={
            "font": {"color": _ink, "family": FONT, "size": FONT_SIZE},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hoverlabel": {"namelength": -1},
            "xaxis": AXIS,
            "yaxis": AXIS,
        }
    )


def text_on(share: float, dark: bool) -> str:
    """Return black or white, whichever has more contrast on the colour of `RAMP` at this weight.

    As `textOn` of `client/common/base.js`; Plotly's own choice has 3 : 1 on the middle blues.
    """
    ramp = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in RAMP[dark]])
    at = np.linspace(0, 1, len(ramp))
    parts = np.array([np.interp(share, at, channel) for channel in ramp.T]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "#000000" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "#ffffff"  # WCAG 2.2


def theme(dark: bool) -> str:
    """Return the name of the template; its background is transparent."""
    return DARK_THEME if dark else LIGHT_THEME


def cell_ticks(labels: Sequence[str]) -> dict[str, Any]:
    """Return the ticks of an axis of cells; labels, which may repeat, are HTML for Plotly."""
    return {
        "tickvals": list(range(len(labels))),
        "ticktext": list(labels),
        "showgrid": False,
        "zeroline": False,
    }


def note_empty(figure: go.Figure, text: str = "Nothing to draw yet") -> None:
    """Write into the middle of a figure why it is empty."""
    figure.add_annotation(text=text, showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5)


def enlarged(figure: go.Figure) -> go.Figure:
    """Return the figure with fonts, margins and height scaled by `LARGER`, for a projector."""
    figure_dict = figure.to_dict()
    _enlarge(figure_dict)
    layout = figure_dict["layout"]
    layout["font"] = {**layout.get("font", {}), "size": LARGER * FONT_SIZE}
    for side, pixels in layout.get("margin", {}).items():
        layout["margin"][side] = LARGER * pixels
    if "height" in layout:
        layout["height"] *= LARGER
    return go.Figure(figure_dict)


def _enlarge(part: Any) -> None:
    """Scale every font that sets its own size; the others follow `layout.font`."""
    for name, value in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(name, str) and name.endswith("font") and "size" in value:
            value["size"] = LARGER * value["size"]
        elif name != "template" and isinstance(value, dict | list | tuple):
            _enlarge(value)
