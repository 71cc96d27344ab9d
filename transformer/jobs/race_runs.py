"""Races: queueing all runs together, reading their metrics, and their results."""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.analysis.evidence.verdicts import (
    Outcome,
    Verdict,
    read_outcome,
    results_table,
    verdict,
)
from transformer.jobs.errors import JobError
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import RunInfo
from transformer.jobs.jobs import Jobs
from transformer.text.files import Stamp, file_stamp, read_json
from transformer.text.tasks.gap import GapTask
from transformer.training.races import race_named
from transformer.training.run_config import LayerRun, RaceEntry
from transformer.training.run_folder import RunError

Floats = npt.NDArray[np.float64]
COLUMNS = ("entry", "seed", "step", "distance", "accuracy", "reach", "chance", "weights", "d_ff")


@dataclass(frozen=True)
class Track:
    """The metrics of one run in a race: its loss curve, its evaluations and its outcome.

    `steps` and `loss` are of the training steps; `evaluation_steps`, `valid_loss` and `accuracy`
    of the evaluations of the validation pairs. `by_distance`, of the last evaluation, exists only
    in the race of layers: the fraction of correct letters by their distance to the mark.
    """

    steps: Floats
    loss: Floats
    evaluation_steps: Floats
    valid_loss: Floats
    accuracy: Floats
    outcome: Outcome | None
    by_distance: Mapping[int, float]


@dataclass(frozen=True)
class RaceRun:
    """A run of a race with its current state."""

    info: RunInfo
    race: RaceEntry


def submit_race(
    jobs: Jobs,
    race: str,
    owner: str,
    seeds: Sequence[int] | None = None,
    *,
    address: str = "",
    owners: Sequence[str] = (),
) -> str:
    """Queue all runs of a race, or none, and return the race's id.

    Each counts as one run of the visitor and is queued like any other. The order is seed by seed,
    so that an unfinished race has equally many runs of each entry.

    Args:
        owners: visitors who own the runs in turn, instead of `owner`, who still controls the race.

    Raises:
        JobError: for an unknown race, invalid seeds or an exceeded limit, with both numbers.
    """
    try:
        definition = race_named(race)
    except ValueError as error:
        raise JobError(str(error)) from error
    seeds = tuple(definition.seeds if seeds is None else seeds)
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise JobError(f"a race needs different seeds, 0 or more each, not {list(seeds)}")
    race_id = f"{race}-{secrets.token_hex(4)}"
    configs = [
        definition.config(entry, seed, race_id) for seed in seeds for entry in definition.entries
    ]
    run_owners = [owners[index % len(owners)] for index in range(len(configs))] if owners else ()
    jobs.submit_all(configs, owner, address=address, owners=run_owners)
    return race_id


def race_runs(
    jobs: Jobs, race_id: str = "", infos: Iterable[RunInfo] | None = None
) -> list[RaceRun]:
    """Return all runs of this race, or of all races, in the order of submission.

    Args:
        infos: the result of `jobs.runs()`, if available.

    Raises JobError if the runs cannot be read.
    """
    infos = jobs.runs() if infos is None else infos
    return [
        RaceRun(info, info.race)
        for info in sorted(infos, key=lambda info: (info.turn, info.name))
        if info.race and race_id in ("", info.race.id)
    ]


def end_race(jobs: Jobs, race_id: str, visitor: str, *, delete: bool = False) -> int:
    """Stop the unfinished runs of a race that this visitor started, or delete all its runs; return
    how many. The last in the queue comes first, so that none of them starts meanwhile."""
    count = 0
    for run in reversed(race_runs(jobs, race_id)):
        if run.info.requester == visitor and (delete or run.info.live):
            with suppress(JobError):  # it has just ended, or is gone
                if delete:
                    jobs.delete(run.info.name, run.info.owner)
                else:
                    jobs.control(run.info.name, run.info.owner, command="stop")
                count += 1
    return count


def track(jobs: Jobs, run: RaceRun) -> Track:
    """Return the run's current metrics; an unchanged file is not read again."""
    folder = jobs.folder(run.info.name)
    return _read_track(folder.path, file_stamp(folder.metrics_path), run.race, run.info.steps)


def standings(jobs: Jobs, runs: Iterable[RaceRun]) -> tuple[pd.DataFrame, list[Verdict]]:
    """Return the table of one race's runs and the verdict on each claim, computed at every call.

    Only finished runs with all steps count. Raises ValueError if there is no run, or for a race
    that no longer exists.
    """
    runs = list(runs)
    if not runs:
        raise ValueError("there are no runs of this race; they may have been deleted")
    race = race_named(runs[0].race.name)
    outcomes = [track(jobs, run).outcome for run in runs if run.info.status == "finished"]
    table = results_table(
        [read_outcome for read_outcome in outcomes if read_outcome is not None], list(race.entries)
    )
    return table, [verdict(table, claim, race.measure) for claim in race.claims]


def distance_accuracies(jobs: Jobs, runs: Iterable[RaceRun]) -> pd.DataFrame:
    """Return the last evaluation of every run, one row per distance; empty before the first one.

    Columns: "entry", "seed", "step" of the evaluation; "distance", positions from a letter to its
    mark; "accuracy", fraction of correct letters; "reach", the largest distance within the
    receptive field (`model.tagger.receptive_field`), infinite for some; "chance", accuracy of
    guessing; "weights" and "d_ff" of the model.
    """
    lines = []
    for run in runs:
        with suppress(JobError, RunError):  # deleted meanwhile
            run_track = track(jobs, run)
            config = jobs.folder(run.info.name).config()
            if not isinstance(config, LayerRun):
                continue
            reach = config.layer.reach
            columns = {
                "entry": run.race.entry,
                "seed": run.race.seed,
                "reach": math.inf if reach is None else float(reach),
                "chance": GapTask(**config.options).chance,
                "weights": config.layer.weights,
                "d_ff": config.model.d_ff,
            }
            lines += [
                {
                    **columns,
                    "step": int(run_track.evaluation_steps[-1]),
                    "distance": distance,
                    "accuracy": accuracy,
                }
                for distance, accuracy in run_track.by_distance.items()
            ]
    return pd.DataFrame(lines, columns=list(COLUMNS))


@lru_cache(maxsize=512)
def _read_track(path: Path, stamp: Stamp | None, race: RaceEntry, steps: int) -> Track:
    lines = JobFolder(path).metrics() if stamp else []
    trained = [line for line in lines if "loss" in line]
    evaluations = [line for line in lines if "sequence_accuracy" in line]
    last_evaluation = evaluations[-1] if evaluations else {}

    def column(lines: list[dict[str, Any]], name: str) -> Floats:
        return np.array([line[name] for line in lines], dtype=np.float64)

    return Track(
        column(trained, "step"),
        column(trained, "loss"),
        column(evaluations, "step"),
        column(evaluations, "valid_loss"),
        column(evaluations, "sequence_accuracy"),
        read_outcome(race.entry, race.seed, steps, lines),
        {int(d): share for d, share in last_evaluation.get("by_distance", {}).items()},
    )


@dataclass(frozen=True, eq=False)
class ShippedRace:
    """The result of a race for users who have not run one yet, `checkpoints/races/{name}.json`;
    `python docs/shipped_runs.py --race layers` writes it, with infinite numbers as null.

    Attributes:
        measured_at: time of the race, in seconds since 1970.
        table: as returned by `distance_accuracies`.
    """

    measured_at: float
    table: pd.DataFrame


def read_race(folder: Path, name: str, entries: Collection[str]) -> ShippedRace | None:
    """Read a race from a folder of checkpoints; None if there is none with exactly these
    entries."""
    try:
        content = read_json(folder / "races" / f"{name}.json")
    except OSError:
        return None
    table = pd.DataFrame(content["lines"], columns=list(COLUMNS))
    table["reach"] = table["reach"].astype(float).fillna(math.inf)
    if set(table["entry"]) != set(entries):
        return None
    return ShippedRace(content["when"], table)
