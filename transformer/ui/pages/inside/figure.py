"""The map: Figure 1 with small pictures of what each box holds, and Figure 2 of an attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from transformer.figures.box_layout import ATTENTION, STOPS, figure_1, figure_2
from transformer.figures.figure1 import Button, figure_data
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.inside import Inside, stops
from transformer.ui.pages.inside.stops import Stop
from transformer.ui.services.models import Model
from transformer.ui.widgets import exact
from transformer.ui.widgets.views import component

_figure = component("figure1")
_NAMES = {
    "encoder.self_attn": "Multi-head attention",
    "decoder.self_attn": "Masked multi-head attention",
    "decoder.cross_attn": "Multi-head attention",
    "encoder.embed.positions": "Positions",
    "encoder.embed.sum": "+",
    "decoder.embed.sum": "+",
    "output.choice": "Next token",
}
_STEPS = {"scores": "MatMul", "heads": "MatMul", "output": "Linear", "softmax": "SoftMax"}
"""What the paper's Figure 2 calls them."""
_SORTS = {
    **dict.fromkeys(("tokens", "positions", "sum"), "embed"),
    **dict.fromkeys(("add", "norm"), "norm"),
    **dict.fromkeys(("hidden", "output"), "ffn"),
    **dict.fromkeys(("memory", "logits"), "linear"),
    **dict.fromkeys(("softmax", "choice"), "softmax"),
}
_HINTED = ("tokens", "memory")


def whole(model: Model, stop: Stop, trace: Trace) -> None:
    """Draw Figure 1 with the open box marked."""
    data = figure_data(
        [figure_1()],
        [_button(model, stop, trace, place) for place in _places()],
        stop.attention or stop.place,
        caption="The model, as in Figure 1 of the paper. Use the arrow keys to move between boxes.",
        words={"source": _line(trace.src_tokens), "target": _line(trace.tgt_tokens)},
        layers=(model.n_layers, stop.layer),
        scroll_to=("st-key-inside-top", stop.place),
        size=state.view().size,
        exact=exact.is_on(),
    )
    _figure(key="figure-1", data=data, on_choice_change=_chosen)


def attention(model: Model, stop: Stop, trace: Trace) -> None:
    """Draw Figure 2 with the open step marked."""
    found = stops.boxes_of(model, stop.layer)
    buttons = []
    for step in ATTENTION:
        box = found[f"{stop.attention}.{step}"]
        picture = _picture(trace, box.site, stop.head)
        label = _STEPS.get(step, box.title)
        signed = step != "softmax"
        where = box.title if step in _STEPS else ""
        buttons.append(Button(step, label, "attention", "", picture, signed, where))
    caption = "Attention, as in Figure 2 of the paper. Use the arrow keys to move between steps."
    size = state.view().size
    data = figure_data(figure_2(), buttons, stop.box.step, caption=caption, size=size)
    _figure(key="figure-2", data=data, on_choice_change=_stepped)


def _places() -> list[str]:
    """Boxes of Figure 1 in order; the ten steps of an attention are one box."""
    drawn = figure_1().boxes
    groups = (place if place in drawn else place.rpartition(".")[0] for place in STOPS)
    return list(dict.fromkeys(groups))


def _button(model: Model, stop: Stop, trace: Trace, place: str) -> Button:
    boxes = stops.boxes_of(model, stop.layer)
    if place not in boxes:
        weights = _picture(trace, boxes[f"{place}.softmax"].site, stop.head)
        over = "memory, " if place.endswith("cross_attn") else ""
        hint = f"{over}head {exact.number(stop.head)}"
        where = stops.where(boxes[f"{place}.softmax"])
        return Button(place, _NAMES[place], "attention", hint, weights, signed=False, where=where)
    box = boxes[place]
    lengths = {"src": len(trace.src_tokens), "tgt": len(trace.tgt_tokens)}
    hint = box.shape.rpartition(" = ")[2] if box.step in _HINTED else ""
    for name, length in lengths.items():
        hint = hint.replace(name, str(length))
    if place == STOPS[-1]:
        hint = _winner(model, trace)
    picture = _picture(trace, box.site, stop.head) if box.step not in ("add", "sum") else None
    return Button(
        place,
        _NAMES.get(place, box.title),
        _SORTS[box.step],
        hint,
        picture,
        box.step != "hidden",
        stops.where(box),
    )


def _picture(trace: Trace, site: str, head: int) -> npt.NDArray[np.floating[Any]] | None:
    """The tensor of a hook, of one head if it has a head axis; None for the logits."""
    if not site or site == "hook_logits":
        return None
    found = trace[site]
    return found[head] if found.ndim == 3 else found


def _winner(model: Model, trace: Trace) -> str:
    """The most probable token at the selected step."""
    logits = trace["hook_logits"]
    at = min(max(state.view().row, 0), len(logits) - 1)
    return _line(model.translator.vocabulary.tokens([int(logits[at].argmax())]))


def _line(tokens: Sequence[str]) -> str:
    return " ".join(token.replace("▁", "") or "▁" for token in map(exact.token, tokens))


def _chosen() -> None:
    choice = st.session_state["figure-1"]["choice"]
    layer, place = choice.get("layer"), choice.get("box")
    if layer is not None:
        state.change(layer=int(layer))
    elif place in STOPS:
        stops.go(place)
    elif f"{place}.{ATTENTION[0]}" in STOPS:
        stops.go(f"{place}.{ATTENTION[0]}")


def _stepped() -> None:
    step = st.session_state["figure-2"]["choice"].get("box")
    block = state.view(Inside).box.rpartition(".")[0]
    if f"{block}.{step}" in STOPS:
        stops.go(f"{block}.{step}")
