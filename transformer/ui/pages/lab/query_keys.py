"""Queries and keys of one head over many sentences, in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import spread
from transformer.analysis.roles.query_key_map import POINTS, query_key_map
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
from transformer.ui.widgets import controls, corpus, exact, frame, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computed, preview_caption, preview_of

SENTENCES = 120
"""Sentences of the corpus that a map is made of, evenly, as far as `POINTS` reaches."""
FIGURE = "query-keys"
QUARTERS = ("first quarter", "second quarter", "third quarter", "last quarter")
Place = tuple[str, int, int]  # "query" or "key", sentence, position


def show(model: Model) -> None:
    """The head, the corpus, the picture, and the sentence of the point that is clicked."""
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
        controls.button_row("dots")
    if model.translator.model.config.score == "additive":
        st.info(
            "This model scores by v·tanh(q + k), which distances cannot show. Choose a model whose "
            "scores are dot products."
        )
        return
    some = spread(texts, SENTENCES)
    found = computed(
        _question(model, some),
        button="Draw the map",
        about=f"One pass over {len(some)} sentences of the corpus takes a few seconds.",
    )
    if found is None and (few := preview_of(some)) is not None:
        found = _preview(model, few, view.kind, view.layer, view.head)
        preview_caption(few, some)
    if found:
        _draw(model, found, len(texts))


@cached("Mapping a few sentences …")
def _preview(model: Model, few: Corpus, kind: str, layer: int, head: int) -> dict[str, Any]:
    return query_key_map(model.translator, few, kind, layer, head).to_dict()


def _question(model: Model, some: Corpus) -> Computation:
    view = state.view(Lab)
    folder = str(models.checkpoints()[model.name].resolve())
    which: dict[str, Any] = {"kind": view.kind, "layer": view.layer, "head": view.head}
    return Computation(
        "transformer.analysis.roles.query_key_map:compute",
        {**which, "checkpoint": folder, "hash": model.hash, "corpus": some.to_dict()},
        identity=(model.hash, some.hash, which),
    )


def _draw(model: Model, found: dict[str, Any], n_corpus: int) -> None:
    places, view = _places(found), state.view(Lab)
    points = np.array(found["points"])
    named = (at for at, place in enumerate(places) if _written(place) == view.point)
    chosen = next(named, None)  # the point of the address, if it is there
    figure, curves = query_key_figure(
        points,
        [side for side, _, _ in places],
        [_group(found, place) for place in places],
        [_told(found, place) for place in places],
        found["explained"],
        links=_links(found, places, chosen),
        chosen=None if chosen is None else (chosen, exact.token(_token(found, places[chosen]))),
        dark=dark(),
    )
    st.markdown(f"**{KINDS[view.kind]}, {exact.head(view.layer, view.head)}**{_agreement(found)}")
    if chosen is None:
        st.info("Click a disc (a query) to see which keys of its sentence it attends to.")
    else:
        _sentence(found, places[chosen])
    taken = partial(_picked, [[_written(places[at]) for at in own] for own in curves])
    chart(figure, FIGURE, taken)
    n = len(found["sentences"])
    st.caption(
        f"{len(places):,} points of {n} of {n_corpus} sentences (at most {POINTS:,} points). All "
        "keys are shifted by one vector so that both clouds have the same centre, and queries and "
        "keys are scaled by c and 1/c so that both have the same spread. Neither changes any "
        "attention weight (after Yeh et al. 2023). The plane shows the two directions of greatest "
        "variance (PCA)."
    )
    tables.csv(
        "All points (.csv)",
        lambda: _table(found, places, points),
        file_name("queries-keys", model.name, "", exact.in_file(view.layer, view.head)),
    )


def _places(found: dict[str, Any]) -> list[Place]:
    """Of every point; all queries, then all keys."""
    return [
        (side, number, at)
        for side, name in (("query", "queries"), ("key", "keys"))
        for number, sentence in enumerate(found["sentences"])
        for at in range(len(sentence[name]))
    ]


def _token(found: dict[str, Any], place: Place) -> str:
    side, number, at = place
    token: str = found["sentences"][number]["queries" if side == "query" else "keys"][at]
    return token


def _group(found: dict[str, Any], place: Place) -> str:
    """What the colour of a point stands for."""
    side, number, at = place
    how, token = state.view(Lab).dots, _token(found, place)
    if how == "side":
        return side
    if how == "position":
        length = len(found["sentences"][number]["queries" if side == "query" else "keys"])
        return QUARTERS[4 * at // length]
    if token in CONTROL:
        return "special token"
    if is_punctuation(token):
        return "punctuation"
    return "beginning of a word" if token.startswith(BEGIN) else "continuation of a word"


def _told(found: dict[str, Any], place: Place) -> str:
    side, number, at = place
    tokens = exact.tokens(found["sentences"][number]["queries" if side == "query" else "keys"])
    marked = [f"[{token}]" if n == at else token for n, token in enumerate(tokens)]
    return f"{side}: {' '.join(marked[max(0, at - 6) : at + 7])}"


def _agreement(found: dict[str, Any]) -> str:
    """How far the picture may be trusted."""
    whole, plane = found["agreement"]
    if whole is None or plane is None:
        return ""
    numbers = [f"{one:.2f}".replace("-", "−") for one in (whole, plane)]
    return (
        f": within rows, closeness and score correlate with {numbers[0]} in all dimensions and "
        f"**{numbers[1]}** on this map"
    )


def _written(place: Place) -> str:
    side, number, at = place
    return f"{side[0]}{number}.{at}"


def _picked(names: list[list[str]]) -> None:
    points = st.session_state[FIGURE]["selection"]["points"]
    if points and points[0]["curve_number"] < len(names):
        state.change(point=names[points[0]["curve_number"]][points[0]["point_index"]])


def _weights(found: dict[str, Any], place: Place) -> list[float]:
    """What a query gives each key, or what a key gets from each query."""
    side, number, at = place
    weights = np.array(found["sentences"][number]["weights"])
    row: list[float] = (weights[at] if side == "query" else weights[:, at]).tolist()
    return row


def _links(
    found: dict[str, Any], places: Sequence[Place], chosen: int | None
) -> list[AttentionLink]:
    if chosen is None:
        return []
    side, number, _ = places[chosen]
    far = "key" if side == "query" else "query"
    first = places.index((far, number, 0))
    return [
        AttentionLink(chosen, first + at, weight, exact.token(_token(found, (far, number, at))))
        for at, weight in enumerate(_weights(found, places[chosen]))
    ]


def _sentence(found: dict[str, Any], place: Place) -> None:
    """The sentence, as dark as each token is attended to."""
    side, number, at = place
    sentence = found["sentences"][number]
    asks = side == "query"
    far = exact.tokens(sentence["keys" if asks else "queries"])
    chips = "".join(
        f'<span title="{weight:.0%}" style="display:inline-block;padding:0 .4em;margin:.1em .15em;'
        f"border-radius:5px;outline:1px solid #8885;"
        f'background:rgba(33,113,181,{0.75 * weight:.2f})"><bdi>{escape(token)}</bdi> '
        f'<small style="opacity:.75">{weight:.0%}</small></span>'
        for token, weight in zip(far, _weights(found, place), strict=True)
    )
    name = escape(exact.tokens(sentence["queries" if asks else "keys"])[at])
    does = "attends to" if asks else "is attended to by"
    st.html(f'<div style="line-height:2"><b><bdi>{name}</bdi></b> {does} {chips}</div>')


def _table(
    found: dict[str, Any], places: Sequence[Place], points: np.ndarray[Any, Any]
) -> pd.DataFrame:
    table = pd.DataFrame(places, columns=["side", "sentence", "position"])
    table["token"] = [_token(found, place) for place in places]
    table["x"], table["y"] = points.T
    return table
