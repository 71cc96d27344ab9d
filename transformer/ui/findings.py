"""What papers found about heads, each a card: claim, rule, verdict, and the figures behind it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings import FINDINGS, Published
from transformer.figures.measured import measured as drawn
from transformer.jobs import Computation, JobError
from transformer.ui import frame, models, state, tables, verdicts, visitor
from transformer.ui.computed import computing
from transformer.ui.lab.corpus import chosen
from transformer.ui.lab.measuring import measured, question
from transformer.ui.models import Model
from transformer.ui.remembered import remembered


def show(model: Model) -> None:
    """All findings for the chosen model and corpus."""
    frame.lead(
        "What papers say about heads was measured on *their* models. Does it hold for this one? "
        "Each rule and its floor stand beside the result, nothing here was computed beforehand "
        "(but what early saves of a training scored), and a finding that fails tells as much as "
        "one that holds."
    )
    st.caption(
        "A claim **holds** if all of the effect's 95% interval lies on its side of a floor, the "
        "smallest effect that would matter. It is **refuted** if all of it lies on the other "
        "side. While the floor is inside, nothing is **shown**, and more sentences may tell."
    )
    corpus = chosen(model)
    if corpus is None:
        return
    _all(model, corpus)
    for published in FINDINGS.values():
        with st.container(border=True):
            _card(model, corpus, published)


def _all(model: Model, corpus: Corpus) -> None:
    """How many have been run, a button for the rest, and all verdicts as a file."""
    keys = {name: _question(model, corpus, name).key for name in FINDINGS}
    who = visitor.known()
    looks = {name: computing().look(key, who) for name, key in keys.items()}
    mine = [look.key for look in looks.values() if look.live and look.mine]
    left = [name for name, now in looks.items() if now.status != "done" and not now.live]
    done = [name for name, now in looks.items() if now.status == "done"]
    minutes = sum(FINDINGS[name].minutes for name in left)
    with st.container(horizontal=True, vertical_alignment="center"):
        if left:
            st.button(
                "Run all" if len(left) == len(FINDINGS) else f"Run the other {len(left)}",
                key="run-all",
                icon=":material/playlist_play:",
                on_click=_ask,
                args=(model, corpus, left),
                help=f"About {max(1, round(minutes))} min of one core for the checkpoint that "
                "comes with this app; you may leave the page meanwhile.",
            )
        if len(mine) > 1:
            st.button(
                "Cancel all",
                key="cancel-all",
                icon=":material/close:",
                on_click=_cancel,
                args=(mine, who),
            )
        if done:
            tables.csv(
                "All verdicts (.csv)", lambda: _verdicts(keys, done), f"findings-{model.name}"
            )
        st.caption(f"{len(done)} of {len(FINDINGS)} have been run.", width="content")
    if refused := st.session_state.pop("findings-refused", ""):
        st.warning(frame.plain(refused))


def _ask(model: Model, corpus: Corpus, names: list[str]) -> None:
    who, where = visitor.known(), visitor.address()
    try:
        for name in names:
            computing().ask(_question(model, corpus, name), visitor=who, address=where)
    except JobError as error:
        st.session_state["findings-refused"] = frame.sentence(error)


def _cancel(keys: list[str], who: str) -> None:
    for key in reversed(keys):  # those that wait first, so that none of them begins
        computing().cancel(key, who)


def _question(model: Model, corpus: Corpus, name: str) -> Computation:
    return question(model, corpus, f"finding-{name}")


def _verdicts(keys: dict[str, str], done: list[str]) -> pd.DataFrame:
    """A line a finding that has been run."""
    told = ["finding", "verdict", *Effect.COLUMNS, "measured", "reason", "claim", "source", "rule"]
    return pd.DataFrame([computing().result(keys[name]) for name in done])[told]


def _card(model: Model, corpus: Corpus, published: Published) -> None:
    st.markdown(f"#### {frame.plain(published.claim)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(published.source, width="content")
        with st.popover("The rule", type="tertiary"):
            st.markdown(frame.plain(published.rule))
        n = min(len(corpus), published.most)
        seconds = max(5, 5 * round(60 * published.minutes * n / published.most / 5))
        key = _question(model, corpus, published.name).key
        if computing().look(key).status != "done":
            st.caption(f"{n} sentences, about {seconds} seconds for the checkpoint en-fr")
    found = measured(model, corpus, f"finding-{published.name}", button="Run")
    if found is not None:
        _verdict(model, published, key, found)


@remembered()
def _picture(key: str, name: str, dark: bool, _table: pd.DataFrame) -> go.Figure:
    """Drawn once for all reruns."""
    return drawn(_table, FINDINGS[name].chart, dark=dark)


def _verdict(model: Model, published: Published, key: str, found: dict[str, Any]) -> None:
    tested = found["verdict"] != "can't be tested here"
    told, picture = st.columns([2, 3], gap="large") if tested else (st.container(), None)
    with told:
        verdicts.badge(found["verdict"])
        if tested:
            verdicts.effect(found)
        st.markdown(frame.plain(found["reason"]))
    if picture is None:
        return
    table = pd.DataFrame(found["table"])
    with told:
        st.caption(f"{found['measured']} sentences. Correction: {found['correction']}.")
        tables.csv("These figures (.csv)", lambda: table, f"{published.name}-{model.name}")
    picture.plotly_chart(
        _picture(key, published.name, bool(st.context.theme.type == "dark"), table),
        theme=None,
        key=f"chart-{published.name}",
        config={"displayModeBar": False},
    )
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
