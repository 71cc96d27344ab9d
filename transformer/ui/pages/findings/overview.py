"""All findings for the selected model: verdicts with a picture, and a card with the figures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings import FINDINGS, Published
from transformer.analysis.findings.beside_checkpoint import KeptFinding, kept
from transformer.figures.interval_chart import measured as drawn
from transformer.figures.interval_chart import text
from transformer.jobs import Computation, ComputationStatus
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.services import models
from transformer.ui.services.live_jobs import computation_service
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.shell import visitor
from transformer.ui.widgets import exact, frame, tables, verdicts
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computation_for, computed, progress
from transformer.ui.widgets.corpus import choose
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

COLUMNS = {"Verdict": 2, "Claim": 6, "Effect": 4}
FIGURES = "findings-figures"


def show(model: Model) -> None:
    frame.lead_text(
        "Published claims about attention heads, tested on this model. Click a claim for its rule "
        "and figures."
    )
    before = kept(models.checkpoints()[model.name], model.hash, FINDINGS)
    summary = st.container()
    with st.expander("Measure again or on other sentences", expanded=_is_asking(before)):
        corpus = choose(model)
        run_all = st.container()
    if corpus is None:
        return
    asked = {name: computation(model, corpus, name) for name in FINDINGS}
    who = visitor.current_id()
    standings = {name: computation_service().status(what.key, who) for name, what in asked.items()}
    done = [name for name, now in standings.items() if now.status == "done"]
    with run_all:
        _all(model, asked, standings, done)
    live = any(now.live for now in standings.values())
    fragment(_watched, "findings-watch", POLL_SECONDS if live else None)(asked, done, live)
    results = {name: _result(model, name, now, before.get(name)) for name, now in standings.items()}
    with summary:
        _summary([one for one in results.values() if one])
    with st.container(key="findings", gap="small"):
        _heads()
        for name, published in FINDINGS.items():
            _row(published, standings[name], results[name])
            if state.page_view().finding == name:
                with st.container(border=True):
                    _card(model, corpus, published, before.get(name))
    st.caption(
        "The dashed line is a threshold, the smallest effect that would matter; the bar is the 95% "
        "interval of the effect. A claim **holds** if the interval lies on the shaded side of the "
        "threshold, and is **refuted** if it lies on the other side. If the interval contains the "
        "threshold, the claim is **not shown**; more sentences may decide. Results are the latest "
        "of this server, or else those shipped with the checkpoint."
    )


def _is_asking(before: Mapping[str, KeptFinding]) -> bool:
    """Whether the visitor has chosen sentences, or nothing is known about this checkpoint."""
    return not before or state.view().corpus != ""


def _summary(found: list[FindingResult]) -> None:
    """How many claims got which verdict, and a switch for the figures."""
    counts = Counter(one.values["verdict"] for one in found)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for word in verdicts.BADGES:
            if counts[word]:
                st.markdown(f"**{counts[word]}**", width="content")
                verdicts.badge(word)
        st.toggle("Show figures", key=FIGURES)


def _all(
    model: Model,
    asked: Mapping[str, Computation],
    standings: Mapping[str, ComputationStatus],
    done: list[str],
) -> None:
    """Draw a button for all findings that are left, and all verdicts as a file."""
    who = visitor.current_id()
    mine = [look.key for look in standings.values() if look.live and look.is_requester]
    left = [name for name, now in standings.items() if now.status != "done" and not now.live]
    minutes = max(1, round(sum(FINDINGS[name].minutes for name in left)))
    with st.container(horizontal=True, vertical_alignment="center"):
        if left:
            st.button(
                "Run all" if len(left) == len(FINDINGS) else f"Run the remaining {len(left)}",
                key="run-all",
                type="primary",
                icon=":material/playlist_play:",
                help=f"Takes about {minutes} minutes on one core for the bundled checkpoint. You "
                "can leave the page meanwhile.",
                on_click=_ask,
                args=([asked[name] for name in left],),
            )
        if len(mine) > 1:
            frame.callback_button("Cancel all", "close", _cancel, mine, who, key="cancel-all")
        if done:
            keys = [asked[name].key for name in done]
            tables.csv(
                "All verdicts (.csv)", lambda: _verdicts(keys), file_name("findings", model.name)
            )
        st.caption(
            f"{len(done)} of {len(FINDINGS)} measured over these sentences.", width="content"
        )
    show_refusal("findings")


def _watched(asked: Mapping[str, Computation], done: list[str], live: bool) -> None:
    """Show the progress of the running measurement; redraw the page when one has ended."""
    who = visitor.current_id()
    now = {name: computation_service().status(what.key, who) for name, what in asked.items()}
    ended = [name for name, one in now.items() if one.status == "done"]
    if ended != done or live != any(one.live for one in now.values()):
        state.rerun_page()
    for name, one in now.items():
        if one.status == "running" and name != state.page_view().finding:  # its card says it
            st.caption(frame.plain(FINDINGS[name].claim))
            progress(one)


def _ask(wanted: list[Computation]) -> None:
    who, where = visitor.current_id(), visitor.address_hash()
    for what in wanted:
        if not attempt(
            "findings", partial(computation_service().submit, what, visitor=who, address=where)
        ):
            return


def _cancel(keys: list[str], who: str) -> None:
    for key in reversed(keys):  # those that wait first, so that none of them begins
        computation_service().cancel(key, who)


def _verdicts(keys: list[str]) -> pd.DataFrame:
    """Return one row per finding that has been measured."""
    names = ["finding", "verdict", *Effect.COLUMNS, "measured", "reason", "claim", "source", "rule"]
    return pd.DataFrame([computation_service().result(key) for key in keys])[names]


def _heads() -> None:
    """Draw the column titles; a phone, where columns are stacked, hides them."""
    with st.container(key="findings-head"):
        for name, column in zip(
            COLUMNS, st.columns(list(COLUMNS.values()), gap="medium"), strict=True
        ):
            column.markdown(f"**{name}**")


@dataclass(frozen=True)
class FindingResult:
    """A result as it is shown.

    Attributes:
        values: as `Finding.to_dict` has it.
        about: when and over which sentences it was measured.
    """

    values: Mapping[str, Any]
    about: str


def _result(
    model: Model, name: str, now: ComputationStatus, before: KeptFinding | None
) -> FindingResult | None:
    """Return the latest result of this server, else the one shipped with the checkpoint."""
    last = computation_service().latest(subject(model, name))
    if now.status == "done" and not (last and last.key == now.key):
        found = computation_service().result(now.key)  # from before the latest one was noted
        return FindingResult(found, measured_over(found))
    if last and last.result:
        return FindingResult(last.result, measured_over(last.result, last.when))
    if before:
        over = measured_over(before.result, before.when)
        return FindingResult(before.result, f"Shipped with the app: {over}")
    return None


def _row(published: Published, now: ComputationStatus, result: FindingResult | None) -> None:
    """Draw one finding: verdict, claim and picture, and the figures if they are wanted."""
    opened = state.page_view().finding == published.name
    with st.container(key=f"finding-{published.name}"):
        verdict, claim, effect = st.columns(list(COLUMNS.values()), gap="medium")
        with claim:
            _claim(published)
        if now.live:
            verdict.caption("waiting …" if now.status == "waiting" else "measuring …")
        elif now.status == "failed":
            verdict.caption("failed; open it for the reason")
        elif result is None:
            verdict.caption("not measured yet")
        if result is None:
            return
        if not now.live and now.status != "failed":
            with verdict:
                verdicts.badge(result.values["verdict"])
        with effect:
            if result.values["value"] is not None:
                verdicts.interval_line_only(result.values)
            if opened or st.session_state.get(FIGURES):
                st.markdown(_figures(result.values))
                st.caption(result.about)


def _claim(published: Published) -> None:
    opened = state.page_view().finding == published.name
    frame.state_button(
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


def subject(model: Model, name: str) -> str:
    """What all questions are about that put this model to the finding, over whatever sentences."""
    return f"finding-{name} {model.hash}"


def computation(model: Model, corpus: Corpus, name: str) -> Computation:
    """What is computed to put this model to the finding.

    What a visitor brought stays between the two: its name and its figures are nobody else's.
    """
    own = state.view().corpus == "upload"
    found = computation_for(model, corpus, f"finding-{name}")
    return found if own else replace(found, subject=subject(model, name))


def measured_over(found: Mapping[str, Any], when: float = 0) -> str:
    """How many sentences of what, and on which day if that is known: seconds since 1970, or 0."""
    many, name = found["measured"], frame.plain(found["corpus"]["name"])
    over = f"{many:,} sentence{'' if many == 1 else 's'} of {name}"
    if not when:
        return over
    at = time.gmtime(when)
    return f"{at.tm_mday} {time.strftime('%b %Y', at)}, {over}"


def _card(model: Model, corpus: Corpus, published: Published, before: KeptFinding | None) -> None:
    """Draw it over the chosen sentences, with a way to run it.

    Args:
        before: what the checkpoint brings; shown until it has been run over these sentences.
    """
    st.markdown(f"**Rule.** {frame.plain(published.rule)}")
    what = computation(model, corpus, published.name)
    n = min(len(corpus), published.most)
    seconds = max(5, 5 * round(60 * published.minutes * n / published.most / 5))
    if computation_service().status(what.key).status != "done":
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
    st.markdown(frame.plain(exact.display_text(found["reason"])))


@cached()
def _picture(key: str, name: str, dark: bool, exactly: bool, _table: pd.DataFrame) -> go.Figure:
    return drawn(_table, FINDINGS[name].chart, dark=dark)


def _verdict(model: Model, published: Published, key: str, found: dict[str, Any]) -> None:
    tested = found["verdict"] != "can't be tested here"
    beside, picture = st.columns([2, 3], gap="large") if tested else (st.container(), None)
    with beside:
        verdicts.badge(found["verdict"])
        if tested:
            verdicts.effect(found)
        st.markdown(frame.plain(exact.display_text(found["reason"])))
    if picture is None:
        return
    table = pd.DataFrame(found["table"])
    with beside:
        st.caption(f"{found['measured']} sentences. Correction: {found['correction']}.")
        tables.csv("Figures (.csv)", lambda: table, file_name(published.name, model.name))
    with picture:
        named = table.map(lambda cell: exact.display_text(cell) if isinstance(cell, str) else cell)
        chart(
            _picture(key, published.name, dark(), exact.is_on(), named), f"chart-{published.name}"
        )
    if not exact.is_on():
        return
    with st.expander("The same from the shell and from Python"):
        _programs(str(models.public_path(model.name)), published.name)


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
