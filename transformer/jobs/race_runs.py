"""Races put in line together, followed while they run, and what they came to."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.analysis.evidence.verdicts import Outcome, Verdict, outcome, results, verdict
from transformer.jobs.errors import JobError
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import RunInfo
from transformer.jobs.jobs import Jobs
from transformer.jobs.races import race_named
from transformer.run_config import LayerRun, RaceEntry
from transformer.text.tasks.gap import Gap
from transformer.training.run import RunError

Floats = npt.NDArray[np.float64]
COLUMNS = ("entry", "seed", "step", "distance", "accuracy", "reach", "chance", "weights", "d_ff")


@dataclass(frozen=True)
class Track:
    """What a race needs of one run's metrics: its curve, its looks, and how it ended.

    `steps` and `loss` are of the training steps; `evaluation_steps`, `valid_loss` and `accuracy`
    of the evaluations of the validation pairs. `by_distance`, of the last one, is for the race of
    layers alone: the share of letters that were right, by how far they had to travel.
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
    """A run of a race as it stands."""

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
    """Put all runs of a race in line, or none, and return the race's id.

    Each counts as one run of the visitor's, and waits in line like any other. Seed by seed, so
    that an unfinished race has as many of one entry as of another.

    Args:
        among: visitors whose the runs are, one after the other, instead of the one who asks.

    Raises:
        JobError: for a race or seeds that cannot be, or a limit that is passed, with both numbers.
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
    """All runs of this race, or of every race, in the order of coming.

    Args:
        infos: what `jobs.runs()` gave, if it is at hand.

    Raises JobError if the runs cannot be read.
    """
    infos = jobs.runs() if infos is None else infos
    return [
        RaceRun(info, info.race)
        for info in sorted(infos, key=lambda info: (info.turn, info.name))
        if info.race and race_id in ("", info.race.id)
    ]


def cancel_race(jobs: Jobs, race_id: str, owner: str) -> int:
    """Stop all of one's own runs of this race that wait, pause or train; returns how many."""
    return _end_runs(jobs, race_id, owner, ("queued", "paused", "running"), "stop")


def delete_race(jobs: Jobs, race_id: str, owner: str) -> int:
    """Remove all of one's own runs of this race for good; returns how many."""
    return _end_runs(jobs, race_id, owner, (), "delete")


def _end_runs(jobs: Jobs, race_id: str, owner: str, statuses: Sequence[str], act: str) -> int:
    """The last in line first, so that none of them begins meanwhile."""
    count = 0
    for run in reversed(race_runs(jobs, race_id)):
        if run.info.owner == owner and (not statuses or run.info.status in statuses):
            with suppress(JobError):  # it has just ended, or is gone
                if act == "delete":
                    jobs.delete(run.info.name, owner)
                else:
                    jobs.control(run.info.name, owner, command="stop")
                count += 1
    return count


def track(jobs: Jobs, run: RaceRun) -> Track:
    """The run's metrics as they are now; a file that has not grown is not read again."""
    folder = jobs.folder(run.info.name)
    try:
        file_stat = folder.metrics_path.stat()
    except OSError:
        return _read_track(folder.path, (0, 0), run.race, run.info.steps)
    return _read_track(
        folder.path, (file_stat.st_size, file_stat.st_mtime_ns), run.race, run.info.steps
    )


def standings(jobs: Jobs, runs: Iterable[RaceRun]) -> tuple[pd.DataFrame, list[Verdict]]:
    """The table of one race's runs, and what it says of each claim. Made anew at every call.

    A run counts once it is finished with all its steps. Raises ValueError if there is no run, or
    they are of a race that is no more.
    """
    runs = list(runs)
    if not runs:
        raise ValueError("there are no runs of this race; they may have been deleted")
    race = race_named(runs[0].race.name)
    outcomes = [track(jobs, run).outcome for run in runs if run.info.status == "finished"]
    table = results([outcome for outcome in outcomes if outcome is not None], list(race.entries))
    return table, [verdict(table, claim, race.measure) for claim in race.claims]


def by_distance(jobs: Jobs, runs: Iterable[RaceRun]) -> pd.DataFrame:
    """The last look of every run, a line each distance; empty before the first look.

    Columns: "entry", "seed", "step" of the look; "distance", positions from a letter to its mark;
    "accuracy", share of the letters that were right there; "reach", the greatest distance that
    the stack can carry anything over (`model.tagger.receptive_field`), infinite for some;
    "chance", what guessing gives; "weights" and "d_ff" of the model.
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
                "step": int(run_track.evaluation_steps[-1])
                if len(run_track.evaluation_steps)
                else 0,
            }
            sizes = {
                "reach": math.inf if reach is None else float(reach),
                "chance": Gap(**config.options).chance,
                "weights": config.layer.weights,
                "d_ff": config.model.d_ff,
            }
            lines += [
                {**columns, "distance": distance, "accuracy": accuracy, **sizes}
                for distance, accuracy in run_track.by_distance.items()
            ]
    return pd.DataFrame(lines, columns=list(COLUMNS))


@lru_cache(maxsize=512)
def _read_track(path: Path, stamp: tuple[int, int], race: RaceEntry, steps: int) -> Track:
    lines = JobFolder(path).metrics() if stamp[0] else []
    trained = [line for line in lines if "loss" in line]
    evaluations = [line for line in lines if "sequence_accuracy" in line]
    last = evaluations[-1] if evaluations else {}

    def column(lines: list[dict[str, Any]], name: str) -> Floats:
        return np.array([line[name] for line in lines], dtype=np.float64)

    return Track(
        column(trained, "step"),
        column(trained, "loss"),
        column(evaluations, "step"),
        column(evaluations, "valid_loss"),
        column(evaluations, "sequence_accuracy"),
        outcome(race.entry, race.seed, steps, lines),
        {int(d): share for d, share in last.get("by_distance", {}).items()},
    )
