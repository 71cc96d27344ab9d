"""All findings for the chosen model and corpus: how many have been run, and a card for each."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings import FINDINGS
from transformer.ui import frame
from transformer.ui.findings import card
from transformer.ui.kit import tables
from transformer.ui.kit.computed import computing
from transformer.ui.kit.corpus import chosen
from transformer.ui.kit.refusals import attempt, refusal
from transformer.ui.models import Model
from transformer.ui.server import visitor


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
            card.show(model, corpus, published)


def _all(model: Model, corpus: Corpus) -> None:
    """How many have been run, a button for the rest, and all verdicts as a file."""
    keys = {name: card.asked(model, corpus, name).key for name in FINDINGS}
    who = visitor.known()
    standings = {name: computing().look(key, who) for name, key in keys.items()}
    mine = [look.key for look in standings.values() if look.live and look.mine]
    left = [name for name, now in standings.items() if now.status != "done" and not now.live]
    done = [name for name, now in standings.items() if now.status == "done"]
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
    refusal("findings")


def _ask(model: Model, corpus: Corpus, names: list[str]) -> None:
    who, where = visitor.known(), visitor.address()
    for name in names:
        what = card.asked(model, corpus, name)
        if not attempt("findings", partial(computing().ask, what, visitor=who, address=where)):
            return


def _cancel(keys: list[str], who: str) -> None:
    for key in reversed(keys):  # those that wait first, so that none of them begins
        computing().cancel(key, who)


def _verdicts(keys: dict[str, str], done: list[str]) -> pd.DataFrame:
    """A line a finding that has been run."""
    names = ["finding", "verdict", *Effect.COLUMNS, "measured", "reason", "claim", "source", "rule"]
    return pd.DataFrame([computing().result(keys[name]) for name in done])[names]
