"""All findings for the chosen model as a table, and one button to run them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings import FINDINGS, Published
from transformer.analysis.findings.beside_checkpoint import KeptFinding, kept
from transformer.figures.interval_chart import text
from transformer.figures.naming import file_name
from transformer.jobs import Computation, Standing
from transformer.ui import frame, models, state
from transformer.ui.findings import card
from transformer.ui.kit import tables, verdicts
from transformer.ui.kit.callbacks import attempt, refusal
from transformer.ui.kit.computed import progress
from transformer.ui.kit.corpus import chosen
from transformer.ui.kit.fragment import EVERY, fragment
from transformer.ui.live_jobs import computing
from transformer.ui.models import Model
from transformer.ui.server import visitor

COLUMNS = {"What was claimed": 6, "Here": 2, "Measured": 4, "When, and over what": 3}


def show(model: Model) -> None:
    frame.lead(
        "What papers say about heads was measured on *their* models. Does it hold for this one? "
        "**Run all**, then open a row for its rule and its figures: a finding that fails tells as "
        "much as one that holds."
    )
    corpus = chosen(model)
    if corpus is None:
        return
    asked = {name: card.asked(model, corpus, name) for name in FINDINGS}
    who = visitor.known()
    standings = {name: computing().look(what.key, who) for name, what in asked.items()}
    done = [name for name, now in standings.items() if now.status == "done"]
    _all(model, asked, standings, done)
    live = any(now.live for now in standings.values())
    fragment(_watched, "findings-watch", EVERY if live else None)(asked, done, live)
    before = kept(models.checkpoints()[model.name], model.hash, FINDINGS)
    with st.container(key="findings", gap="small"):
        _heads()
        for name, published in FINDINGS.items():
            _row(model, published, standings[name], before.get(name))
            if state.here().finding == name:
                with st.container(border=True):
                    card.show(model, corpus, published, before.get(name))
    st.caption(
        "A claim **holds** if all of the effect's 95% interval lies on its side of a floor, the "
        "smallest effect that would matter. It is **refuted** if all of it lies on the other "
        "side. While the floor is inside, nothing is **shown**, and more sentences may tell. "
        "Figures are those that were measured last on this server; until then, those that came "
        "with the checkpoint, as did what early saves of its training scored."
    )


def _all(
    model: Model,
    asked: Mapping[str, Computation],
    standings: Mapping[str, Standing],
    done: list[str],
) -> None:
    """A button for all that are left, and all verdicts as a file."""
    who = visitor.known()
    mine = [look.key for look in standings.values() if look.live and look.mine]
    left = [name for name, now in standings.items() if now.status != "done" and not now.live]
    minutes = max(1, round(sum(FINDINGS[name].minutes for name in left)))
    with st.container(horizontal=True, vertical_alignment="center"):
        if left:
            st.button(
                "Run all" if len(left) == len(FINDINGS) else f"Run the other {len(left)}",
                key="run-all",
                type="primary",
                icon=":material/playlist_play:",
                help=f"About {minutes} min of one core for the checkpoint that "
                "comes with this app; you may leave the page meanwhile.",
                on_click=_ask,
                args=([asked[name] for name in left],),
            )
        if len(mine) > 1:
            frame.press("Cancel all", "close", _cancel, mine, who, key="cancel-all")
        if done:
            keys = [asked[name].key for name in done]
            tables.csv(
                "All verdicts (.csv)", lambda: _verdicts(keys), file_name("findings", model.name)
            )
        st.caption(
            f"{len(done)} of {len(FINDINGS)} have been run over these sentences.", width="content"
        )
    refusal("findings")


def _watched(asked: Mapping[str, Computation], done: list[str], live: bool) -> None:
    """The one that is being measured, and the page anew whenever one has been."""
    who = visitor.known()
    now = {name: computing().look(what.key, who) for name, what in asked.items()}
    ended = [name for name, one in now.items() if one.status == "done"]
    if ended != done or live != any(one.live for one in now.values()):
        state.start_anew()
    for name, one in now.items():
        if one.status == "running" and name != state.here().finding:  # its card says it
            st.caption(frame.plain(FINDINGS[name].claim))
            progress(one)


def _ask(wanted: list[Computation]) -> None:
    who, where = visitor.known(), visitor.address()
    for what in wanted:
        if not attempt("findings", partial(computing().ask, what, visitor=who, address=where)):
            return


def _cancel(keys: list[str], who: str) -> None:
    for key in reversed(keys):  # those that wait first, so that none of them begins
        computing().cancel(key, who)


def _verdicts(keys: list[str]) -> pd.DataFrame:
    """A line a finding that has been run."""
    names = ["finding", "verdict", *Effect.COLUMNS, "measured", "reason", "claim", "source", "rule"]
    return pd.DataFrame([computing().result(key) for key in keys])[names]


def _heads() -> None:
    """What the columns hold; on a phone they stand one below the other, and need no names."""
    with st.container(key="findings-head"):
        for name, column in zip(
            COLUMNS, st.columns(list(COLUMNS.values()), gap="medium"), strict=True
        ):
            column.markdown(f"**{name}**")


def _row(model: Model, published: Published, now: Standing, before: KeptFinding | None) -> None:
    """The row; its claim opens the card, or closes it.

    Args:
        before: what the checkpoint brings; shown while nothing was measured on this server.
    """
    last = computing().last(card.subject(model, published.name))
    found = last.result if last else None
    if now.status == "done" and not (last and last.key == now.key):
        found, last = computing().result(now.key), None  # kept from before anything was noted
    brought = before if found is None else None
    if brought:
        found = brought.result
    with st.container(key=f"finding-{published.name}"):
        claim, verdict, figures, when = st.columns(list(COLUMNS.values()), gap="medium")
        with claim:
            _claim(published)
        if now.live:
            verdict.caption("in line …" if now.status == "waiting" else "being measured …")
        elif now.status == "failed":
            verdict.caption("could not be measured: open it for the reason")
        elif found is None:
            verdict.caption("not yet run here")
        if found is None:
            return
        if not now.live and now.status != "failed":
            with verdict:
                verdicts.badge(found["verdict"])
        figures.markdown(_figures(found))
        noted = last or brought
        over = card.measured_over(found, noted.when if noted else 0)
        when.caption(f"Came with the app: {over}" if brought else over)


def _claim(published: Published) -> None:
    opened = state.here().finding == published.name
    frame.turn(
        frame.plain(published.claim),
        "expand_more" if opened else "chevron_right",
        {"finding": "" if opened else published.name},
        key=f"open-{published.name}",
        type="tertiary",
    )
    st.caption(published.source)


def _figures(found: Mapping[str, Any]) -> str:
    """The effect with its interval, and what the claim needs; or why there is none."""
    if found["value"] is None:
        return frame.plain(found["reason"])
    unit = found["unit"] if found["unit"].startswith("%") else f" {found['unit']}"
    needs = "<" if found["needs"] == "below" else ">"
    return (
        f"**{text(found['value'])}{frame.plain(unit)}** "
        f"({text(found['low'])} to {text(found['high'])}); the claim needs "
        f"{frame.plain(needs)} {text(found['floor'])}. {frame.plain(_capital(found['effect']))}."
    )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
