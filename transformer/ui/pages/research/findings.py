"""Published findings on the selected model: verdicts with a picture, and a card with figures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.evidence.verdicts import Effect, VerdictWord
from transformer.analysis.findings import FINDINGS, PublishedFinding
from transformer.analysis.findings.saved_findings import SavedFinding, load_findings
from transformer.figures.interval_chart import measurement_chart
from transformer.jobs import Computation, ComputationStatus
from transformer.jobs.computation import LatestResult
from transformer.measures.naming import file_name
from transformer.ui.base import state, visitor
from transformer.ui.pages.research import Research, experiment
from transformer.ui.pages.research.corpus import choose
from transformer.ui.services import models
from transformer.ui.services.live_jobs import computation_service
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame, tables, verdicts
from transformer.ui.widgets.callbacks import show_refusal
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import (
    REFUSAL_NAME,
    cancel_button,
    computation_for,
    computed,
    progress,
    submit,
)
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

COLUMNS = {"Verdict": 2, "Claim": 6, "Effect": 4}
CAPTION = (
    "Open a claim for its rule and numbers. Dot and line: the effect and its 95% interval. "
    "Dashed: the smallest effect that would matter. A claim **holds** if the interval lies on the "
    "shaded side of it, and **does not hold for this model** if it lies on the other side. If the "
    "interval contains it, the result is **inconclusive**; more sentences may decide. The latest "
    "results of this server are shown, or those shipped with the checkpoint."
)
TABLE_COLUMNS = (
    "finding", "verdict", *Effect.COLUMNS, "measured", "reason", "claim", "source", "rule",
)  # fmt: skip


def show(model: Model) -> None:
    shipped = load_findings(models.checkpoints()[model.name], model.hash, FINDINGS)
    above, result, below = st.container(), st.container(), st.container()
    corpus = choose(model)
    if corpus is None:
        return
    computations = {name: finding_computation(model, corpus, name) for name in FINDINGS}
    statuses = _statuses(computations)
    done_names = [name for name, status in statuses.items() if status.status == "done"]
    latest = computation_service().latest()
    results = {
        name: _latest_result(latest.get(subject(model, name)), status, shipped.get(name))
        for name, status in statuses.items()
    }
    known = {name: result for name, result in results.items() if result}
    live = any(status.live for status in statuses.values())
    with below if shipped else above:
        _run_controls(computations, statuses, done_names)
        fragment(_watch, "findings-watch", POLL_SECONDS if live else None)(
            computations, done_names, live
        )
    with result:
        experiment.show(
            experiment.Result(
                "All verdicts",
                _sentence(known.values()),
                lambda: _draw_rows(model, corpus, statuses, results),
                CAPTION,
                _table(known),
                file_name("findings", model.name),
                experiment.report_program(model, corpus, "findings"),
            )
        )


def _statuses(computations: Mapping[str, Computation]) -> dict[str, ComputationStatus]:
    visitor_id = visitor.current_id()
    return {
        name: computation_service().status(computation.key, visitor_id)
        for name, computation in computations.items()
    }


def _sentence(results: Collection[FindingResult]) -> str:
    """Return the number of claims for each verdict."""
    counts: Counter[VerdictWord] = Counter(result.values["verdict"] for result in results)
    untestable = counts["can't be tested here"]
    return (
        f"**{counts['holds']}** of {len(FINDINGS)} published claims hold for this model, "
        f"**{counts['does not hold here']}** do not, {counts['inconclusive']} are inconclusive, "
        f"{untestable} cannot be tested here, and "
        f"{len(FINDINGS) - len(results)} have not been measured."
    )


def _table(results: Mapping[str, FindingResult]) -> pd.DataFrame:
    """Return a row for each finding with a result."""
    rows = [
        {**FINDINGS[name].about(), **result.values, "measured over": result.provenance}
        for name, result in results.items()
    ]
    return pd.DataFrame(rows, columns=[*TABLE_COLUMNS, "measured over"])


def _draw_rows(
    model: Model,
    corpus: Corpus,
    statuses: Mapping[str, ComputationStatus],
    results: Mapping[str, FindingResult | None],
) -> None:
    """Draw each claim with its verdict and effect, and the card of the open one."""
    with st.container(key="findings", gap="small"):
        _column_titles()
        for name, published in FINDINGS.items():
            _row(published, statuses[name], results[name])
            if state.view(Research).finding == name:
                with st.container(border=True):
                    _card(model, corpus, published, results[name])


def _run_controls(
    computations: Mapping[str, Computation],
    statuses: Mapping[str, ComputationStatus],
    done_names: list[str],
) -> None:
    """Draw a button for all remaining findings, and how many have been measured."""
    visitor_id = visitor.current_id()
    own_keys = [status.key for status in statuses.values() if status.live and status.is_requester]
    remaining = [
        name for name, status in statuses.items() if status.status != "done" and not status.live
    ]
    minutes = max(1, round(sum(FINDINGS[name].minutes for name in remaining)))
    with st.container(horizontal=True, vertical_alignment="center"):
        if remaining:
            st.button(
                "Run all"
                if len(remaining) == len(FINDINGS)
                else f"Run the remaining {len(remaining)}",
                key="run-all",
                type="primary",
                icon=":material/playlist_play:",
                help=f"Takes about {minutes} minutes on one core for the bundled checkpoint. You "
                "can leave the page meanwhile.",
                on_click=submit,
                args=[computations[name] for name in remaining],
            )
        if len(own_keys) > 1:
            cancel_button("Cancel all", own_keys, visitor_id, "cancel-all")
        st.caption(
            f"{len(done_names)} of {len(FINDINGS)} measured over these sentences.", width="content"
        )
    show_refusal(REFUSAL_NAME)


def _watch(computations: Mapping[str, Computation], done_names: list[str], live: bool) -> None:
    """Show the progress of the running measurement; rerun the page when it has ended."""
    statuses = _statuses(computations)
    finished = [name for name, status in statuses.items() if status.status == "done"]
    if finished != done_names or live != any(status.live for status in statuses.values()):
        state.rerun_page()
    for name, status in statuses.items():
        # Its card shows the progress.
        if status.status == "running" and name != state.view(Research).finding:
            st.caption(frame.plain(FINDINGS[name].claim))
            progress(status)


def _column_titles() -> None:
    """Draw the column titles; a phone, where columns are stacked, hides them."""
    with st.container(key="findings-head"):
        for name, column in zip(
            COLUMNS, st.columns(list(COLUMNS.values()), gap="medium"), strict=True
        ):
            column.markdown(f"**{name}**")


@dataclass(frozen=True)
class FindingResult:
    """A finding's result for display.

    Attributes:
        values: as returned by `Finding.to_dict`.
        provenance: when and over which sentences it was measured.
    """

    values: Mapping[str, Any]
    provenance: str


def _latest_result(
    latest: LatestResult | None, status: ComputationStatus, shipped: SavedFinding | None
) -> FindingResult | None:
    """Return the result on these sentences, else the latest one of this server, else the one
    shipped with the checkpoint."""
    if status.status == "done" and not (latest and latest.key == status.key):
        values = computation_service().result(status.key)
        return FindingResult(values, measured_over(values))
    if latest:
        values = computation_service().result(latest.key)
        return FindingResult(values, measured_over(values, latest.measured_at))
    if shipped:
        measured = measured_over(shipped.result, shipped.measured_at)
        return FindingResult(shipped.result, f"Included with the app: {measured}")
    return None


def _row(
    published: PublishedFinding, status: ComputationStatus, result: FindingResult | None
) -> None:
    """Draw one finding: verdict, claim and effect."""
    with st.container(key=f"finding-{published.name}"):
        verdict, claim, effect = st.columns(list(COLUMNS.values()), gap="medium")
        with claim:
            _claim(published)
        if status.live:
            verdict.caption("waiting …" if status.status == "waiting" else "measuring …")
        elif status.status == "failed":
            verdict.caption("failed; click the claim for the reason")
        elif result is None:
            verdict.caption("not measured yet")
        if result is None:
            return
        if not status.live and status.status != "failed":
            with verdict:
                verdicts.badge(result.values["verdict"])
        with effect:
            if result.values["value"] is not None:
                verdicts.interval_line_only(result.values)


def _claim(published: PublishedFinding) -> None:
    opened = state.view(Research).finding == published.name
    frame.state_button(
        frame.plain(published.claim),
        "expand_more" if opened else "chevron_right",
        {"finding": "" if opened else published.name},
        key=f"open-{published.name}",
        type="tertiary",
    )
    st.caption(published.source)


def subject(model: Model, name: str) -> str:
    """Return the key under which the latest result of this finding and model is stored."""
    return f"finding-{name} {model.hash}"


def finding_computation(model: Model, corpus: Corpus, name: str) -> Computation:
    """Return the computation that tests the finding on this model.

    A visitor's own sentences get no shared subject, so nobody else sees their name or figures.
    """
    is_upload = state.view().corpus == "upload"
    computation = computation_for(model, corpus, f"finding-{name}")
    return computation if is_upload else replace(computation, subject=subject(model, name))


def measured_over(values: Mapping[str, Any], measured_at: float = 0) -> str:
    """Return the number of sentences and the corpus, after the date of `measured_at` (a Unix time)
    unless it is 0."""
    count, name = values["measured"], frame.plain(values["corpus"]["name"])
    sentences = f"{count:,} sentence{'' if count == 1 else 's'} ({name})"
    if not measured_at:
        return sentences
    date = time.gmtime(measured_at)
    return f"{date.tm_mday} {time.strftime('%b %Y', date)}, {sentences}"


def _card(
    model: Model, corpus: Corpus, published: PublishedFinding, known: FindingResult | None
) -> None:
    """Draw the finding's rule and its result on the chosen sentences, with a button to run it.

    Args:
        known: the result to show until the finding has run on these sentences.
    """
    st.markdown(f"**Rule.** {frame.plain(display_names.display_text(published.rule))}")
    computation = finding_computation(model, corpus, published.name)
    n = min(len(corpus), published.max_sentences)
    seconds = max(5, 5 * round(60 * published.minutes * n / published.max_sentences / 5))
    if computation_service().status(computation.key).status != "done":
        if known:
            _verdict(known.values)
            st.caption(known.provenance)
        st.caption(f"{n} sentences; takes about {seconds} seconds for the checkpoint en-fr")
    values = computed(computation, button="Run")
    if values is not None:
        _measured_verdict(model, published, computation.key, values)


def _verdict(values: Mapping[str, Any]) -> None:
    """Draw the verdict with its effect and reason."""
    verdicts.badge(values["verdict"])
    if values["value"] is not None:
        verdicts.effect(values)
    st.markdown(frame.plain(display_names.display_text(values["reason"])))


def _measured_verdict(
    model: Model, published: PublishedFinding, key: str, values: dict[str, Any]
) -> None:
    """Draw the verdict with the figures from which it follows."""
    if values["verdict"] == "can't be tested here":
        _verdict(values)
        return
    details, picture = st.columns([2, 3], gap="large")
    table = pd.DataFrame(values["table"])
    with details:
        _verdict(values)
        st.caption(f"{values['measured']} sentences. Correction: {values['correction']}.")
        tables.csv("Figures (.csv)", lambda: table, file_name(published.name, model.name))
    with picture:
        named = table.map(
            lambda cell: display_names.display_text(cell) if isinstance(cell, str) else cell
        )
        chart(
            _picture(key, published.name, dark(), display_names.is_exact(), named),
            f"chart-{published.name}",
        )


@cached()
def _picture(key: str, name: str, dark: bool, exact: bool, _table: pd.DataFrame) -> go.Figure:
    return measurement_chart(_table, FINDINGS[name].chart, dark=dark)
