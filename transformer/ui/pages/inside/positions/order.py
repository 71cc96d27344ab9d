"""Two sentences of the same words, with positions and without."""

from __future__ import annotations

import streamlit as st

from transformer.analysis import positions
from transformer.figures.bars import grouped_bars
from transformer.ui.base import state
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame, tables
from transformer.ui.widgets.charts import chart, dark


def order(model: Model) -> None:
    """Compare both sentences with positions and without positions in the encoder."""
    pair = _pair(model)
    first, second = map(frame.plain, pair)
    result = _cached_reordered(model, *pair)
    frame.lead_text(
        f"“{first}” or “{second}” Without positions the encoder cannot tell them apart."
    )
    _similarities(result)
    st.markdown(
        "The same words in another order can mean something else, but attention alone ignores "
        "order. So every **position** has a vector that is added to the embedding there. Here "
        "these vectors are removed from the encoder."
    )
    tables.show(
        "Translations",
        ["Source", "With positions", "Without source positions"],
        [
            [text, result.translations["with"][index], result.translations["without"][index]]
            for index, text in enumerate(pair)
        ],
    )
    is_same_translation = result.translations["without"][0] == result.translations["without"][1]
    st.markdown(
        "**Without positions the two sentences are indistinguishable**: both get the same "
        "translation."
        if is_same_translation
        else "Without positions the encoder outputs are equal up to rounding, but that can "
        "change the translation."
    )


def _similarities(result: positions.ReorderingEffect) -> None:
    """Draw how similar the encoder outputs of each token are in the two sentences."""
    pieces = display_names.tokens(result.pieces)
    groups = {"with positions": result.cosines["with"], "without": result.cosines["without"]}
    x_title, y_title = "token", "cosine similarity"
    chart(
        grouped_bars(groups, pieces, x_title=x_title, y_title=y_title, dark=dark()),
        "positions-order",
    )
    st.caption(
        "Each bar is the cosine similarity between the encoder outputs of a token in the two "
        "sentences. Without positions all are 1, and no number of the vectors differs by more than "
        f"{result.max_differences['without']:.1g}; with positions by up to "
        f"{result.max_differences['with']:.1f}."
    )


def _pair(model: Model) -> tuple[str, str]:
    """Return the example pair for a language model, else the visitor's sentence and its reverse."""
    if not model.description.kind:
        return positions.ORDER_PAIR
    words = state.view().text.split()
    return " ".join(words), " ".join(reversed(words))


@cached("Reading both sentences …")
def _cached_reordered(model: Model, first: str, second: str) -> positions.ReorderingEffect:
    return positions.reordering_effect(model.translator, first, second)
