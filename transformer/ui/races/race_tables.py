"""The tables of a race as HTML, for people and screen readers, and as CSV."""

from __future__ import annotations

import pandas as pd

from transformer.jobs.race_runs import RaceRun
from transformer.jobs.races import Race
from transformer.ui.kit import tables


def grid(race: Race, runs: list[RaceRun]) -> str:
    """Where every run stands: a row an entry, a column a seed."""
    seeds = sorted({run.race.seed for run in runs})
    found = {(run.race.entry, run.race.seed): run for run in runs}
    rows = [
        [entry, *(_standing(found.get((entry, seed))) for seed in seeds)] for entry in race.entries
    ]
    return tables.html(
        "Where the runs stand", ["Setting", *(f"Seed {seed}" for seed in seeds)], rows
    )


def _standing(run: RaceRun | None) -> str:
    if run is None:
        return "deleted"
    if run.info.status == "queued":
        return f"place {run.info.place} in line"
    if run.info.status == "running":
        return f"step {run.info.step:,} of {run.info.steps:,}"
    return run.info.status


def figures(table: pd.DataFrame, runs: list[RaceRun]) -> str:
    """Each measure over the finished seeds: a row an entry."""
    heads = ["Setting", "Seeds", "Validation loss", "Sequences right", "Steps to 95 % right"]
    rows = [
        [
            str(entry),
            f"{row['n']:.0f} of {sum(run.race.entry == entry for run in runs)}",
            _spread(row, "loss", "{:.3f}"),
            _spread(row, "accuracy", "{:.1%}"),
            _steps(row),
        ]
        for entry, row in table.iterrows()
    ]
    about = (
        f"After {runs[0].info.steps:,} steps: mean ± standard deviation over finished seeds (least "
        "to greatest)"
    )
    return tables.html(about, heads, rows)


def _spread(row: pd.Series, name: str, form: str) -> str:
    if not row["n"]:
        return "–"
    mean, sd, least, most = (row[f"{name}_{part}"] for part in ("mean", "sd", "min", "max"))
    if row["n"] == 1:
        return form.format(mean)
    return f"{form.format(mean)} ± {form.format(sd)} ({form.format(least)} to {form.format(most)})"


def _steps(row: pd.Series) -> str:
    n, reached = int(row["n"]), int(row["reached"])
    if not n:
        return "–"
    if reached < n:
        return "never" if not reached else f"{reached} of {n} seeds got there"
    return f"{row['steps_mean']:.0f} ({row['steps_min']:.0f} to {row['steps_max']:.0f})"
