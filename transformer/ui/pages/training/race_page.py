"""One race: the status of its runs, their curves, the table of results, and its verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from transformer.analysis.evidence.verdicts import MIN_SEEDS, RULE, Verdict
from transformer.figures.race_curves import accuracy_by_distance, race_curves
from transformer.jobs import Jobs
from transformer.jobs.race_runs import (
    Floats,
    RaceRun,
    distance_accuracies,
    end_race,
    race_runs,
    standings,
    track,
)
from transformer.training.races import Race, race_named
from transformer.ui.base import state
from transformer.ui.services import live_jobs
from transformer.ui.widgets import frame, tables, verdicts
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.fragment import fragment
from transformer.ui.widgets.tables import download

POLL_SECONDS = 2.0
"""Seconds between two updates of a race in progress."""
CURVES = {
    "loss": "Training loss",
    "valid_loss": "Validation loss",
    "accuracy": "Sequence accuracy",
}
STEPS_PER_POINT = 10
"""Steps whose mean training loss is one point of a curve."""


def show(jobs: Jobs, owner: str, race_id: str) -> None:
    """Draw one race: controls, curves, table and verdicts. The page's frame shows a ValueError."""
    frame.page_link("pages/train.py", "← All runs and races", run="", race="")
    runs = _runs(jobs, race_id)
    if not runs:
        st.warning(f"There is no race {frame.plain(repr(race_id))}; it may have been deleted.")
        return
    race = race_named(runs[0].race.name)
    st.header(f"{race.title}: a race")
    st.markdown(f"**{race.question}**")
    with st.container(horizontal=True, vertical_alignment="center", key="race-controls"):
        st.segmented_control(
            "Curves", list(CURVES), format_func=CURVES.__getitem__, default="loss",
            required=True, key="race-shown", label_visibility="collapsed", width="content",
        )  # fmt: skip
        _controls(jobs, runs, owner)
    live = _is_live(runs)
    fragment(_live_part, "race-watched", POLL_SECONDS if live else None)(jobs, race, race_id, live)
    _run_link(runs)


def _runs(jobs: Jobs, race_id: str) -> list[RaceRun]:
    """Return the race's runs, cached for a second; read again if the race is newer than that."""
    runs = race_runs(jobs, race_id, live_jobs.recent_runs(jobs))
    return runs or race_runs(jobs, race_id)


def _is_live(runs: list[RaceRun]) -> bool:
    return any(run.info.live for run in runs)


def _controls(jobs: Jobs, runs: list[RaceRun], owner: str) -> None:
    if runs[0].info.requester != owner:
        st.caption(
            "Someone else started this race, with some of your runs. Each of your runs has its own "
            "page, where you can control it."
            if any(run.info.held_by(owner) for run in runs)
            else "Someone else's race. Only its owner can control it.",
            width="content",
        )
        return
    if any(not run.info.held_by(owner) for run in runs):
        st.caption(
            "You started this race. Its runs belong to the students of your class.", width="content"
        )
    race_id = runs[0].race.id
    if _is_live(runs):
        frame.callback_button(
            "Stop the whole race", "stop", _stop_or_delete, jobs, race_id, owner, False
        )
    with st.popover("Delete"):
        st.write(f"This deletes all {len(runs)} runs of this race permanently.")
        st.button("Delete the race", on_click=_stop_or_delete, args=(jobs, race_id, owner, True))


def _stop_or_delete(jobs: Jobs, race_id: str, owner: str, delete: bool) -> None:
    end_race(jobs, race_id, owner, delete=delete)
    if delete:
        state.change(race="")
    live_jobs.recent_runs.clear()


def _live_part(jobs: Jobs, race: Race, race_id: str, live: bool) -> None:
    """Draw what changes during a race; rerun the whole page when the race ends."""
    runs = _runs(jobs, race_id)
    if not runs or _is_live(runs) != live:
        state.rerun_page()
    shares = [1.0 if not run.info.live else run.info.progress or 0.0 for run in runs]
    if live:
        st.progress(sum(shares) / len(shares))
        if startup_error := jobs.startup_error():
            st.error(frame.plain(frame.as_sentence(startup_error)))
    _charts(jobs, race, runs)
    st.write(race.look_for)
    if all(run.info.status == "finished" for run in runs):
        st.caption(f"All {len(runs)} runs are finished.")
    else:
        st.html(grid(race, runs))
    if race.name == "layers":
        show_distances(jobs, race, runs)
    table, results = standings(jobs, runs)
    st.html(figures(table, runs))
    _verdicts(results, race, runs)
    download(
        "The table (.csv)",
        lambda: table.to_csv(),
        f"{race_id}.csv",
    )


def _charts(jobs: Jobs, race: Race, runs: list[RaceRun]) -> None:
    """Draw one figure for each group, with a common scale."""
    measure = str(st.session_state.get("race-shown") or "loss")
    curves: dict[str, list[Any]] = {entry: [] for entry in race.entries}
    for run in runs:
        if run.race.entry in curves:
            metrics = track(jobs, run)
            curve = _smooth(metrics.steps, metrics.loss) if measure == "loss" else None
            curves[run.race.entry].append(
                curve or (metrics.evaluation_steps, getattr(metrics, measure))
            )
    # The first steps, far above all others, may be cut off.
    later = [y[x >= 0.05 * runs[0].info.steps] for seeds in curves.values() for x, y in seeds]
    greatest = [part.max() for part in later if len(part)]
    unit = "" if measure == "accuracy" else ", nats per token"
    for column, (group, entries) in zip(
        st.columns(len(race.groups)), race.groups.items(), strict=True
    ):
        with column:
            if group:
                st.markdown(f"**{frame.plain(group)}**")
            figure = race_curves(
                {entry.partition(", ")[0]: curves[entry] for entry in entries},
                CURVES[measure].lower() + unit,
                share=measure == "accuracy",
                marked=measure != "loss",
                top=max(greatest, default=None),
                dark=dark(),
            )
            figure.update_layout(height=360)
            chart(figure, f"lanes-{group}")
    of_steps = f" Each point is the mean of {STEPS_PER_POINT} steps." if measure == "loss" else ""
    st.caption(f"Thin lines: single seeds. Thick lines: their mean.{of_steps}")


def _smooth(steps: Floats, loss: Floats) -> tuple[Floats, Floats]:
    """Return the mean of every `STEPS_PER_POINT` steps, at the last of them."""
    length = len(loss) // STEPS_PER_POINT * STEPS_PER_POINT
    return steps[:length][STEPS_PER_POINT - 1 :: STEPS_PER_POINT], loss[:length].reshape(
        -1, STEPS_PER_POINT
    ).mean(axis=1)


def _verdicts(results: list[Verdict], race: Race, runs: list[RaceRun]) -> None:
    st.header("Verdicts")
    if runs and len({run.race.seed for run in runs}) < MIN_SEEDS:
        st.caption(f"This race has too few seeds for a verdict, which needs {MIN_SEEDS}.")
    if _is_live(runs):
        st.caption("So far, based on the finished runs.")
    for verdict in results:
        with st.container(horizontal=True, vertical_alignment="center"):
            verdicts.badge(verdict.word)
            st.markdown(f"**{frame.plain(verdict.claim.text)}**")
            st.caption(frame.plain(verdict.reason))
    caption = (
        f"Based on the validation {race.measure} after {runs[0].info.steps:,} steps of this task; "
        f"another task, model size or budget may give another result. {RULE}"
    )
    st.caption(frame.plain(caption))


def _run_link(runs: list[RaceRun]) -> None:
    """Draw a menu and a link to one of the runs."""
    names = {run.info.name: f"{run.race.entry}, seed {run.race.seed}" for run in runs}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Open one of its runs", list(names), format_func=names.__getitem__, width=320
        )
        if chosen in names:
            destination = (
                "curves and examples" if runs[0].race.name == "layers" else "heads and its film"
            )
            frame.page_link("pages/train.py", f"Its {destination} →", run=chosen, race="")


def grid(race: Race, runs: list[RaceRun]) -> str:
    """Return a table of the runs' status: one row per setting, one column per seed."""
    seeds = sorted({run.race.seed for run in runs})
    by_setting = {(run.race.entry, run.race.seed): run for run in runs}
    rows = [
        [entry, *(_run_status(by_setting.get((entry, seed))) for seed in seeds)]
        for entry in race.entries
    ]
    return tables.html("Status of the runs", ["Setting", *(f"Seed {seed}" for seed in seeds)], rows)


def _run_status(run: RaceRun | None) -> str:
    if run is None:
        return "deleted"
    if run.info.status == "queued":
        return f"number {run.info.queue_position} in the queue"
    if run.info.status == "running":
        return f"step {run.info.step:,} of {run.info.steps:,}"
    return run.info.status


def figures(table: pd.DataFrame, runs: list[RaceRun]) -> str:
    """Return a table of results over the finished seeds: one row per setting."""
    headers = ["Setting", "Seeds", "Validation loss", "Sequence accuracy", "Steps to 95%"]
    rows = [
        [
            str(entry),
            f"{row['n']:.0f} of {sum(run.race.entry == entry for run in runs)}",
            _spread(row, "loss", "{:.3f}".format),
            _spread(row, "accuracy", lambda share: f"{100 * share:.1f}%"),
            _steps(row),
        ]
        for entry, row in table.iterrows()
    ]
    caption = (
        f"After {runs[0].info.steps:,} steps: mean ± standard deviation over finished seeds "
        "(minimum to maximum)"
    )
    return tables.html(caption, headers, rows)


def _spread(row: pd.Series, name: str, format_number: Callable[[float], str]) -> str:
    if not row["n"]:
        return "–"
    mean, sd, minimum, maximum = (row[f"{name}_{part}"] for part in ("mean", "sd", "min", "max"))
    if row["n"] == 1:
        return format_number(mean)
    mean, sd, minimum, maximum = map(format_number, (mean, sd, minimum, maximum))
    return f"{mean} ± {sd} ({minimum} to {maximum})"


def _steps(row: pd.Series) -> str:
    n, reached = int(row["n"]), int(row["reached"])
    if not n:
        return "–"
    if reached < n:
        return "never" if not reached else f"reached by {reached} of {n} seeds"
    return f"{row['steps_mean']:.0f} ({row['steps_min']:.0f} to {row['steps_max']:.0f})"


def show_distances(jobs: Jobs, race: Race, runs: list[RaceRun]) -> None:
    """Draw figure, table and download of the latest evaluation of every run."""
    st.header("Accuracy by distance")
    table = distance_accuracies(jobs, runs)
    if table.empty:
        st.caption("Results appear after the first run’s first evaluation.")
        return
    draw_distances(table, list(race.entries))
    distance_figures(table, list(race.entries), f"{runs[0].race.id}-distances")


def draw_distances(table: pd.DataFrame, entries: Sequence[str]) -> None:
    """Draw the figure of a table of `race_runs.distance_accuracies`."""
    rows_by_entry = {entry: table[table["entry"] == entry] for entry in entries}
    curves = {
        entry: [
            (group["distance"].to_numpy(float), group["accuracy"].to_numpy(float))
            for _, group in lines.groupby("seed")
        ]
        for entry, lines in rows_by_entry.items()
    }
    measured_rows = {entry: lines for entry, lines in rows_by_entry.items() if len(lines)}
    figure = accuracy_by_distance(
        curves,
        {entry: float(lines["reach"].iloc[0]) for entry, lines in measured_rows.items()},
        float(table["chance"].iloc[0]),
        dark=dark(),
    )
    figure.update_layout(height=430)
    chart(figure, "distance")


def distance_figures(table: pd.DataFrame, entries: Sequence[str], name: str) -> None:
    """Draw the numbers and the download with this file name."""
    rows_by_entry = {entry: table[table["entry"] == entry] for entry in entries}
    measured_rows = {entry: lines for entry, lines in rows_by_entry.items() if len(lines)}
    chance = float(table["chance"].iloc[0])
    tables.show(
        "Accuracy, mean over seeds; two layers each",
        (
            "Layer",
            "Weights",
            "d_ff",
            "Theoretical reach",
            "Accuracy within reach",
            "Accuracy beyond reach",
        ),
        [_row(entry, lines, chance) for entry, lines in measured_rows.items()],
    )
    st.caption(
        "Reach: L·(k−1)/2 positions for L layers with a kernel of k, L·(r−1)/2 for a "
        "neighbourhood of r, and m^L − 1 with dilations 1, m, m² … where m = (k+1)/2. "
        f"Beyond it a layer can only guess one of {round(1 / chance)} letters; chance is "
        f"{100 * chance:.1f}%. Shaded: from the worst seed to the best."
    )
    tables.csv(
        "Accuracy by distance (.csv)",
        lambda: table,
        name,
    )


def _row(entry: str, lines: pd.DataFrame, chance: float) -> tuple[str, ...]:
    reach = float(lines["reach"].iloc[0])
    within_reach = lines["distance"] <= reach
    within, beyond = (lines.loc[part, "accuracy"] for part in (within_reach, ~within_reach))
    return (
        entry,
        f"{lines['weights'].iloc[0]:,.0f}",
        f"{lines['d_ff'].iloc[0]:,.0f}",
        "everything" if reach == math.inf else f"{reach:g} positions",
        f"{100 * within.mean():.1f}%",
        f"{100 * beyond.mean():.1f}%, chance {100 * chance:.1f}%" if len(beyond) else "–",
    )
