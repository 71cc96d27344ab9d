"""Syntactic heads, measured on human-made dependency trees, of checkpoints that include scores."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.roles.syntax_report import SyntaxReport
from transformer.figures.interval_chart import measurement_chart
from transformer.measures.chart import Chart
from transformer.measures.naming import file_name
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, tables
from transformer.ui.widgets.charts import chart, dark

STACKS = {
    "encoder": "Encoder self-attention, on the source trees",
    "decoder": "Decoder self-attention, on the trees of the translation",
}
CHART = Chart(
    "relation",
    "accuracy",
    "query's word to attended word",
    "accuracy of the strongest weight",
    by="method",
    joined=False,
    percent=True,
)


def show(model: Model) -> None:
    """Compare the best head of each relation with the best fixed offset, if there are scores."""
    report = model.syntax
    if report is None:
        return
    st.header("Syntax, measured on human-made trees")
    st.markdown(_summary(report))
    for stack, title in STACKS.items():
        table = report.chart_table(stack)
        if not table.empty:
            st.subheader(title)
            chart(measurement_chart(table, CHART, dark=dark()), f"syntax-{stack}")
    with st.expander(f"All {len(report.scores)} scores as a table"):
        tables.show(
            "Scores on the half of the sentences that was not used to choose head and offset",
            COLUMNS,
            _rows(report),
        )
        tables.csv("The scores (.csv)", report.table, file_name("syntax", model.name))


COLUMNS = [
    "Attention",
    "Relation",
    "Head",
    "Head accuracy",
    "Offset",
    "Offset accuracy",
    "Rows",
    "Syntactic",
]


def _summary(report: SyntaxReport) -> str:
    syntactic = [score for score in report.scores if score.syntactic]
    return (
        f"For {len(syntactic)} of {len(report.scores)} relations the best head is at least 10 "
        "percentage points better than always attending to the best fixed offset, the rule for a "
        "**syntactic head** (Voita et al. 2019). Head and offset were chosen on one half of "
        f"{report.sentences:,} sentences and measured on the other half; bars show the 95% "
        f"interval of the difference. Trees: {report.source}; "
        "they are not included in the app. Sentences generated from a grammar are simpler, so "
        "heads score higher on them."
    )


def _rows(report: SyntaxReport) -> list[list[str]]:
    return [
        [
            score.stack,
            score.relation,
            display_names.head(score.layer, score.head),
            f"{100 * score.accuracy:.1f}%",
            f"{score.offset:+d}".replace("-", "−"),
            f"{100 * score.offset_accuracy:.1f}%",
            f"{score.rows:,}",
            "yes" if score.syntactic else "no",
        ]
        for score in report.scores
    ]
