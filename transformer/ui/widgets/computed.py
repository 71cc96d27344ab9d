"""Show a computation on a page: a button to start it, its progress, and its result."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import evenly_spaced
from transformer.analysis.reports import report
from transformer.jobs import Computation, ComputationStatus
from transformer.jobs.computation import report_computation
from transformer.ui.base import state, visitor
from transformer.ui.services import models
from transformer.ui.services.live_jobs import computation_service
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import frame
from transformer.ui.widgets.callbacks import attempt, show_refusal
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

PREVIEW_SENTENCES = 24
"""Sentences of a preview, which take about a second with the checkpoint en-fr."""
MAX_PREVIEW_CHARACTERS = 200
"""Maximum characters of a sentence and its translation in a preview."""
REFUSAL_NAME = "computation"
"""Name of refused computations for `show_refusal`."""


def computed(
    computation: Computation, *, button: str = "Measure", description: str = ""
) -> dict[str, Any] | None:
    """Return the result of the computation; None until it is done.

    Until then, draw a button to start it, or its progress with a button to cancel it. Results are
    shared by all visitors and must not be changed.

    Args:
        button: label of the button.
        description: what is measured and how long it takes, shown before the start.
    """
    visitor.ensure_id()
    key = computation.key
    status = computation_service().status(key)
    if status.status == "done":
        return _result(key)
    fragment(_status_and_controls, f"computation-{key}", POLL_SECONDS if status.live else None)(
        computation, status.live, button, description
    )
    return None


@cached()
def _result(key: str) -> dict[str, Any]:
    return computation_service().result(key)


def _status_and_controls(
    computation: Computation, live: bool, button: str, description: str
) -> None:
    """Draw progress and buttons; rerun the whole page when the computation starts or ends."""
    visitor_id = visitor.current_id()
    status = computation_service().status(computation.key, visitor_id)
    if status.live != live or status.status == "done":
        state.rerun_page()
    if live:
        progress(status)
        if status.is_requester:
            cancel_button("Cancel", [status.key], visitor_id, f"cancel-{status.key}")
        else:
            st.caption("Another visitor started this measurement; you will see the result too.")
    else:
        if status.status == "failed":
            st.warning(
                frame.plain(frame.as_sentence(f"This could not be measured: {status.reason}"))
            )
        elif description:
            st.info(description)
        st.button(
            "Try again" if status.status == "failed" else button,
            key=f"start-{status.key}",
            type="primary",
            icon=":material/play_arrow:",
            on_click=submit,
            args=(computation,),
        )
    show_refusal(REFUSAL_NAME)


def progress(status: ComputationStatus) -> None:
    if status.status == "waiting":
        earlier = (
            "one measurement is"
            if status.requests_ahead == 1
            else f"{status.requests_ahead} measurements are"
        )
        text = f"Waiting: {earlier} before this one …"
    else:
        text = f"{status.stage.capitalize()}: {100 * status.progress:.0f}% …"
    st.progress(min(max(status.progress, 0.0), 1.0), text=text)


def cancel_button(label: str, keys: list[str], visitor_id: str, key: str) -> None:
    """Draw a button that withdraws this visitor's requests of these computations."""
    frame.callback_button(label, "close", _cancel, keys, visitor_id, key=key)


def _cancel(keys: list[str], visitor_id: str) -> None:
    for key in reversed(keys):  # waiting ones first, so that none of them starts
        attempt(REFUSAL_NAME, partial(computation_service().cancel, key, visitor_id))


def submit(*computations: Computation) -> None:
    """Submit computations until one is refused, in a callback; `show_refusal(REFUSAL_NAME)` shows
    why."""
    requester = {"visitor": visitor.current_id(), "address": visitor.address_hash()}
    for computation in computations:
        if not attempt(
            REFUSAL_NAME, partial(computation_service().submit, computation, **requester)
        ):
            return


def measured(
    model: Model,
    corpus: Corpus,
    report_name: str,
    *,
    button: str = "Measure",
    description: str = "",
) -> dict[str, Any] | None:
    """Return the result of `analysis.reports.report(…, report_name)` as JSON data; None until it
    is done.

    Call `corpus.choose` before. Draws what `computed` draws.
    """
    return computed(
        computation_for(model, corpus, report_name), button=button, description=description
    )


def measured_or_preview(
    model: Model, corpus: Corpus, report_name: str, *, description: str = ""
) -> dict[str, Any] | None:
    """Return the measurement over `corpus`; until it is done, one over a few of its sentences.

    Returns:
        None if the sentences are too long for a preview, or it fails.
    """
    result = measured(model, corpus, report_name, description=description)
    if result is not None:
        return result
    preview_corpus = _preview_corpus(corpus)
    if preview_corpus is None:
        return None
    try:
        preview = _preview(model, preview_corpus, report_name)
    except ValueError:  # the measurement of the whole corpus shows the message
        return None
    _preview_caption(preview_corpus, corpus)
    return preview


def _preview_corpus(corpus: Corpus) -> Corpus | None:
    """Return a few short sentences of `corpus`; None if there are none."""
    short_sentences = tuple(
        sentence
        for sentence in corpus.sentences
        if len(sentence.source) + len(sentence.target) <= MAX_PREVIEW_CHARACTERS
    )
    return (
        evenly_spaced(Corpus(corpus.name, short_sentences), PREVIEW_SENTENCES)
        if short_sentences
        else None
    )


def _preview_caption(preview_corpus: Corpus, corpus: Corpus) -> None:
    """Say that what follows is a preview."""
    if len(preview_corpus) < len(corpus):
        st.caption(
            f"Preview from {len(preview_corpus)} of {len(corpus):,} sentences. "
            "Measure all of them for reliable figures."
        )


@cached("Measuring a few sentences …")
def _preview(model: Model, preview_corpus: Corpus, report_name: str) -> dict[str, Any]:
    return report(model.translator, preview_corpus, report_name).to_dict()


def computation_for(model: Model, corpus: Corpus, report_name: str) -> Computation:
    return report_computation(models.checkpoints()[model.name], model.hash, report_name, corpus)
