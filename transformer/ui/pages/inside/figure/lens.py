"""The logit lens: which token the decoder would predict after each of its sublayers."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.inside.logit_lens import Lens
from transformer.analysis.inside.logit_lens import lens as logit_lens
from transformer.figures.lens import MAX_LABELLED_POSITIONS, lens_map
from transformer.inference import Trace
from transformer.ui.base import state
from transformer.ui.pages.inside.figure import stops
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names
from transformer.ui.widgets.charts import chart, dark


def show(model: Model) -> None:
    cached_trace = trace_cache.read(model, state.view())
    trace = stops.trace(model, cached_trace, 0)
    lens = _cached_lens(model, trace)
    picture = st.container(key="inside-lens")
    st.caption(
        "One row per sublayer, one column per output token. Each cell shows the most probable "
        "token, in bold if it is the output token. Point at it for the next ones."
    )
    st.markdown(
        "Every intermediate state of the decoder has d_model numbers, so the output matrix can be "
        "applied to each of them: which token would the model predict after that sublayer? Often "
        "the first layers repeat the input token, and the next token appears in later ones."
    )
    st.latex(r"P_\ell = \mathrm{softmax}\left(y_\ell\, E^{\top}\right)")
    titles = [display_names.display_text(title) for title in lens.titles]
    figure = lens_map(
        titles,
        display_names.tokens(lens.rows),
        display_names.tokens(lens.chosen),
        [
            [[display_names.token(token) for token in cell] for cell in row]
            for row in lens.top_tokens
        ],
        lens.top_probabilities,
        dark=dark(),
    )
    # Wide enough for the tokens; a phone scrolls it.
    min_width = 260 + len(lens.rows) * (80 if len(lens.rows) <= MAX_LABELLED_POSITIONS else 14)
    st.html(f"<style>.st-key-inside-lens > * {{ min-width: {min_width}px; }}</style>")
    with picture:
        chart(figure, "lens-map")
    st.caption(
        "The logit lens was introduced by nostalgebraist (2020). This model has LayerNorm after "
        "every residual connection, so each state except the embedding is normalised like the "
        "last one. Only the last was trained to predict tokens."
    )


@cached()
def _cached_lens(model: Model, trace: Trace) -> Lens:
    return logit_lens(trace, model.translator)
