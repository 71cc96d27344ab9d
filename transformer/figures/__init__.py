"""Arrays and labels in, a view for the browser out. Knows no torch, no model and no streamlit, so
that a page, a notebook and a file on disk show the same."""

from transformer.figures.align import align, difference
from transformer.figures.explorer import explorer_data, explorer_page
from transformer.figures.plots import heatmap
from transformer.figures.shown import Shown
from transformer.figures.side import Side, prefixed
from transformer.figures.steps import steps_data, translation_data
from transformer.figures.views import module, style, translation_page
from transformer.figures.words import merge, special, word_labels, words

__all__ = [
    "Shown",
    "Side",
    "align",
    "difference",
    "explorer_data",
    "explorer_page",
    "heatmap",
    "merge",
    "module",
    "prefixed",
    "special",
    "steps_data",
    "style",
    "translation_data",
    "translation_page",
    "word_labels",
    "words",
]
