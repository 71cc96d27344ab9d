"""The theme of all Plotly figures on a page: two registered templates, for light and for dark."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import plotly.io

LIGHT_THEME, DARK_THEME = "heads-up-light", "heads-up-dark"
FONT = '"Source Sans", system-ui, sans-serif'
"""The page's own, which Streamlit serves."""
INK = {LIGHT_THEME: "#1b1f24", DARK_THEME: "#e8ebef"}
LETTERS = 14
"""Pixels of a letter, where a figure asks for none."""
LARGER = 1.3
"""For a projector."""
AXIS = {"gridcolor": "rgba(128,128,128,0.25)", "zeroline": False}

for _name, _ink in INK.items():
    plotly.io.templates[_name] = go.layout.Template(
        layout={
            "font": {"color": _ink, "family": FONT, "size": LETTERS},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hoverlabel": {"namelength": -1},
            "xaxis": AXIS,
            "yaxis": AXIS,
        }
    )


def theme(dark: bool) -> str:
    """The name of the template; the ground is left open for the page's own."""
    return DARK_THEME if dark else LIGHT_THEME


def enlarged(figure: go.Figure) -> go.Figure:
    """The same for a projector: letters, margins and height are `LARGER` times as large."""
    drawn = figure.to_dict()
    _enlarge(drawn)
    layout = drawn["layout"]
    layout["font"] = {**layout.get("font", {}), "size": LARGER * LETTERS}
    for side, pixels in layout.get("margin", {}).items():
        layout["margin"][side] = LARGER * pixels
    if "height" in layout:
        layout["height"] *= LARGER
    return go.Figure(drawn)


def _enlarge(part: Any) -> None:
    """Every font within that has a size of its own; the template's are found by `layout.font`."""
    for name, value in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(name, str) and name.endswith("font") and "size" in value:
            value["size"] = LARGER * value["size"]
        elif name != "template" and isinstance(value, dict | list | tuple):
            _enlarge(value)
