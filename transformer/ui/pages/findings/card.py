"""The card of one finding: its rule, its verdict, and the figures behind it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.findings import FINDINGS, Published
from transformer.analysis.findings.beside_checkpoint import KeptFinding
from transformer.figures.interval_chart import measured as drawn
from transformer.jobs import Computation
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.services import models
from transformer.ui.services.live_jobs import computing
from transformer.ui.services.models import Model
from transformer.ui.services.remembered import remembered
from transformer.ui.widgets import exact, frame, tables, verdicts
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computed, question


def subject(model: Model, name: str) -> str:
    """What all questions are about that put this model to the finding, over whatever sentences."""
    return f"finding-{name} {model.hash}"


def asked(model: Model, corpus: Corpus, name: str) -> Computation:
    """What is computed to put this model to the finding.

    What a visitor brought stays between the two: its name and its figures are nobody else's.
    """
    own = state.view().corpus == "upload"
    found = question(model, corpus, f"finding-{name}")
    return found if own else replace(found, subject=subject(model, name))


def measured_over(found: Mapping[str, Any], when: float = 0) -> str:
    """How many sentences of what, and on which day if that is known: seconds since 1970, or 0."""
    many, name = found["measured"], frame.plain(found["corpus"]["name"])
    over = f"{many:,} sentence{'' if many == 1 else 's'} of {name}"
    if not when:
        return over
    at = time.gmtime(when)
    return f"{at.tm_mday} {time.strftime('%b %Y', at)}, {over}"


def show(model: Model, corpus: Corpus, published: Published, before: KeptFinding | None) -> None:
    """Draw it over the chosen sentences, with a way to run it.

    Args:
        before: what the checkpoint brings; shown until it has been run over these sentences.
    """
    st.markdown(f"**Rule.** {frame.plain(published.rule)}")
    what = asked(model, corpus, published.name)
    n = min(len(corpus), published.most)
    seconds = max(5, 5 * round(60 * published.minutes * n / published.most / 5))
    if computing().look(what.key).status != "done":
        if before:
            _brought(before)
        st.caption(f"{n} sentences; takes about {seconds} seconds for the checkpoint en-fr")
    found = computed(what, button="Run")
    if found is not None:
        _verdict(model, published, what.key, found)


def _brought(before: KeptFinding) -> None:
    """The verdict that came with the app, and how it was reached; its picture takes a run."""
    found = before.result
    with st.container(horizontal=True, vertical_alignment="center"):
        verdicts.badge(found["verdict"])
        st.caption(f"Shipped with the app: {measured_over(found, before.when)}.", width="content")
    if found["value"] is not None:
        verdicts.effect(found)
    st.markdown(frame.plain(exact.retold(found["reason"])))


@remembered()
def _picture(key: str, name: str, dark: bool, exactly: bool, _table: pd.DataFrame) -> go.Figure:
    return drawn(_table, FINDINGS[name].chart, dark=dark)


def _verdict(model: Model, published: Published, key: str, found: dict[str, Any]) -> None:
    tested = found["verdict"] != "can't be tested here"
    beside, picture = st.columns([2, 3], gap="large") if tested else (st.container(), None)
    with beside:
        verdicts.badge(found["verdict"])
        if tested:
            verdicts.effect(found)
        st.markdown(frame.plain(exact.retold(found["reason"])))
    if picture is None:
        return
    table = pd.DataFrame(found["table"])
    with beside:
        st.caption(f"{found['measured']} sentences. Correction: {found['correction']}.")
        tables.csv("Figures (.csv)", lambda: table, file_name(published.name, model.name))
    with picture:
        named = table.map(lambda cell: exact.retold(cell) if isinstance(cell, str) else cell)
        chart(_picture(key, published.name, dark(), exact.on(), named), f"chart-{published.name}")
    if not exact.on():
        return
    with st.expander("The same from the shell and from Python"):
        _programs(str(models.written(model.name)), published.name)


def _programs(folder: str, name: str) -> None:
    brought = state.view().corpus == "upload"
    given = " --corpus yours.tsv" if brought else ""
    st.code(f"python -m transformer analyse {folder} --what finding-{name}{given} --json", "bash")
    corpus = 'Corpus.read("yours.tsv")' if brought else "corpus_for(folder, translator.vocabulary)"
    st.code(
        f"""from transformer import Translator
from transformer.analysis.corpora import {"Corpus" if brought else "corpus_for"}
from transformer.analysis.findings import FINDINGS

folder = {folder!r}
translator = Translator.load(folder)
corpus = {corpus}
found = FINDINGS[{name!r}].run(translator, corpus)
print(found.verdict, found.effect, found.reason, found.figures)""",
        "python",
    )
