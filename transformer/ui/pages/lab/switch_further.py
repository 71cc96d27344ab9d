"""Further changes: source tokens taken away, activations of another sentence put in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.pages.lab.switch_written import (
    Patch,
    numbers_of,
    numbers_written,
    patch_of,
    place,
)
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import Reading
from transformer.ui.widgets import controls, exact, frame

AWAY, SITE, HERE, THERE = "switch-away", "switch-site", "switch-here", "switch-there"


def show(model: Model, reading: Reading) -> None:
    """Two expanders; what is chosen in them stands in the address."""
    view = state.view(Lab)
    left, right = st.columns(2)
    with left.expander("Remove source tokens", expanded=bool(view.away)):
        _away(reading.trace)
    with right.expander("Patch activations from another sentence", expanded=bool(view.patch)):
        _patch(model, reading)


def _away(trace: Trace) -> None:
    view = state.view(Lab)
    tokens = trace.src_tokens
    chosen = [at for at in numbers_of(view.away) if at < len(tokens) - 1]
    _choice(
        "Source tokens",
        tokens[:-1],
        chosen,
        AWAY,
        lambda: state.change(away=numbers_written(sorted(st.session_state[AWAY]))),
    )
    controls.one_of("gone", labelled=False)


def _patch(model: Model, reading: Reading) -> None:
    view = state.view(Lab)
    st.text_input(
        placeholder="Empty: the same sentence",
        live="400ms",
        **state.bound("other"),
    )
    sites = _sites(model)
    patch = patch_of(view.patch) or Patch(_first(model))
    st.session_state[SITE] = patch.site if patch.site in sites else _first(model)
    st.selectbox(
        "Site: output of",
        list(sites),
        format_func=sites.__getitem__,
        key=SITE,
        on_change=_put,
    )
    try:
        donor = trace_cache.other(model, view).trace
    except ValueError as error:
        st.warning(frame.plain(frame.sentence(error)))
        return
    encoder = st.session_state[SITE].startswith("encoder")
    for label, trace, chosen, key in (
        ("Positions here", reading.trace, patch.here, HERE),
        ("Positions in the other sentence", donor, patch.there, THERE),
    ):
        tokens = trace.src_tokens if encoder else trace.tgt_tokens
        _choice(label, tokens, [at for at in chosen if at < len(tokens)], key, _put)
    if len(patch.here) != len(patch.there):
        st.caption("Choose equally many tokens in both sentences; they are paired in order.")
    elif not encoder:
        st.caption("These are output tokens. A patch takes effect when the decoder reads them.")


def _put() -> None:
    chosen = st.session_state
    patch = Patch(chosen[SITE], tuple(chosen.get(HERE, ())), tuple(chosen.get(THERE, ())))
    state.change(patch=patch.written())


def _first(model: Model) -> str:
    """In the middle of the encoder: what is known of a token by then."""
    return f"encoder.layers.{(model.n_layers - 1) // 2}.ffn_norm.hook_output"


def _sites(model: Model) -> dict[str, str]:
    """The residual stream after every sublayer, by name, in words."""
    said = {
        "embed": "the embedding",
        "self_attn_norm": "self-attention",
        "cross_attn_norm": "cross-attention",
        "ffn_norm": "the feed-forward network",
    }
    found = {}
    for name in model.translator.model.hook_names:
        stack, *way = name.removesuffix(".hook_output").split(".")
        if name.endswith(".hook_output") and way[-1] in said:
            layer = f", {exact.layer(int(way[1]))}" if len(way) > 1 else ""
            found[name] = f"{stack.capitalize()}{layer}: {said[way[-1]]}"
    return found


def _choice(
    label: str,
    tokens: Sequence[str],
    chosen: Sequence[int],
    key: str,
    on_change: Callable[[], None],
) -> None:
    """Some of the tokens, told apart by their places; what is chosen comes from the view."""
    now = exact.on()
    st.session_state[key] = list(chosen)
    st.multiselect(
        label,
        range(len(tokens)),
        format_func=lambda at: place(at, tokens[at], now),
        key=key,
        on_change=on_change,
        placeholder="Choose tokens",
    )
