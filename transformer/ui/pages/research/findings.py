"""Published findings on the selected model: verdicts with a picture, and a card with figures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings import FINDINGS, PublishedFinding
from transformer.analysis.findings.saved_findings import SavedFinding, load_findings
from transformer.figures.interval_chart import format_value, measurement_chart
from transformer.jobs import Computation, ComputationStatus
from transformer.jobs.computation import LatestResult
from transformer.measures.naming import file_name
from transformer.ui.base import state, visitor
from transformer.ui.pages.research import Research
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
FIGURES = "findings-figures"


def show(model: Model) -> None:
    shipped = load_findings(models.checkpoints()[model.name], model.hash, FINDINGS)
    corpus = choose(model)
    if corpus is None:
        return
    summary, table, below = st.container(), st.container(), st.container()
    run_all = below if shipped else summary
    computations = {name: finding_computation(model, corpus, name) for name in FINDINGS}
    statuses = _statuses(computations)
    done_names = [name for name, status in statuses.items() if status.status == "done"]
    with run_all:
        _run_controls(model, computations, statuses, done_names)
    live = any(status.live for status in statuses.values())
    with run_all:
        fragment(_watch, "findings-watch", POLL_SECONDS if live else None)(
            computations, done_names, live
        )
    latest = computation_service().latest()
    results = {
        name: _latest_result(latest.get(subject(model, name)), status, shipped.get(name))
        for name, status in statuses.items()
    }
    with summary:
        _summary([result for result in results.values() if result])
    with table.container(key="findings", gap="small"):
        _column_titles()
        st.caption(
            "Click a claim for its rule and numbers. Dot and line: the effect and its 95% "
            "interval. Dashed: the smallest effect that would matter. The claim holds on the "
            "shaded side."
        )
        for name, published in FINDINGS.items():
            _row(published, statuses[name], results[name])
            if state.view(Research).finding == name:
                with st.container(border=True):
                    _card(model, corpus, published, shipped.get(name))
    table.caption(
        "A claim **holds** if the interval lies on the shaded side of the dashed threshold, and "
        "**does not hold for this model** if it lies on the other side. If the interval contains "
        "the threshold, the result "
        "is **inconclusive**; more sentences may decide. The table shows the latest results of "
        "this server, or those shipped with the checkpoint."
    )


def _statuses(computations: Mapping[str, Computation]) -> dict[str, ComputationStatus]:
    visitor_id = visitor.current_id()
    return {
        name: computation_service().status(computation.key, visitor_id)
        for name, computation in computations.items()
    }


def _summary(results: list[FindingResult]) -> None:
    """Draw the number of claims for each verdict, and a toggle for the figures."""
    counts = Counter(result.values["verdict"] for result in results)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for word in verdicts.BADGES:
            if counts[word]:
                with st.container(horizontal=True, gap="small", width="content"):
                    st.markdown(f"**{counts[word]}**", width="content")
                    verdicts.badge(word)
        st.toggle("Show numbers", key=FIGURES)


def _run_controls(
    model: Model,
    computations: Mapping[str, Computation],
    statuses: Mapping[str, ComputationStatus],
    done_names: list[str],
) -> None:
    """Draw a button for all remaining findings, and a download of all verdicts."""
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
        if done_names:
            keys = [computations[name].key for name in done_names]
            tables.csv(
                "All verdicts (.csv)", lambda: _verdicts(keys), file_name("findings", model.name)
            )
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


def _verdicts(keys: list[str]) -> pd.DataFrame:
    """Return one row per finding that has been measured."""
    names = ["finding", "verdict", *Effect.COLUMNS, "measured", "reason", "claim", "source", "rule"]
    return pd.DataFrame([computation_service().result(key) for key in keys])[names]


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
    """Draw one finding: verdict, claim and picture, and the figures if they are switched on."""
    opened = state.view(Research).finding == published.name
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
            if opened or st.session_state.get(FIGURES):
                st.markdown(_figures(result.values))
                st.caption(result.provenance)


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


def _figures(values: Mapping[str, Any]) -> str:
    """Return the effect with its interval and the claim's threshold, or why there is none."""
    if values["value"] is None:
        return frame.plain(values["reason"])
    unit = values["unit"] if values["unit"].startswith("%") else f" {values['unit']}"
    sign = "<" if values["needs"] == "below" else ">"
    return (
        f"**{format_value(values['value'])}{frame.plain(unit)}** ({format_value(values['low'])} to "
        f"{format_value(values['high'])}); the claim needs {frame.plain(sign)} "
        f"{format_value(values['floor'])}. {frame.plain(_capitalize(values['effect']))}."
    )


def _capitalize(words: str) -> str:
    return words[:1].upper() + words[1:]


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
    model: Model, corpus: Corpus, published: PublishedFinding, shipped: SavedFinding | None
) -> None:
    """Draw the finding's rule and its result on the chosen sentences, with a button to run it.

    Args:
        shipped: the checkpoint's result, shown until the finding has run on these sentences.
    """
    st.markdown(f"**Rule.** {frame.plain(display_names.display_text(published.rule))}")
    computation = finding_computation(model, corpus, published.name)
    n = min(len(corpus), published.max_sentences)
    seconds = max(5, 5 * round(60 * published.minutes * n / published.max_sentences / 5))
    if computation_service().status(computation.key).status != "done":
        if shipped:
            _shipped_verdict(shipped)
        st.caption(f"{n} sentences; takes about {seconds} seconds for the checkpoint en-fr")
    values = computed(computation, button="Run")
    if values is not None:
        _measured_verdict(model, published, computation.key, values)


def _shipped_verdict(shipped: SavedFinding) -> None:
    """Draw the shipped verdict and its reason; the chart needs a run."""
    values = shipped.result
    with st.container(horizontal=True, vertical_alignment="center"):
        verdicts.badge(values["verdict"])
        st.caption(
            f"Included with the app: {measured_over(values, shipped.measured_at)}.", width="content"
        )
    if values["value"] is not None:
        verdicts.effect(values)
    st.markdown(frame.plain(display_names.display_text(values["reason"])))


@cached()
def _picture(key: str, name: str, dark: bool, exact: bool, _table: pd.DataFrame) -> go.Figure:
    return measurement_chart(_table, FINDINGS[name].chart, dark=dark)


def _measured_verdict(
    model: Model, published: PublishedFinding, key: str, values: dict[str, Any]
) -> None:
    tested = values["verdict"] != "can't be tested here"
    details, picture = st.columns([2, 3], gap="large") if tested else (st.container(), None)
    with details:
        verdicts.badge(values["verdict"])
        if tested:
            verdicts.effect(values)
        st.markdown(frame.plain(display_names.display_text(values["reason"])))
    if picture is None:
        return
    table = pd.DataFrame(values["table"])
    with details:
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
    if not display_names.is_exact():
        return
    with st.expander("The same from the shell and from Python"):
        _code_examples(str(models.public_path(model.name)), published.name)


def _code_examples(folder: str, name: str) -> None:
    uploaded = state.view().corpus == "upload"
    option = " --corpus yours.tsv" if uploaded else ""
    st.code(f"python -m transformer analyse {folder} --what finding-{name}{option} --json", "bash")
    corpus = 'Corpus.read("yours.tsv")' if uploaded else "corpus_for(folder, translator.vocabulary)"
    st.code(
        f"""from transformer import Translator
from transformer.analysis.corpora import {"Corpus" if uploaded else "corpus_for"}
from transformer.analysis.findings import FINDINGS

folder = {folder!r}
translator = Translator.load(folder)
corpus = {corpus}
finding = FINDINGS[{name!r}].run(translator, corpus)
print(finding.verdict, finding.effect, finding.reason, finding.figures)""",
        "python",
    )
