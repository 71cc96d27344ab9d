"""What every experiment shows, in one order: a sentence of result, a figure, a table, a file and a
program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.ui.pages.research import corpus
from transformer.ui.services.models import Model
from transformer.ui.widgets import tables
from transformer.ui.widgets.python_program import program_start

MAX_TABLE_HEIGHT = 420
"""Pixels; a longer table scrolls."""
ROW_HEIGHT = 35
"""Pixels of a row of `st.dataframe`."""


@dataclass(frozen=True)
class Result:
    """The result of an experiment, or of a part of it.

    Attributes:
        name: of the numbers, for the labels of table, file and program.
        sentence: the result as Markdown, with the numbers that the figure shows.
        draw: draws the figure, and the widgets that change how it is drawn.
        caption: how to read the figure.
        table: the numbers.
        file: name of the CSV file, without its ending.
        program: Python code that computes the numbers as `table`, and prints them.
    """

    name: str
    sentence: str
    draw: Callable[[], None]
    caption: str
    table: pd.DataFrame
    file: str
    program: str


def report_program(model: Model, texts: Corpus, report_name: str, sample: int = 0) -> str:
    """Return a program for the table of one of `analysis.reports.REPORTS`.

    Args:
        texts: the corpus of `corpus.choose`.
        sample: number of its sentences that are measured, evenly spaced; 0 is all.
    """
    modules = ["corpora import Corpus", "reports import report"]
    code = corpus.python_code(model, texts)
    if 0 < sample < len(texts):
        modules.insert(1, "findings.finding import evenly_spaced")
        code = f"evenly_spaced({code}, {sample})"
    return f"""{program_start(model, None, modules)}
corpus = {code}
table = report(translator, corpus, {report_name!r}).table
print(table)"""


def show(result: Result) -> None:
    """Draw the result."""
    with st.container(gap="xxsmall"):
        st.markdown(result.sentence)
        result.draw()
    st.caption(result.caption)
    with st.expander(f"{result.name} as a table"):
        height = min(MAX_TABLE_HEIGHT, ROW_HEIGHT * (len(result.table) + 1) + 3)
        st.dataframe(result.table, hide_index=True, height=height)
    tables.csv(f"{result.name} (.csv)", lambda: result.table, result.file)
    with st.expander(f"{result.name} in Python"):
        st.caption("Python counts layers, heads and positions from 0.")
        st.code(result.program, language="python")
