"""The curves of runs, the film of their heads as it grew, and Adam's moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.figures.curves import QUANTITIES, curves
from transformer.figures.film import film_data
from transformer.figures.moments import moments_data
from transformer.jobs.folder import JobFolder
from transformer.measures.film_steps import film_steps
from transformer.measures.role_rules import Links
from transformer.run_config import TaskRun
from transformer.text.tasks import TASKS, split
from transformer.training.data import DEFAULT_TASK_SIZES, task_sizes
from transformer.training.run import RunError
from transformer.ui.services.memory_cache import cached
from transformer.ui.widgets import exact
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.views import component

FIRST = ("loss", "sequence_accuracy")
"""What the two charts show until something else is chosen."""
HEIGHT = 200
"""Pixels of a chart."""
_LABELS = {
    "loss": "Loss",
    "smoothed_loss": "Loss with label smoothing",
    "perplexity": "Perplexity",
    "token_accuracy": "Tokens right",
    "sequence_accuracy": "Sequences right",
    "bleu": "BLEU",
    "aer": "Alignment error",
    "learning_rate": "Learning rate",
    "gradient_norm": "Gradient norm",
    "tokens_per_second": "Tokens per second",
}
WHILE_LIVE = 12
"""Steps of the film while the run learns; once it has ended the film has all of them."""
_film, _moments = component("film"), component("moments")


def curve(runs: Mapping[str, list[dict[str, Any]]], key: str, place: int = 0) -> None:
    """Draw one quantity of the runs over their steps.

    Args:
        place: of the chart on the page, 0 or 1, each with a quantity of its own.
    """
    what = st.selectbox(
        f"Quantity of chart {place + 1}",
        list(QUANTITIES),
        index=list(QUANTITIES).index(_firsts(runs)[place]),
        format_func=lambda name: _LABELS.get(name, name),
        label_visibility="collapsed",
        key=f"curve-{place}-{key}",
    )
    figure = curves(runs, what, dark=dark())
    figure.update_layout(height=HEIGHT, margin={"t": 8, "b": 36})
    chart(figure, f"chart-{place}-{key}")


def _firsts(runs: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """The quantities that the charts show first: `FIRST`, or those that the runs have, as early
    saves have no lines of single steps."""
    names = {name for lines in runs.values() for line in lines for name in line}
    if "loss" in names or not names:
        return list(FIRST)
    there = [name for name, q in QUANTITIES.items() if names & {*q.training, q.valid}]
    wanted = [*(name for name in FIRST if name in there), *there, *FIRST]
    return list(dict.fromkeys(wanted))[: len(FIRST)]


def heads(
    folder: JobFolder, lines: list[dict[str, Any]], *, live: bool, play: bool = False
) -> None:
    """Show the film of the heads at its last picture.

    Args:
        live: whether the run still learns; the film then has fewer pictures and follows the run.
        play: whether the film starts from its first picture by itself.
    """
    steps = folder.snapshots()
    if not steps:
        st.caption("The first picture of the heads appears before the first training step.")
        return
    if live:
        steps = sorted({*film_steps(steps, WHILE_LIVE - 1), steps[-1]})
    notes = {line["step"]: f"loss {line['loss']:.2f}" for line in lines if "loss" in line}
    noted = tuple((step, notes.get(step, "")) for step in steps)
    _film(key=f"film-{folder.name}", data=_data(str(folder.path), noted, live, play, exact.is_on()))


@cached()
def _data(
    path: str, steps: tuple[tuple[int, str], ...], live: bool, play: bool, exactly: bool
) -> bytes:
    """The film of these steps with their notes, made once for all sessions."""
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
        exact=exactly,
    )


def moments(folder: JobFolder) -> None:
    """Show the last Adam update of one matrix."""
    st.header("How one matrix changes")
    data = moments_data(folder.inspect())
    _moments(key=f"moments-{folder.name}", data=data)


CHOSEN_PROBES = {"french": (400, 11)}
"""By task, the number of examples and the seed from which the app chooses a run's probes."""


def probe_links(folder: JobFolder, labels: Sequence[Mapping[str, Sequence[str]]]) -> list[Links]:
    """Return the alignment of each probe, empty where the task defines none.

    Source and target positions count tokens; in our tasks a token is a symbol or a word.
    """
    try:
        config = folder.config()
    except RunError:
        return []
    if not isinstance(config, TaskRun) or config.task not in TASKS:
        return []
    options = tuple(sorted(config.options.items()))
    found = []
    for label in labels:
        source, target = (
            " ".join(token.removeprefix("▁") for token in label[side][:-1])
            for side in ("src", "predicted")
        )
        known = _chosen_links(config.task).get((source, target))
        if known is None and not (config.probes and config.task in CHOSEN_PROBES):
            known = _held_out_links(config.task, options, config.training.seed).get(
                (source, target)
            )
        found.append(known or ())
    return found


@lru_cache(maxsize=8)
def _chosen_links(task: str) -> Mapping[tuple[str, str], Links]:
    count, seed = CHOSEN_PROBES.get(task, (0, 0))
    examples = TASKS[task].pairs(count, seed) if count else []
    return {(one.src, one.tgt): one.alignment or () for one in examples}


@lru_cache(maxsize=32)
def _held_out_links(
    task: str, options: tuple[tuple[str, int], ...], seed: int
) -> Mapping[tuple[str, str], Links]:
    """Alignments of the held-out examples; a run draws them from its options and seed."""
    chosen = dict(options)
    own = {name: value for name, value in chosen.items() if name not in DEFAULT_TASK_SIZES}
    try:
        n_train, n_valid = task_sizes(TASKS[task], chosen)
        _, examples = split(TASKS[task], n_train, n_valid, seed, **own)
    except ValueError:  # a config of another version
        return {}
    return {(one.src, one.tgt): one.alignment or () for one in examples}
