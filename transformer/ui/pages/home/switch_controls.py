"""Widgets that mask source tokens and patch activations from another sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from transformer.inference import Trace
from transformer.measures import naming
from transformer.ui.base import state
from transformer.ui.pages.home import Home
from transformer.ui.pages.home.switch_changes import (
    Patch,
    parse_patch,
    parse_positions,
    position_label,
    positions_code,
)
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import display_names, frame

MASKED_KEY, SITE_KEY, POSITIONS_KEY, DONOR_POSITIONS_KEY = (
    "switch-masked",
    "switch-site",
    "switch-here",
    "switch-there",
)


def masking_and_patching(model: Model, cached_trace: CachedTrace) -> None:
    """Draw two expanders: one to mask source tokens, one to patch activations."""
    view = state.view(Home)
    left, right = st.columns(2)
    with left.expander("Mask source tokens", expanded=bool(view.masked_tokens)):
        _mask_controls(cached_trace.trace)
    with right.expander("Patch activations from another sentence", expanded=bool(view.patch)):
        _patch_controls(model, cached_trace)


def _mask_controls(trace: Trace) -> None:
    tokens = trace.src_tokens
    masked = parse_positions(state.view(Home).masked_tokens)
    _token_choice(
        "Source tokens to which no head can attend",
        tokens[:-1],
        [position for position in masked if position < len(tokens) - 1],
        MASKED_KEY,
        lambda: state.change(masked_tokens=positions_code(sorted(st.session_state[MASKED_KEY]))),
    )


def _patch_controls(model: Model, cached_trace: CachedTrace) -> None:
    view = state.view(Home)
    st.text_input(
        placeholder="Empty: the same sentence",
        live="400ms",
        **state.bound("other"),
    )
    labels = _site_labels(model)
    patch = parse_patch(view.patch) or Patch(_default_site(model))
    st.session_state[SITE_KEY] = patch.site if patch.site in labels else _default_site(model)
    st.selectbox(
        "Activations: output of",
        list(labels),
        format_func=labels.__getitem__,
        key=SITE_KEY,
        on_change=_store_patch,
    )
    try:
        donor = trace_cache.comparison(model, view).trace
    except ValueError as error:
        st.warning(frame.plain(frame.as_sentence(error)))
        return
    encoder = st.session_state[SITE_KEY].startswith("encoder")
    for label, trace, chosen, key in (
        ("Positions in this sentence", cached_trace.trace, patch.positions, POSITIONS_KEY),
        ("Positions in the other sentence", donor, patch.donor_positions, DONOR_POSITIONS_KEY),
    ):
        tokens = trace.src_tokens if encoder else trace.tgt_tokens
        _token_choice(label, tokens, [i for i in chosen if i < len(tokens)], key, _store_patch)
    if len(patch.positions) != len(patch.donor_positions):
        st.caption("Choose equally many tokens in both sentences; they are paired in order.")
    elif not encoder:
        st.caption("These are output tokens. A patch takes effect when the decoder reads them.")


def _store_patch() -> None:
    session = st.session_state
    patch = Patch(
        session[SITE_KEY],
        tuple(session.get(POSITIONS_KEY, ())),
        tuple(session.get(DONOR_POSITIONS_KEY, ())),
    )
    state.change(patch=patch.code())


def _default_site(model: Model) -> str:
    """Return the hook name of the residual stream in the middle of the encoder."""
    return f"encoder.layers.{(model.n_layers - 1) // 2}.ffn_norm.hook_output"


def _site_labels(model: Model) -> dict[str, str]:
    """Return labels of the residual stream after every sublayer and of the encoder's output, by
    hook name."""
    names = {
        "embed": "the embedding",
        "self_attn_norm": "self-attention",
        "cross_attn_norm": "cross-attention",
        "ffn_norm": "the feed-forward network",
    }
    labels = {}
    for name in model.translator.model.hook_names:
        stack, *path = name.removesuffix(".hook_output").split(".")
        if name.endswith(".hook_output") and path[-1] in names:
            layer = f", {naming.layer_name(int(path[1]))}" if len(path) > 1 else ""
            labels[name] = f"{stack.capitalize()}{layer}: {names[path[-1]]}"
        elif name == "encoder.hook_memory":
            labels[name] = "Encoder: its output (memory)"
    return labels


def _token_choice(
    label: str,
    tokens: Sequence[str],
    selected: Sequence[int],
    key: str,
    on_change: Callable[[], None],
) -> None:
    """Draw a menu of tokens, labelled with their positions; the view determines the selection."""
    exact = display_names.is_exact()
    st.session_state[key] = list(selected)
    st.multiselect(
        label,
        range(len(tokens)),
        format_func=lambda position: position_label(position, tokens[position], exact),
        key=key,
        on_change=on_change,
        placeholder="Choose tokens",
    )
