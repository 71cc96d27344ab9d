"""The theme of all Plotly figures on a page: two registered templates, for light and for dark."""

from __future__ import annotations

import plotly.graph_objects as go
import plotly.io

LIGHT_THEME, DARK_THEME = "heads-up-light", "heads-up-dark"
FONT = '"Source Sans", system-ui, sans-serif'
"""The page's own, which Streamlit serves."""
INK = {LIGHT_THEME: "#1b1f24", DARK_THEME: "#e8ebef"}
AXIS = {"gridcolor": "rgba(128,128,128,0.25)", "zeroline": False}

for _name, _ink in INK.items():
    plotly.io.templates[_name] = go.layout.Template(
        layout={
            "font": {"color": _ink, "family": FONT, "size": 14},
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
