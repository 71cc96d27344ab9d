"""Plotly figures and browser views, made from arrays and labels.

Nothing here imports torch or Streamlit, so a page, a notebook and a file show the same view. Plotly
is imported only when one of its figures is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transformer.figures.explorer import ExplorerView, explorer_data, explorer_page
from transformer.figures.film import film_data, film_page
from transformer.figures.moments import moments_data
from transformer.figures.packed_trace import PackedTrace, prefixed
from transformer.figures.views import module, style

if TYPE_CHECKING:
    from transformer.figures.curves import curves
    from transformer.figures.plots import heatmap

_PLOTLY = {"curves": "transformer.figures.curves", "heatmap": "transformer.figures.plots"}

__all__ = [
    "ExplorerView",
    "PackedTrace",
    "curves",
    "explorer_data",
    "explorer_page",
    "film_data",
    "film_page",
    "heatmap",
    "module",
    "moments_data",
    "prefixed",
    "style",
]


def __getattr__(name: str) -> Any:
    if name in _PLOTLY:
        return getattr(import_module(_PLOTLY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
