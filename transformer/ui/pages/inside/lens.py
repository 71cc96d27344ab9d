"""The logit lens: which token the decoder would predict after each of its sublayers."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.inside.logit_lens import Lens
from transformer.analysis.inside.logit_lens import lens as look
from transformer.figures.lens import WRITTEN, lens_curve, lens_map
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.inside import stops
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import exact
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.charts import chart, dark


def show(model: Model) -> None:
    reading = trace_cache.read(model, state.view())
    trace = stops.trace(model, reading, 0)
    found = _lens(model, trace)
    st.markdown(
        "Every intermediate state of the decoder has d_model numbers, so the output matrix can be "
        "applied to each of them: which token would the model predict if it stopped there? The "
        "first layers mostly repeat the token that was read; the next token appears in later ones."
    )
    st.latex(r"P_\ell = \mathrm{softmax}\left(y_\ell\, E^{\top}\right)")
    position = _position(found)
    titles = [exact.display_text(title) for title in found.titles]
    figure = lens_map(
        titles,
        exact.tokens(found.rows),
        exact.tokens(found.chosen),
        [[[exact.token(one) for one in cell] for cell in line] for line in found.top_tokens],
        found.top_probabilities,
        marked=position,
        dark=dark(),
    )
    st.caption(
        "One row per sublayer, one column per output token. Each cell shows the most probable "
        "token, in bold if it is the one that was written. Hover over it for the next ones."
    )
    # Wide enough for its words; on a phone it is scrolled.
    wide = 260 + len(found.rows) * (80 if len(found.rows) <= WRITTEN else 14)
    st.html(f"<style>.st-key-inside-lens > * {{ min-width: {wide}px; }}</style>")
    with st.container(key="inside-lens"):
        chart(figure, "lens-map")
    curve = lens_curve(
        titles,
        exact.token(found.chosen[position]),
        found.probability[:, position],
        found.rank[:, position],
        dark=dark(),
    )
    chart(curve, "lens-curve")
    st.caption(
        "The logit lens was introduced by nostalgebraist (2020). This model has LayerNorm after "
        "every residual connection, so each state except the embedding is normalised like the "
        "last one. Only the last was trained to predict tokens."
    )


def _position(found: Lens) -> int:
    """The output token whose curve is drawn: a row of the decoder."""
    count = len(found.rows)
    chosen = state.view().row
    position = chosen if 0 <= chosen < count else _latest(found)

    def label(number: int) -> str:
        read, wrote = exact.token(found.rows[number]), exact.token(found.chosen[number])
        return f"{exact.number(number)}: {read} → {wrote}"

    told = controlled("lens-word", position, lambda chosen: state.change(row=chosen))
    st.selectbox("Output token", range(count), format_func=label, width=360, **told)
    return position


def _latest(found: Lens) -> int:
    """The position whose output token reaches rank 1 in the latest layer."""
    first = (found.rank == 1)[::-1].cumprod(axis=0).sum(axis=0)
    return int(first.argmin())


@cached()
def _lens(model: Model, trace: Trace) -> Lens:
    return look(trace, model.translator)
