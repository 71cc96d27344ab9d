"""The walkthrough's map: Figure 1 with a small picture in each box, and Figure 2 for attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from transformer.figures.figure1 import ATTENTION, FIGURE_1, STOPS, BoxContent, figure_data
from transformer.inference import Trace
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.figure import stops
from transformer.ui.pages.inside.figure.stops import Stop
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names
from transformer.ui.widgets.views import component

_figure = component("figure1")
_BOXES_WITH_SIZE = ("tokens", "memory")


def draw_figure_1(model: Model, stop: Stop, trace: Trace) -> None:
    """Draw Figure 1 with the open box marked."""
    data = figure_data(
        "figure-1",
        [_content(model, stop, trace, name) for name in FIGURE_1],
        stop.attention or stop.box.stop,
        caption="The model, as in Figure 1 of the paper. Use the arrow keys to move between boxes.",
        words={
            "source": _joined_tokens(trace.src_tokens),
            "target": _joined_tokens(trace.tgt_tokens),
        },
        layers=(model.n_layers, stop.layer),
        scroll_to=("st-key-inside-top", stop.box.stop),
        size=state.view().size,
    )
    _figure(key="figure-1", data=data, on_choice_change=_open_box)


def draw_figure_2(model: Model, stop: Stop, trace: Trace) -> None:
    """Draw Figure 2 with the open step marked."""
    boxes = stops.boxes_of(model, stop.layer)
    contents = []
    for step in ATTENTION:
        box = boxes[f"{stop.attention}.{step}"]
        picture = _picture(trace, box.site, stop.head)
        contents.append(BoxContent(step, "", picture, step != "softmax", box.title))
    caption = "Attention, as in Figure 2 of the paper. Use the arrow keys to move between steps."
    size = state.view().size
    data = figure_data("figure-2", contents, stop.box.step, caption=caption, size=size)
    _figure(key="figure-2", data=data, on_choice_change=_open_step)


def _content(model: Model, stop: Stop, trace: Trace, name: str) -> BoxContent:
    boxes = stops.boxes_of(model, stop.layer)
    if name not in boxes:
        weights = _picture(trace, boxes[f"{name}.softmax"].site, stop.head)
        source_note = "memory, " if name.endswith("cross_attn") else ""
        note = f"{source_note}head {display_names.number(stop.head)}"
        location = stops.location(boxes[f"{name}.softmax"])
        return BoxContent(name, note, weights, signed=False, location=location)
    box = boxes[name]
    lengths = {"src": len(trace.src_tokens), "tgt": len(trace.tgt_tokens)}
    note = box.shape.rpartition(" = ")[2] if box.step in _BOXES_WITH_SIZE else ""
    for symbol, length in lengths.items():
        note = note.replace(symbol, str(length))
    if name == STOPS[-1]:
        note = _most_probable_token(model, trace)
    picture = _picture(trace, box.site, stop.head)
    return BoxContent(name, note, picture, box.step != "hidden", stops.location(box))


def _picture(trace: Trace, hook_name: str, head: int) -> npt.NDArray[np.floating[Any]] | None:
    """Return the tensor of a hook, for one head if it has a head axis; None for the logits."""
    if not hook_name or hook_name == "hook_logits":
        return None
    tensor = trace[hook_name]
    return tensor[head] if tensor.ndim == 3 else tensor


def _most_probable_token(model: Model, trace: Trace) -> str:
    """Return the most probable token at the selected step."""
    logits = trace["hook_logits"]
    row = min(max(state.view().row, 0), len(logits) - 1)
    return _joined_tokens(model.translator.vocabulary.tokens([int(logits[row].argmax())]))


def _joined_tokens(tokens: Sequence[str]) -> str:
    return " ".join(token.replace("▁", "") or "▁" for token in map(display_names.token, tokens))


def _open_box() -> None:
    choice = st.session_state["figure-1"]["choice"]
    layer, box = choice.get("layer"), choice.get("box")
    if layer is not None:
        state.change(layer=int(layer))
    elif box in STOPS:
        stops.open_box(box)
    elif f"{box}.{ATTENTION[0]}" in STOPS:
        stops.open_box(f"{box}.{ATTENTION[0]}")


def _open_step() -> None:
    step = st.session_state["figure-2"]["choice"].get("box")
    block = state.view(Inside).box.rpartition(".")[0]
    if f"{block}.{step}" in STOPS:
        stops.open_box(f"{block}.{step}")
