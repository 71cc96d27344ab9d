"""Training curves, the film of a run's heads, and Adam's moments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.figures.curves import QUANTITIES, curves
from transformer.figures.film import film_data
from transformer.figures.moments import moments_data
from transformer.jobs.folder import JobFolder
from transformer.measures.film_steps import film_steps
from transformer.ui.pages.training.probes import probe_links
from transformer.ui.services.memory_cache import cached
from transformer.ui.widgets import display_names, frame
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.views import component

DEFAULT_QUANTITIES = ("loss", "sequence_accuracy")
"""Quantities that the two charts show by default."""
CHART_HEIGHT = 200
"""Height of a chart in pixels."""
_LABELS = {
    "loss": "Loss",
    "smoothed_loss": "Loss with label smoothing",
    "perplexity": "Perplexity",
    "token_accuracy": "Token accuracy",
    "sequence_accuracy": "Sequence accuracy",
    "bleu": "BLEU",
    "aer": "Alignment error rate",
    "previous_token": "Previous-token score",
    "aligned": "Alignment (induction) score",
    "just_read": "Matching score (token just read)",
    "learning_rate": "Learning rate",
    "gradient_norm": "Gradient norm",
    "tokens_per_second": "Tokens per second",
}
LIVE_FRAMES = 12
"""Number of frames while the run trains; afterwards the film has all of them."""
_film, _moments = component("film"), component("moments")


def curve(runs: Mapping[str, list[dict[str, Any]]], key: str, index: int = 0) -> None:
    """Draw one quantity of the runs over their steps.

    Args:
        index: of the chart on the page, 0 or 1; each has its own quantity.
    """
    quantity = st.selectbox(
        f"Quantity of chart {index + 1}",
        list(QUANTITIES),
        index=list(QUANTITIES).index(_initial_quantities(runs)[index]),
        format_func=lambda name: _LABELS.get(name, name),
        label_visibility="collapsed",
        key=f"curve-{index}-{key}",
    )
    figure = curves(runs, quantity, dark=dark())
    figure.update_layout(height=CHART_HEIGHT, margin={"t": 8, "b": 36})
    figure.update_yaxes(title_font_size=12)  # longer titles are cut off at this height
    chart(figure, f"chart-{index}-{key}")


def _initial_quantities(runs: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """Return the initial quantities: `DEFAULT_QUANTITIES`, or others if the runs lack these, as
    recorded trainings of which only evaluations are stored."""
    names = {name for lines in runs.values() for line in lines for name in line}
    if "loss" in names or not names:
        return list(DEFAULT_QUANTITIES)
    available = [name for name, q in QUANTITIES.items() if names & {*q.training, q.valid}]
    candidates = [
        *(name for name in DEFAULT_QUANTITIES if name in available),
        *available,
        *DEFAULT_QUANTITIES,
    ]
    return list(dict.fromkeys(candidates))[: len(DEFAULT_QUANTITIES)]


def heads(
    folder: JobFolder, lines: list[dict[str, Any]], *, live: bool, autoplay: bool = False
) -> None:
    """Show the film of the heads at its last frame.

    Args:
        live: whether the run still trains; the film then has fewer frames and follows the run.
        autoplay: whether the film plays from its first frame automatically.
    """
    steps = folder.snapshots()
    if not steps:
        st.caption(
            "This run has no film of its heads; **Explore its heads** shows them as they are now."
            if folder.status() == "finished"
            else "The first picture of the heads appears before the first training step."
        )
        return
    if live:
        steps = sorted({*film_steps(steps, LIVE_FRAMES - 1), steps[-1]})
    notes = {line["step"]: f"loss {line['loss']:.2f}" for line in lines if "loss" in line}
    annotated_steps = tuple((step, notes.get(step, "")) for step in steps)
    _film(
        key=f"film-{folder.name}",
        data=_film_data(
            str(folder.path), annotated_steps, live, autoplay, display_names.is_exact()
        ),
    )


@cached()
def _film_data(
    path: str, steps: tuple[tuple[int, str], ...], live: bool, play: bool, exact: bool
) -> bytes:
    """Return the film of these steps with their captions, shared by all sessions."""
    folder = JobFolder(Path(path))
    frames = {step: folder.snapshot(step) for step, _ in steps}
    labels = folder.labels()
    return film_data(
        frames,
        labels,
        notes=dict(steps),
        links=probe_links(folder, labels),
        ended=not live,
        play=play,
        name="" if play else folder.name,
        exact=exact,
    )


def moments(folder: JobFolder, *, live: bool) -> None:
    """Show the last Adam update of one matrix, unless a finished run stored none."""
    update = folder.inspect()
    if not update and not live:
        return
    st.header("How one matrix changes")
    try:
        data = moments_data(update)
    except ValueError as error:  # inspect.json was edited
        st.warning(frame.plain(str(error)))
        return
    _moments(key=f"moments-{folder.name}", data=data)
