"""Pruning: how many heads of each kind can be removed before the translation changes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import apart, spread
from transformer.analysis.importance.ablation import Ablation, measure_without
from transformer.analysis.importance.pruning import budgeted, first_change, random_order
from transformer.analysis.interventions.switching import Head, switched_off
from transformer.figures.interval_chart import measured as drawn
from transformer.figures.state import KINDS
from transformer.inference.results import Translation
from transformer.measures.chart import Chart
from transformer.measures.head_codes import LETTERS
from transformer.measures.naming import file_name
from transformer.text.visible import is_blank
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.services import models, trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, exact, frame, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import measured

AT_ONCE = 20
"""Sentences whose loss is measured whenever a slider moves."""
CURVES = 60
"""Sentences of the curves and of BLEU."""
LONGER = 12
"""Pieces by which a pruned model's translation may be longer; some never come to an end."""
CHART = Chart("off", "loss", "heads pruned", "loss (nats per token)", by="order")
CURVES_NAMES = {"sentence": "by sentences", "position": "by positions", "random": "random"}


def show(model: Model, corpus: Corpus, importance: pd.DataFrame) -> None:
    """The sentence, how many heads of each kind go, and what becomes of it and of the corpus."""
    controls.sentence(model)
    order = _order(importance)
    _find(model, order)
    chosen = _choose(model, order)
    _sentence(model, chosen)
    _corpus(model, corpus, chosen)


def _order(importance: pd.DataFrame) -> list[Head]:
    view = state.view(Lab)
    measure = "position_normalised" if view.pruned == "position" else "normalised"
    rising = importance.sort_values(measure, kind="stable")
    order: list[Head] = list(rising[["kind", "layer", "head"]].itertuples(index=False, name=None))
    return random_order(sorted(order), view.seed) if view.pruned == "random" else order


def _find(model: Model, order: Sequence[Head]) -> None:
    """A button for each kind: as many heads of it as change this sentence's translation."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Prune until the translation changes:", width="content")
        for kind, label in KINDS.items():
            st.button(
                label,
                key=f"break-{kind}",
                type="primary" if kind == "cross" else "secondary",
                icon=":material/search:",
                on_click=_until_it_breaks,
                args=(model, order, kind),
            )


def _until_it_breaks(model: Model, order: Sequence[Head], kind: str) -> None:
    """Take away as few heads of this kind alone as change the translation, or all of them."""
    text, most = state.view(Lab).text, sum(head[0] == kind for head in order)
    try:
        whole = _translated(model, text, (), None)
    except ValueError:
        return  # the page says what is wrong with the text
    longest = len(whole.ids) + LONGER

    def said(gone: int) -> str:
        if not gone:
            return whole.text
        return _translated(model, text, tuple(budgeted(order, {kind: gone})), longest).text

    gone = first_change(said, most, model.n_heads)
    others = {f"less_{one}": 0 for one in KINDS}
    state.change(**{**others, f"less_{kind}": most if gone is None else gone})


def _choose(model: Model, order: Sequence[Head]) -> list[Head]:
    """The heads that go: sliders, and who goes first."""
    most = model.n_layers * model.n_heads
    names = [f"less_{kind}" for kind in KINDS]
    for name in names:
        if getattr(state.view(Lab), name) > most:
            state.set_fields(**{name: most})
    for (kind, label), column in zip(KINDS.items(), st.columns(3), strict=True):
        column.slider(f"{label}: heads pruned", 0, most, **state.bound(f"less_{kind}"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.button_row(
            "pruned",
            help="Importance by gradient, normalised within each layer as in the paper: with one "
            "gate per sentence (its equation) or per position (its code).",
        )
        view = state.view(Lab)
        if view.pruned == "random":
            frame.state_button("New random order", "casino", {"seed": view.seed + 1})
        frame.state_button(
            "Restore all heads",
            "undo",
            dict.fromkeys(names, 0),
            disabled=not any(getattr(view, name) for name in names),
        )
    return budgeted(order, {kind: getattr(view, f"less_{kind}") for kind in KINDS})


def _sentence(model: Model, heads: Sequence[Head]) -> None:
    """The visitor's sentence by the whole model and by the pruned one, both greedily."""
    text = state.view(Lab).text
    try:
        whole = _translated(model, text, (), None)
    except ValueError as error:
        st.warning(frame.plain(frame.as_sentence(error)))
        return
    pruned = _translated(model, text, tuple(heads), len(whole.ids) + LONGER)
    left, right = st.columns(2)
    left.markdown(f"With all heads: **{_said(whole)}**")
    right.markdown(
        f"Without {len(heads)} {'head' if len(heads) == 1 else 'heads'}: **{_said(pruned)}**"
    )
    if heads:
        same = whole.text == pruned.text
        right.caption("The translation is unchanged." if same else "The translation has changed.")
    frame.state_button(
        "Show what changed",
        "toggle_off",
        {"lab": "switch", "off": written(heads), "means": "zero"},
        disabled=not heads,
        help="Opens “Switch off heads” with the same heads.",
    )


@cached()
def _translated(model: Model, text: str, heads: tuple[Head, ...], most: int | None) -> Translation:
    """Raises ValueError for a text that is empty or too long."""
    hooks = switched_off(model.translator.model.config, heads) if heads else None
    return model.translator.translate(text, hooks=hooks, candidates=1, max_len=most)


def _said(found: Translation) -> str:
    if is_blank(found.text):
        return "(empty)"
    return frame.plain(found.text) + ("" if found.finished else " …")


def _corpus(model: Model, corpus: Corpus, heads: Sequence[Head]) -> None:
    """Loss at once over a few sentences; loss and BLEU over more when asked."""
    if not heads:
        return
    few, off = spread(corpus, AT_ONCE), written(heads)
    turn: trace_cache.NewestRerun = st.session_state.setdefault(
        "prune-turn", trace_cache.NewestRerun()
    )
    number = turn.draw()
    with turn.lock:
        turn.check(number)  # of a slider that is dragged only the last place is measured
        found = _without(model, few, tuple(heads))
    change = found.loss_changes[0]
    st.metric(
        f"Loss over {len(few)} sentences (nats per token)",
        f"{found.loss + change.value:.3f}",
        f"{change.value:+.3f}",
        delta_color="inverse",
    )
    st.caption(
        f"{found.loss:.3f} with all heads. The change is {apart(change, 3)} (bootstrap over the "
        "sentences)."
    )
    some = spread(corpus, CURVES)
    more = measured(
        model,
        some,
        "without",
        {"heads": off, "bleu": True},
        button=f"BLEU over {len(some)} sentences",
    )
    if more is not None:
        row = more["table"][0]
        said = (
            f"Over {len(some)} sentences: BLEU **{row['bleu']:.1f}** instead of "
            f"{more['bleu']:.1f} (95% of the change: {row['bleu_low']:+.1f} to "
            f"{row['bleu_high']:+.1f}), loss {row['loss']:.3f} instead of {more['loss']:.3f}."
        )
        st.markdown(said.replace("-", "−"))


@cached()
def _without(model: Model, corpus: Corpus, heads: tuple[Head, ...]) -> Ablation:
    return measure_without(model.translator, corpus, [heads])


def curves(model: Model, corpus: Corpus) -> None:
    """Every kind pruned alone, held against chance."""
    some = spread(corpus, CURVES)
    st.markdown("**Each kind pruned alone, in order of importance and in random order**")
    found = measured(
        model,
        some,
        "pruning-kinds",
        button="Draw the curves",
        about=f"Measures the loss over {len(some)} sentences as the heads of one kind are pruned. "
        "For the checkpoint en-fr this takes about 80 seconds on one core.",
    )
    if found is None:
        return
    table = pd.DataFrame(found["table"])
    highest = float(table["high"].max())
    for (kind, label), column in zip(KINDS.items(), st.columns(3), strict=True):
        at = getattr(state.view(Lab), f"less_{kind}")
        own = table[table["kind"] == kind]
        own = own.assign(order=own["order"].map(CURVES_NAMES))
        figure = _curve(model, some, kind, at, highest, dark(), own)
        with column:
            st.markdown(label)
            chart(figure, f"prune-{kind}")
    st.caption(
        "Bars: the 95% interval over sentences for the two orders by importance, and the range of "
        "three orders for random. The vertical line marks your slider."
    )
    tables.csv("These curves (.csv)", lambda: table, file_name("pruning", model.name))


@cached()
def _curve(
    model: Model, corpus: Corpus, kind: str, at: int, highest: float, dark: bool, _own: pd.DataFrame
) -> go.Figure:
    """Drawn once for all reruns that do not move this slider."""
    figure = drawn(_own, CHART, at=at, dark=dark)
    figure.update_yaxes(range=[0, 1.05 * highest])
    return figure


def gates(model: Model) -> None:
    """How a model chooses by itself which heads it needs."""
    if not exact.is_on():
        return
    with st.expander("Learned gates"):
        st.markdown(
            "Voita et al. 2019 give every head a gate that learns to be 0 or 1, with a penalty on "
            "open gates; at the end the gates are rounded. The 300 steps below take about ten "
            "minutes on two cores for the checkpoint en-fr, so run them in Python, or with `python "
            "-m transformer gates … --round` in a shell:"
        )
        st.code(
            f"""from transformer import Translator
from transformer.analysis.corpora import corpus_for
from transformer.training.gates import learn_gates

folder = {str(models.public_path(model.name))!r}
translator = Translator.load(folder)
corpus = corpus_for(folder, translator.vocabulary)
found = learn_gates(translator, corpus, steps=300, penalty=0.005, rounded=True)
print(len(found.survivors), "heads stay", found.to_frame())""",
            "python",
        )


def written(heads: Sequence[Head]) -> str:
    """Heads as the address has them: "e3.2,c5.1"."""
    return ",".join(f"{LETTERS[kind]}{layer}.{head}" for kind, layer, head in sorted(heads))
