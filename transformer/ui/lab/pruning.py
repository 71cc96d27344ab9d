"""The pruning game: how many heads of each kind can go before the translation breaks."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import apart, spread
from transformer.analysis.importance.ablation import Ablation, measure_without
from transformer.analysis.importance.pruning import budgeted, random_order
from transformer.analysis.interventions.switching import Head, switched_off
from transformer.figures.interval_chart import Chart
from transformer.figures.interval_chart import measured as drawn
from transformer.figures.state import KINDS
from transformer.figures.switchboard import LETTERS
from transformer.inference.results import Translation
from transformer.text.visible import is_blank
from transformer.ui import frame, models, readings, state
from transformer.ui.kit import controls, exact, tables, terms
from transformer.ui.kit.charts import chart, dark
from transformer.ui.kit.remembered import remembered
from transformer.ui.kit.reports import measured
from transformer.ui.lab import Lab
from transformer.ui.models import Model

AT_ONCE = 20
"""Sentences whose loss is measured whenever a slider moves."""
CURVES = 60
"""Sentences of the curves and of BLEU."""
LONGER = 12
"""Pieces by which a pruned model's translation may be longer; some never come to an end."""
CHART = Chart("off", "loss", "heads gone", "loss (nats a token)", by="order")
CURVES_NAMES = {"sentence": "by sentences", "position": "by positions", "random": "by chance"}


def show(model: Model, corpus: Corpus, importance: pd.DataFrame) -> None:
    """Budgets, what becomes of a sentence and of the corpus, and the curves."""
    terms.heading("The pruning game")
    st.markdown("Take heads away until the translation breaks. Which kind can spare most?")
    chosen = _choose(model, importance)
    controls.sentence(model)
    _sentence(model, chosen)
    _corpus(model, corpus, chosen)
    _curves(model, corpus)
    _gates(model)


def _choose(model: Model, importance: pd.DataFrame) -> list[Head]:
    """The heads that go: sliders, and who goes first."""
    most = model.n_layers * model.n_heads
    names = [f"less_{kind}" for kind in KINDS]
    for name in names:
        if getattr(state.view(Lab), name) > most:
            state.normalise(**{name: most})
    for (kind, label), column in zip(KINDS.items(), st.columns(3), strict=True):
        column.slider(f"{label}: heads gone", 0, most, **state.bound(f"less_{kind}"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.one_of(
            "pruned",
            help="Importance is the gradient's, compared within each layer, as in the paper; by "
            "its equation for each sentence, or by its program for each position.",
        )
        view = state.view(Lab)
        if view.pruned == "random":
            st.button(
                "Draw again",
                icon=":material/casino:",
                on_click=state.change,
                kwargs={"seed": view.seed + 1},
            )
        st.button(
            "Put all back",
            icon=":material/undo:",
            disabled=not any(getattr(view, name) for name in names),
            on_click=state.change,
            kwargs=dict.fromkeys(names, 0),
        )
    measure = "position_normalised" if view.pruned == "position" else "normalised"
    rising = importance.sort_values(measure, kind="stable")
    order: list[Head] = list(rising[["kind", "layer", "head"]].itertuples(index=False, name=None))
    if view.pruned == "random":
        order = random_order(sorted(order), view.seed)
    return budgeted(order, {kind: getattr(view, f"less_{kind}") for kind in KINDS})


def _sentence(model: Model, heads: Sequence[Head]) -> None:
    """The visitor's sentence by the whole model and by the pruned one, both greedily."""
    text = state.view(Lab).text
    try:
        whole = _translated(model, text, (), None)
    except ValueError as error:
        st.warning(frame.plain(frame.sentence(error)))
        return
    pruned = _translated(model, text, tuple(heads), len(whole.ids) + LONGER)
    left, right = st.columns(2)
    left.markdown(f"With all heads: **{_said(whole)}**")
    right.markdown(f"Without {len(heads)}: **{_said(pruned)}**")
    st.button(
        "See what these heads changed",
        icon=":material/toggle_off:",
        disabled=not heads,
        on_click=state.change,
        kwargs={"lab": "switch", "off": written(heads), "means": "zero"},
        help="Opens “Switch heads off” with the same heads.",
    )


@remembered()
def _translated(model: Model, text: str, heads: tuple[Head, ...], most: int | None) -> Translation:
    """Raises ValueError for a text that is empty or too long."""
    hooks = switched_off(model.translator.model.config, heads) if heads else None
    return model.translator.translate(text, hooks=hooks, candidates=1, max_len=most)


def _said(found: Translation) -> str:
    if is_blank(found.text):
        return "nothing at all"
    return frame.plain(found.text) + ("" if found.finished else " …")


def _corpus(model: Model, corpus: Corpus, heads: Sequence[Head]) -> None:
    """Loss at once over a few sentences; loss and BLEU over more when asked."""
    if not heads:
        return
    few, off = spread(corpus, AT_ONCE), written(heads)
    turn: readings.Turn = st.session_state.setdefault("prune-turn", readings.Turn())
    number = turn.draw()
    with turn.lock:
        turn.check(number)  # of a slider that is dragged only the last place is measured
        found = _without(model, few, tuple(heads))
    change = found.loss_changes[0]
    st.metric(
        f"Loss over {len(few)} sentences (nats a token)",
        f"{found.loss + change.value:.3f}",
        f"{change.value:+.3f}",
        delta_color="inverse",
    )
    st.caption(
        f"{found.loss:.3f} with all heads; the change is {apart(change, 3)}, by bootstrap over the "
        "sentences."
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


@remembered()
def _without(model: Model, corpus: Corpus, heads: tuple[Head, ...]) -> Ablation:
    return measure_without(model.translator, corpus, [heads])


def _curves(model: Model, corpus: Corpus) -> None:
    """Every kind pruned alone, held against chance."""
    some = spread(corpus, CURVES)
    st.markdown("**Each kind alone, the least important first, by either measure, and by chance**")
    found = measured(
        model,
        some,
        "pruning-kinds",
        button="Draw the curves",
        about=f"Loss over {len(some)} sentences as the heads of one kind go: for the checkpoint "
        "en-fr about 80 seconds of one core.",
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
        "Bars: of the two orders of importance the 95% interval over sentences, of chance the "
        "least and the greatest of three orders. The line is where your slider stands."
    )
    tables.csv("These curves (.csv)", lambda: table, f"pruning-{model.name}")


@remembered()
def _curve(
    model: Model, corpus: Corpus, kind: str, at: int, highest: float, dark: bool, _own: pd.DataFrame
) -> go.Figure:
    """Drawn once for all reruns that do not move this slider."""
    figure = drawn(_own, CHART, at=at, dark=dark)
    figure.update_yaxes(range=[0, 1.05 * highest])
    return figure


def _gates(model: Model) -> None:
    if not exact.on():
        return
    with st.expander("Let the model choose: learned gates"):
        st.markdown(
            "Voita et al. 2019 give every head a gate that learns to be 0 or 1, and every open "
            "gate a price; at the end each is rounded, to 0 or 1. The 300 steps below take about "
            "ten minutes of two cores for the checkpoint en-fr, so this is for Python, or `python "
            "-m transformer gates … --round` in a shell:"
        )
        st.code(
            f"""from transformer import Translator
from transformer.analysis.corpora import corpus_for
from transformer.training.gates import learn_gates

folder = {str(models.written(model.name))!r}
translator = Translator.load(folder)
corpus = corpus_for(folder, translator.vocabulary)
found = learn_gates(translator, corpus, steps=300, penalty=0.005, rounded=True)
print(len(found.survivors), "heads stay", found.to_frame())""",
            "python",
        )


def written(heads: Sequence[Head]) -> str:
    """Heads as the address has them: "e3.2,c5.1"."""
    return ",".join(f"{LETTERS[kind]}{layer}.{head}" for kind, layer, head in sorted(heads))
