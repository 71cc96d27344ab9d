"""Results: Table 2 of the paper, as a picture and as a table."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.table1.table2 import P100, TABLE_2, cost
from transformer.figures.results import score_and_cost
from transformer.ui.pages.why.sizes import look_for
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.charts import chart, dark

KIND_LABELS = {"single": "Single models", "ensemble": "Ensembles", "ours": "The Transformer"}
LANGUAGE_PAIRS = {"de": "English → German", "fr": "English → French"}


def show() -> None:
    frame.lead_text(
        "Table 2 of the paper: **better translations at a fraction of the training cost**. The y "
        "axis is BLEU on newstest2014, the x axis the training cost in floating-point operations, "
        "on a logarithmic scale."
    )
    look_for(
        "Higher is better, further left is cheaper. Is any model higher than the Transformer, or "
        "further left?"
    )
    columns = st.columns(2, gap="large")
    for column, (language, title) in zip(columns, LANGUAGE_PAIRS.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            figure = score_and_cost(_points(language), x_title="training cost (operations)",
                                    y_title="BLEU", dark=dark())  # fmt: skip
            chart(figure, f"results-{language}")
    _table()
    _cost_estimate()


def _points(language: str) -> dict[str, list[tuple[str, float, float]]]:
    """Return name, cost and score of the models for which Table 2 has both, by kind."""
    points: dict[str, list[tuple[str, float, float]]] = {name: [] for name in KIND_LABELS.values()}
    for row in TABLE_2:
        score, training_cost = getattr(row, language), getattr(row, f"cost_{language}")
        if score is not None and training_cost is not None:
            points[KIND_LABELS[row.kind]].append(
                (row.name.removesuffix(", ensemble"), training_cost, score)
            )
    return points


def _table() -> None:
    columns = ["Model", "BLEU, En–De", "BLEU, En–Fr", "Cost, En–De", "Cost, En–Fr"]
    rows = [
        [row.name, _number(row.de), _number(row.fr), _power(row.cost_de), _power(row.cost_fr)]
        for row in TABLE_2
    ]
    tables.show("Table 2 of the paper (section 6.1)", columns, rows)
    st.caption(
        "Nothing here was measured by this app; the figures of other models are as the paper "
        "quotes them. The paper gives one cost for both languages. For the big model and French, "
        "arXiv has 41.8, the proceedings and section 6.1 have 41.0. The paper’s tokenisation "
        "differs from that of this app, so these BLEU scores are not comparable with ours."
    )
    frame.page_link("pages/inside.py", "What is BLEU? Compute it step by step →", section="bleu")


def _cost_estimate() -> None:
    st.header("How the cost is estimated")
    st.markdown(
        "The paper multiplies the training time by eight GPUs and by the sustained speed of one "
        f"GPU, {P100 / 1e12:g} TFLOPS for a P100 (footnote 5)."
    )
    for name, hours in (("base", 12.0), ("big", 3.5 * 24)):
        st.latex(
            rf"\text{{{name}: }} {hours:g}\,\text{{h}} \times 3600\,\tfrac{{\text{{s}}}}"
            rf"{{\text{{h}}}} \times 8 \times {P100 / 1e12:g} \cdot 10^{{12}} = {_tex(cost(hours))}"
        )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _power(value: float | None) -> str:
    """Format a number like 3.3·10¹⁸."""
    if value is None:
        return "–"
    digits, power = f"{value:.1e}".split("e+")
    return f"{digits}·10{power.translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _tex(value: float) -> str:
    digits, power = f"{value:.2e}".split("e+")
    return rf"{digits} \cdot 10^{{{power}}}"
