"""The film of connections on the page of a run: how the strongest edges between heads form."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.figures.connections import connections_data, connections_page
from transformer.jobs import RunInfo
from transformer.jobs.computation import connections_computation
from transformer.jobs.folder import JobFolder
from transformer.run_config import TrainingRun
from transformer.training.connections import available_steps, is_current, why_unavailable
from transformer.ui.widgets import display_names, frame
from transformer.ui.widgets.computed import computed
from transformer.ui.widgets.tables import download
from transformer.ui.widgets.views import component

SECONDS_PER_STEP = 0.5
"""Measured for two layers of four heads on one core."""
DESCRIPTION = """
Circles are heads, squares are feed-forward networks. A line leads from a sender to a receiver that
reads the sender's output. The thicker it is, the more the output of the model depends on it.

**Score** estimates this for every connection from one gradient (edge attribution patching): the
sender's output minus its output for another example, times the gradient at the receiver's input. It
is a linear approximation, also of the layer normalisations in between.

**Effect** measures it for the connections that are drawn (activation patching): the model runs
again, and only this receiver reads the sender's output for the other example. Score and effect can
differ even in sign: see the trained run *Subtract modulo p*.

Both are in nats: how much the logit of the correct token falls, relative to the logit of the other
example's token. The other example has the same length, so a connection that passes on nothing but
positions has no effect.
"""
_connections = component("connections")


def show(info: RunInfo, folder: JobFolder) -> None:
    """Draw the film of the run's connections, a button to compute it, or why there is none."""
    st.header("Connections as they formed")
    with st.expander("How connections are measured"):
        st.markdown(DESCRIPTION)
    if info.live:
        st.caption("The connections between heads can be computed as soon as the run has ended.")
        return
    if reason := why_unavailable(folder):
        st.caption(frame.plain(frame.as_sentence(reason)))
        return
    stored = [step for step in folder.connection_steps() if is_current(folder.connections(step))]
    missing = [step for step in available_steps(folder) if step not in stored]
    if missing and not folder.weight_steps():
        st.caption(
            "Only the final model of this run was kept, so the film has one step. Train a similar "
            "run to see its connections form."
        )
    results: dict[int, dict[str, Any]] = {step: folder.connections(step) for step in stored}
    if missing:
        steps = f"{len(missing)} steps" if len(missing) > 1 else "1 step"
        result = computed(
            connections_computation(folder.path, missing),
            button="Compute connections",
            description=f"Scores every connection between heads at {steps} of this training and "
            "patches the strongest. Takes about "
            f"{max(1, round(len(missing) * SECONDS_PER_STEP))} s.",
        )
        if result is not None:
            results |= {int(step): values for step, values in result["connections"].items()}
    if results:
        _draw(folder, results)


def _draw(folder: JobFolder, results: dict[int, dict[str, Any]]) -> None:
    config = folder.config()
    assert isinstance(config, TrainingRun)
    examples: list[list[str]] = next(
        (result["examples"] for result in results.values() if result.get("examples")), []
    )
    data = connections_data(
        results,
        config.model.n_layers,
        config.model.n_heads,
        examples=examples,
        name=folder.name,
        exact=display_names.is_exact(),
    )
    if examples:
        source, target = examples[0]
        st.caption(frame.plain(f"Measured on held-out examples such as: {source} → {target}"))
    _connections(key=f"connections-{folder.name}", data=data)
    title = f"{config.title}: connections as they formed"
    download(
        "Download the film (.html)",
        lambda: connections_page(data, title).encode(),
        f"{folder.name}-connections.html",
        help="One file that opens without a server.",
    )
