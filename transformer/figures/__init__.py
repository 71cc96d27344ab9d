"""Arrays and labels in, a view for the browser out. Knows no torch, no model and no streamlit, so
that a page, a notebook and a file on disk show the same."""

from transformer.figures.align import align, difference
from transformer.figures.curves import curves
from transformer.figures.explorer import explorer_data, explorer_page
from transformer.figures.film import film_data, film_page
from transformer.figures.moments import moments_data, moments_page
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
    "curves",
    "difference",
    "explorer_data",
    "explorer_page",
    "film_data",
    "film_page",
    "heatmap",
    "merge",
    "module",
    "moments_data",
    "moments_page",
    "prefixed",
    "special",
    "steps_data",
    "style",
    "translation_data",
    "translation_page",
    "word_labels",
    "words",
]
