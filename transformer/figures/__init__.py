"""Arrays and labels in, a view for the browser out. Knows no torch, no model and no streamlit, so
that a page, a notebook and a file on disk show the same."""

from transformer.figures.packing import Labels, pack, start_at, unpack
from transformer.figures.plots import heatmap
from transformer.figures.steps import steps_data, translation_data
from transformer.figures.views import module, page, style

__all__ = [
    "Labels",
    "heatmap",
    "module",
    "pack",
    "page",
    "start_at",
    "steps_data",
    "style",
    "translation_data",
    "unpack",
]
