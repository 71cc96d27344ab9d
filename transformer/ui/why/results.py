"""Results: Table 2 of the paper, as a picture and as a table."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.table1.table2 import P100, TABLE_2, cost
from transformer.figures.results import score_and_cost
from transformer.ui import frame
from transformer.ui.kit import tables
from transformer.ui.kit.charts import chart, dark
from transformer.ui.why.sizes import see

KINDS = {"single": "Single models", "ensemble": "Ensembles", "ours": "The Transformer"}
LANGUAGES = {"de": "English → German", "fr": "English → French"}


def show() -> None:
    frame.lead(
        "Was it worth it? The paper’s answer is its Table 2: **better translations for a fraction "
        "of the work**. Upwards is BLEU on newstest2014, to the right what the training cost, in "
        "floating-point operations; each line is ten times the one before."
    )
    see(
        "Higher is better, further left is cheaper. Find the Transformer's marks: does anything "
        "stand higher, and does anything stand further left?"
    )
    columns = st.columns(2, gap="large")
    for column, (language, title) in zip(columns, LANGUAGES.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            figure = score_and_cost(_points(language), across="training cost (operations)",
                                    down="BLEU", dark=dark())  # fmt: skip
            chart(figure, f"results-{language}")
    _table()
    _reckoned()


def _points(language: str) -> dict[str, list[tuple[str, float, float]]]:
    """What Table 2 has both a score and a cost of."""
    found: dict[str, list[tuple[str, float, float]]] = {name: [] for name in KINDS.values()}
    for row in TABLE_2:
        score, spent = getattr(row, language), getattr(row, f"cost_{language}")
        if score is not None and spent is not None:
            found[KINDS[row.kind]].append((row.name.removesuffix(", ensemble"), spent, score))
    return found


def _table() -> None:
    heads = ["Model", "BLEU, En–De", "BLEU, En–Fr", "Cost, En–De", "Cost, En–Fr"]
    rows = [
        [row.name, _number(row.de), _number(row.fr), _power(row.cost_de), _power(row.cost_fr)]
        for row in TABLE_2
    ]
    tables.show("Table 2 of the paper (section 6.1)", heads, rows)
    st.caption(
        "None of it was measured here; other people’s figures are as the paper quotes them. Its "
        "own cost stands once for both languages. For the big model and French the table on arXiv "
        "has 41.8, the proceedings and the text of section 6.1 have 41.0. These are BLEU by the "
        "paper’s own cutting into words, over a whole test set: not comparable with a figure of "
        "this app, nor with that of one sentence."
    )
    frame.link("pages/inside.py", "What is BLEU? Work it out on a pair of yours →", section="bleu")


def _reckoned() -> None:
    st.header("Where the cost comes from")
    st.markdown(
        "The paper estimates it: hours of training, times eight GPUs, times what one of them does "
        f"in a second, {P100 / 1e12:g} TFLOPS for a P100 (footnote 5)."
    )
    for name, hours in (("base", 12.0), ("big", 3.5 * 24)):
        st.latex(
            rf"\text{{{name}: }} {hours:g}\,\text{{h}} \times 3600\,\tfrac{{\text{{s}}}}"
            rf"{{\text{{h}}}} \times 8 \times {P100 / 1e12:g} \cdot 10^{{12}} = {_tex(cost(hours))}"
        )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _power(value: float | None) -> str:
    """3.3·10¹⁸"""
    if value is None:
        return "–"
    digits, power = f"{value:.1e}".split("e+")
    return f"{digits}·10{power.translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _tex(value: float) -> str:
    digits, power = f"{value:.2e}".split("e+")
    return rf"{digits} \cdot 10^{{{power}}}"
