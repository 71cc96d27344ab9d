"""DecoderLens: the translation when the decoder reads an earlier layer of the encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from transformer.analysis.inside.decoder_lens import DecoderLens, decoder_lens
from transformer.figures.lens import MAX_LABELLED_POSITIONS, lens_map
from transformer.figures.positions import Curve, lines
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.inside import Inside
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import computed, corpus, display_names, frame, tables
from transformer.ui.widgets.charts import chart, dark

_LOG_PROBABILITY = "Log-probability of the last layer’s translation (nats per token)"
DESCRIPTION = "Translates every sentence once for each encoder layer."


def show(model: Model) -> None:
    """Draw the translation from one encoder layer, those of all layers, and BLEU over a corpus."""
    view = state.view(Inside)
    trace = trace_cache.read(model, view).trace
    options = {} if view.method == "forced" else view.decoding()
    lens = _lens(model, trace, tuple(options.items()))
    frame.lead_text(
        "Let the decoder read an **earlier encoder layer** instead of the last one. How many "
        "layers does this sentence need?"
    )
    names = [_layer(number) for number in range(model.n_layers + 1)]
    number = _chosen_layer(names)
    with st.container(border=True, key="inside-encoder-layer"):
        st.caption(f"The decoder reads: {names[number]}")
        st.subheader(frame.plain(lens.translations[number]), anchor=False)
        st.markdown(_comparison(lens, number))
    _all_layers(lens, names)
    _probabilities(lens, names)
    st.caption(
        "This method is DecoderLens (Langedijk et al. 2023). The decoder is unchanged and was "
        "trained on the last layer only, so an early layer may contain more information than it "
        "can use."
    )
    st.header("Over many sentences")
    _bleu(model)


def _layer(number: int) -> str:
    return "embeddings" if number == 0 else f"encoder layer {display_names.number(number - 1)}"


def _chosen_layer(names: list[str]) -> int:
    """Draw the slider, which is bound to the address. Return the selected layer."""
    if state.view(Inside).encoder_layer >= len(names):
        state.set_fields(encoder_layer=len(names) - 1)
    chosen = st.select_slider(
        options=range(len(names)),
        format_func=names.__getitem__,
        **state.bound("encoder_layer"),
    )
    return int(chosen)


def _comparison(lens: DecoderLens, number: int) -> str:
    """Return a sentence that compares the translation with that from the last layer."""
    final, last = lens.translations[-1], len(lens.translations) - 1
    if lens.translations[number] != final:
        return f"From the last layer: *{frame.plain(final)}*"
    first = lens.translations.index(final)
    if first == last:
        return "This is the model's translation. No earlier layer gives the same text."
    statement = (
        "This is the model's translation" if number == last else "The same as from the last layer"
    )
    if first == 0:
        return f"{statement}. The embeddings, without any encoder layer, already give it."
    return f"{statement}. The first layer that gives it is {_layer(first)}."


def _all_layers(lens: DecoderLens, names: list[str]) -> None:
    rows = zip(names, lens.translations, lens.mean_log_probability, strict=True)
    tables.show(
        "The translation from every layer",
        [
            "The decoder reads",
            "Translation",
            _LOG_PROBABILITY,
        ],
        [[name, text, f"{value:.2f}".replace("-", "−")] for name, text, value in rows],
    )


def _probabilities(lens: DecoderLens, names: list[str]) -> None:
    st.markdown(
        "Here the decoder reads the last layer's translation as its prefix. Each cell has the most "
        "probable token at that step, in bold if it is the token of that translation."
    )
    figure = lens_map(
        names,
        display_names.tokens(lens.reads),
        display_names.tokens(lens.chosen),
        [[display_names.tokens(tokens) for tokens in row] for row in lens.top_tokens],
        lens.top_probabilities,
        dark=dark(),
    )
    # Wide enough for the tokens; a phone scrolls it.
    width = 260 + len(lens.reads) * (80 if len(lens.reads) <= MAX_LABELLED_POSITIONS else 14)
    st.html(f"<style>.st-key-inside-encoder-map > * {{ min-width: {width}px; }}</style>")
    with st.container(key="inside-encoder-map"):
        chart(figure, "encoder-layers-map")


def _bleu(model: Model) -> None:
    """Draw BLEU from every layer over a corpus, with a preview before it is measured."""
    sentences = corpus.choose(model)
    if sentences is None:
        return
    result = computed.measured_or_preview(model, sentences, "decoder-lens", description=DESCRIPTION)
    if result is None:
        return
    rows: list[dict[str, Any]] = result["table"]
    names = [_layer(row["layer"]) for row in rows]
    curve = Curve(
        "BLEU",
        [row["layer"] for row in rows],
        [row["bleu"] for row in rows],
        low=np.array([row["bleu_low"] for row in rows]),
        high=np.array([row["bleu_high"] for row in rows]),
    )
    figure = lines([curve], x_title="number of encoder layers", y_title="BLEU", dark=dark())
    figure.update_xaxes(dtick=1)
    chart(figure, "encoder-layers-bleu")
    st.caption(
        "BLEU of greedy translations against the corpus's references, or against the model's own "
        "translation of a sentence without one. The band is the 95% bootstrap interval."
    )
    tables.show(
        "BLEU by encoder layer",
        ["The decoder reads", "BLEU", "95% interval"],
        [
            [name, f"{row['bleu']:.1f}", f"{row['bleu_low']:.1f} to {row['bleu_high']:.1f}"]
            for name, row in zip(names, rows, strict=True)
        ],
    )


@cached("Decoding from every encoder layer …")
def _lens(model: Model, trace: Trace, options: tuple[tuple[str, Any], ...]) -> DecoderLens:
    return decoder_lens(model.translator, trace, **dict(options))
