"""Query–key map: queries and keys of one head over many sentences in one plane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import evenly_spaced
from transformer.analysis.roles.query_key_map import MAX_POINTS, query_key_map
from transformer.figures.query_key_map import AttentionLink, query_key_figure
from transformer.figures.state import KINDS
from transformer.jobs import Computation
from transformer.measures.naming import file_name
from transformer.measures.pieces import BEGIN, CONTROL, is_punctuation
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, corpus, display_names, frame, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computed, preview_caption, preview_of

MAX_SENTENCES = 120
"""Maximum number of evenly spaced sentences to read; fewer if `MAX_POINTS` is reached first."""
FIGURE_KEY = "query-keys"
QUARTERS = ("first quarter", "second quarter", "third quarter", "last quarter")
MapPoint = tuple[str, int, int]  # "query" or "key", sentence, position


def show(model: Model) -> None:
    """Draw the controls, the map, and the sentence of the selected point."""
    frame.lead_text(
        "A head compares the **query** of a token with the **key** of every token. This map shows "
        "both for one head over many sentences: a query is close to the keys it attends to."
    )
    texts = corpus.choose(model)
    if texts is None:
        return
    view = state.view(Lab)
    if view.layer < 0 or view.head < 0:
        state.set_fields(layer=0, head=0)
        view = state.view(Lab)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.button_row("kind")
        controls.layer_and_head(model)
        controls.button_row("point_colour")
    if model.translator.model.config.score == "additive":
        st.info(
            "This model scores by v·tanh(q + k), which distances cannot show. Choose a model whose "
            "scores are dot products."
        )
        return
    sample = evenly_spaced(texts, MAX_SENTENCES)
    result = computed(
        _computation(model, sample),
        button="Draw the map",
        description=f"One pass over {len(sample)} sentences of the corpus takes a few seconds.",
    )
    if result is None and (preview_sample := preview_of(sample)) is not None:
        result = _preview(model, preview_sample, view.kind, view.layer, view.head)
        preview_caption(preview_sample, sample)
    if result:
        _draw(model, result, len(texts))


@cached("Mapping a few sentences …")
def _preview(model: Model, sample: Corpus, kind: str, layer: int, head: int) -> dict[str, Any]:
    return query_key_map(model.translator, sample, kind, layer, head).to_dict()


def _computation(model: Model, sample: Corpus) -> Computation:
    view = state.view(Lab)
    folder = str(models.checkpoints()[model.name].resolve())
    head_fields: dict[str, Any] = {"kind": view.kind, "layer": view.layer, "head": view.head}
    return Computation(
        "transformer.analysis.roles.query_key_map:compute",
        {**head_fields, "checkpoint": folder, "hash": model.hash, "corpus": sample.to_dict()},
        identity=(model.hash, sample.hash, head_fields),
    )


def _draw(model: Model, result: dict[str, Any], n_corpus_sentences: int) -> None:
    map_points, view = _map_points(result), state.view(Lab)
    points = np.array(result["points"])
    matches = (i for i, map_point in enumerate(map_points) if _point_code(map_point) == view.point)
    selected = next(matches, None)  # the address may name a point that this map lacks
    figure, curves = query_key_figure(
        points,
        [side for side, _, _ in map_points],
        [_group(result, map_point) for map_point in map_points],
        [_hover_text(result, map_point) for map_point in map_points],
        result["explained"],
        links=_links(result, map_points, selected),
        chosen=None
        if selected is None
        else (selected, display_names.token(_token(result, map_points[selected]))),
        dark=dark(),
    )
    st.markdown(
        f"**{KINDS[view.kind]}, {display_names.head(view.layer, view.head)}**{_agreement(result)}"
    )
    if selected is None:
        st.info("Click a disc (a query) to see which keys of its sentence it attends to.")
    else:
        _sentence(result, map_points[selected])
    on_click = partial(
        _select_point, [[_point_code(map_points[i]) for i in curve] for curve in curves]
    )
    chart(figure, FIGURE_KEY, on_click)
    n = len(result["sentences"])
    st.caption(
        f"{len(map_points):,} points of {n} sentences. At most {MAX_SENTENCES} of the "
        f"{n_corpus_sentences:,} sentences and {MAX_POINTS:,} points are drawn. All keys are "
        "shifted by one vector so that both clouds have the same centre, and queries and keys are "
        "scaled by c and 1/c so that both have the same spread. Neither changes any attention "
        "weight (after Yeh et al. 2023). The plane shows the two directions of greatest variance "
        "(PCA)."
    )
    tables.csv(
        "All points (.csv)",
        lambda: _table(result, map_points, points),
        file_name(
            "queries-keys", model.name, "", display_names.for_file_name(view.layer, view.head)
        ),
    )


def _map_points(result: dict[str, Any]) -> list[MapPoint]:
    """Return side, sentence and position of every point: all queries, then all keys."""
    return [
        (side, number, position)
        for side, name in (("query", "queries"), ("key", "keys"))
        for number, sentence in enumerate(result["sentences"])
        for position in range(len(sentence[name]))
    ]


def _token(result: dict[str, Any], map_point: MapPoint) -> str:
    side, number, position = map_point
    token: str = result["sentences"][number]["queries" if side == "query" else "keys"][position]
    return token


def _group(result: dict[str, Any], map_point: MapPoint) -> str:
    """Return the legend entry of a point's colour."""
    side, number, position = map_point
    colour_by, token = state.view(Lab).point_colour, _token(result, map_point)
    if colour_by == "side":
        return side
    if colour_by == "position":
        length = len(result["sentences"][number]["queries" if side == "query" else "keys"])
        return QUARTERS[4 * position // length]
    if token in CONTROL:
        return "special token"
    if is_punctuation(token):
        return "punctuation"
    return "beginning of a word" if token.startswith(BEGIN) else "continuation of a word"


def _hover_text(result: dict[str, Any], map_point: MapPoint) -> str:
    side, number, position = map_point
    tokens = display_names.tokens(
        result["sentences"][number]["queries" if side == "query" else "keys"]
    )
    marked = [f"[{token}]" if n == position else token for n, token in enumerate(tokens)]
    return f"{side}: {' '.join(marked[max(0, position - 6) : position + 7])}"


def _agreement(result: dict[str, Any]) -> str:
    """Return how well distances match scores, in all dimensions and on the map."""
    all_dimensions, on_map = result["agreement"]
    if all_dimensions is None or on_map is None:
        return ""
    numbers = [f"{value:.2f}".replace("-", "−") for value in (all_dimensions, on_map)]
    return (
        f": the correlation of proximity and score within rows is {numbers[0]} in all dimensions "
        f"and **{numbers[1]}** on this map"
    )


def _point_code(map_point: MapPoint) -> str:
    side, number, position = map_point
    return f"{side[0]}{number}.{position}"


def _select_point(names: list[list[str]]) -> None:
    points = st.session_state[FIGURE_KEY]["selection"]["points"]
    if points and points[0]["curve_number"] < len(names):
        state.change(point=names[points[0]["curve_number"]][points[0]["point_index"]])


def _weights(result: dict[str, Any], map_point: MapPoint) -> list[float]:
    """Return a query's weights over all keys, or a key's weights from all queries."""
    side, number, position = map_point
    weights = np.array(result["sentences"][number]["weights"])
    row: list[float] = (weights[position] if side == "query" else weights[:, position]).tolist()
    return row


def _links(
    result: dict[str, Any], map_points: Sequence[MapPoint], selected: int | None
) -> list[AttentionLink]:
    if selected is None:
        return []
    side, number, _ = map_points[selected]
    other_side = "key" if side == "query" else "query"
    first = map_points.index((other_side, number, 0))
    return [
        AttentionLink(
            selected,
            first + i,
            weight,
            display_names.token(_token(result, (other_side, number, i))),
        )
        for i, weight in enumerate(_weights(result, map_points[selected]))
    ]


def _sentence(result: dict[str, Any], map_point: MapPoint) -> None:
    """Draw the point's sentence with each token shaded by its weight."""
    side, number, position = map_point
    sentence = result["sentences"][number]
    is_query = side == "query"
    other_tokens = display_names.tokens(sentence["keys" if is_query else "queries"])
    chips = "".join(
        f'<span title="{100 * weight:.0f}%" style="display:inline-block;padding:0 .4em;'
        f"margin:.1em .15em;border-radius:5px;outline:1px solid #8885;"
        f'background:rgba(33,113,181,{0.75 * weight:.2f})"><bdi>{escape(token)}</bdi> '
        f'<small style="opacity:.75">{100 * weight:.0f}%</small></span>'
        for token, weight in zip(other_tokens, _weights(result, map_point), strict=True)
    )
    name = escape(display_names.tokens(sentence["queries" if is_query else "keys"])[position])
    verb = "attends to" if is_query else "is attended to by"
    st.html(f'<div style="line-height:2"><b><bdi>{name}</bdi></b> {verb} {chips}</div>')


def _table(
    result: dict[str, Any], map_points: Sequence[MapPoint], points: np.ndarray[Any, Any]
) -> pd.DataFrame:
    table = pd.DataFrame(map_points, columns=["side", "sentence", "position"])
    table["token"] = [_token(result, map_point) for map_point in map_points]
    table["x"], table["y"] = points.T
    return table
