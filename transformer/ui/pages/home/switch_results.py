"""What a change does: to the translation, its tokens and the attention of all heads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from transformer.analysis.interventions.comparison import Comparison
from transformer.figures import PackedTrace, explorer_page
from transformer.figures.before_after import before_after_bars
from transformer.figures.headgrid import Grid
from transformer.figures.state import KINDS
from transformer.measures import naming
from transformer.measures.kinds import AttentionKind, checked_kind
from transformer.measures.naming import file_name
from transformer.ui.base import state
from transformer.ui.pages.home import Home
from transformer.ui.pages.home.switch_changes import Plan, options_code
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import display_names, frame, tables, views
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.python_program import escaped_token, program_start
from transformer.ui.widgets.tables import download

Shares = npt.NDArray[np.float32]


def show_changes(
    model: Model, cached_trace: CachedTrace, plan: Plan, comparison: Comparison, effect: str
) -> None:
    """Draw the effect as text, token by token, and for the attention of all heads."""
    st.header("What changes")
    st.markdown(effect)
    table = comparison.probabilities
    tokens = display_names.tokens(table["token"].to_list())
    st.markdown("**Probability of each token of the original translation**")
    chart(
        before_after_bars(
            tokens,
            table["before"].to_numpy(),
            table["after"].to_numpy(),
            x_title="probability",
            marked=comparison.changed_predictions,
            dark=dark(),
        ),
        "switch-pairs",
    )
    st.caption(
        "Each token is predicted from the original prefix, so that both can be compared. Bold: "
        "another token is now the most probable."
    )
    _attention_grid(cached_trace, comparison)
    _exports(model, plan, comparison)


def attention_changes(comparison: Comparison) -> dict[AttentionKind, Shares]:
    """Return every head's change in attention by kind."""
    return {kind: comparison.attention(kind) for kind in KINDS}


def attention_change_table(shares: dict[AttentionKind, Shares]) -> pd.DataFrame:
    """Return one row per head: kind, layer, head, and the change in its attention."""
    rows = [
        (kind, layer, head, float(share))
        for kind, by_head in shares.items()
        for (layer, head), share in np.ndenumerate(by_head)
    ]
    return pd.DataFrame(rows, columns=["kind", "layer", "head", "moved"])


def _attention_grid(cached_trace: CachedTrace, comparison: Comparison) -> None:
    st.markdown("**Change in the attention of every head**, in percent")
    shares = attention_changes(comparison)
    shown = cached_trace.packed.resolved(state.view(Home).explorer())
    views.head_grid(
        "moved-heads",
        [_changes_of_kind(kind, by_head) for kind, by_head in shares.items()],
        high=1.0,
        legend="Share of the head's attention that moved to other tokens; colour by square root.",
        selected=(checked_kind(shown["kind"]), int(shown["layer"]), int(shown["head"])),
    )
    table = attention_change_table(shares)
    kind, layer, head, share = table.iloc[int(table["moved"].to_numpy().argmax())]
    greatest = (
        f"Greatest in {KINDS[kind].lower()}, {naming.head_name(layer, head)}: "
        f"{100 * share:.0f}% of its weight has moved, averaged over the rows."
    )
    st.caption(
        (greatest if share >= 0.005 else "None: the change affects no later head.")
        + " Click a head to see it below. Measured as total variation, ½ Σ |a − b|, along the "
        "original translation."
    )


def _changes_of_kind(kind: AttentionKind, by_head: Shares) -> Grid:
    """Return the grid of one kind, with percentages from 0.5% in its cells."""
    shares = by_head.tolist()
    marks = [[f"{100 * share:.0f}" if share >= 0.005 else "" for share in row] for row in shares]
    descriptions = [
        [
            f"{KINDS[kind]}, {naming.head_name(layer, head)}: {100 * share:.1f}%"
            for head, share in enumerate(row)
        ]
        for layer, row in enumerate(shares)
    ]
    return Grid(kind, np.sqrt(by_head), marks, descriptions)


def _exports(model: Model, plan: Plan, comparison: Comparison) -> None:
    view, source = state.view(Home), comparison.original.source
    with st.container(horizontal=True):
        for label, name, table in (
            ("Probabilities (.csv)", "probabilities", lambda: comparison.probabilities),
            ("Candidates (.csv)", "candidates", lambda: comparison.candidates),
            (
                "Attention changes (.csv)",
                "attention-moved",
                lambda: attention_change_table(attention_changes(comparison)),
            ),
        ):
            tables.csv(label, table, file_name(f"altered-{name}", model.name, source))
        download(
            "Comparison as web page (.html)",
            lambda: explorer_page(
                [
                    PackedTrace(comparison.original, "original"),
                    PackedTrace(comparison.forced, "altered"),
                ],
                {
                    "view": "compare",
                    "kind": view.kind,
                    "layer": view.layer,
                    "head": view.head,
                    "exact": view.exact,
                },
                "Original and altered",
            ),
            file_name("altered", model.name, source) + ".html",
        )
    display_names.python_code("The same from Python", _program(model, view, plan))


def effect_sentence(plan: Plan, comparison: Comparison) -> str:
    """Return a sentence on how the translation changes."""
    *first, last = plan.descriptions
    change = f"{', '.join(first)} and {last}" if first else last
    change = change[0].upper() + change[1:]
    table = comparison.probabilities
    index = int((table["after"] - table["before"]).abs().to_numpy().argmax())
    row = table.iloc[index]
    token = escaped_token(str(row["token"]))
    before, after = float(row["before"]), float(row["after"])
    if abs(after - before) < 0.005:
        effect = f"{change}, every token's probability changes by less than 0.5 percentage points"
    else:
        direction = "falls" if after < before else "rises"
        digits = int(f"{100 * before:.0f}" == f"{100 * after:.0f}")
        probabilities = f"from **{100 * before:.{digits}f}%** to **{100 * after:.{digits}f}%**"
        effect = f"{change}, the probability of “{token}” {direction} {probabilities}"
    text = frame.plain(comparison.translation.text) or "(empty)"
    if comparison.original.translation.method == "forced":
        return f"{effect}; without forced decoding, the changed model writes **{text}**"
    if comparison.changed:
        return f"{effect}; the translation becomes **{text}**"
    return f"{effect}; the translation stays **{frame.plain(comparison.translation.text)}**"


def _program(model: Model, view: Home, plan: Plan) -> str:
    names = {"compare", *plan.imports, *(["combined"] if len(plan.lines) > 1 else [])}
    options = options_code(view)
    hooks = plan.lines[0] if len(plan.lines) == 1 else f"combined({', '.join(plan.lines)})"
    decoding = "" if view.method == "forced" else options
    return "\n".join(
        [
            program_start(model, None, [f"interventions import {', '.join(sorted(names))}"]),
            f"text = {view.text!r}",
            "config = translator.model.config",
            f"trace = translator.trace(text{options})",
            *plan.program,
            f"hooks = {hooks}",
            f"comparison = compare(translator, text, hooks, original=trace{decoding})",
            "print(comparison.translation.text)",
            "print(comparison.probabilities)  # of the original's tokens, before and after",
            'print(comparison.attention("cross"))  # change in the attention of every head',
        ]
    )
