"""What the race of layers came to, by how far a letter had to travel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress

import pandas as pd

from transformer.jobs.errors import JobError
from transformer.jobs.jobs import Jobs
from transformer.jobs.racing import RaceRun, track
from transformer.text.tasks.gap import Gap
from transformer.training.run import RunError

COLUMNS = ("entry", "seed", "step", "distance", "accuracy", "reach", "chance", "weights", "d_ff")


def by_distance(jobs: Jobs, runs: Iterable[RaceRun]) -> pd.DataFrame:
    """The last look of every run, a line each distance; empty before the first look.

    Columns: "entry", "seed", "step" of the look; "distance", positions from a letter to its mark;
    "accuracy", share of the letters that were right there; "reach", the greatest distance that
    the stack can carry anything over (`model.tagger.receptive_field`), infinite for some;
    "chance", what guessing gives; "weights" and "d_ff" of the model.
    """
    lines = []
    for run in runs:
        with suppress(JobError, RunError, KeyError, TypeError, ValueError):  # deleted meanwhile
            seen = track(jobs, run)
            config = jobs.folder(run.info.name).config()
            layer, reach = config["layer"], config["layer"]["reach"]
            said = {
                "entry": run.entry,
                "seed": run.seed,
                "step": int(seen.look_steps[-1]) if len(seen.look_steps) else 0,
            }
            sizes = {
                "reach": math.inf if reach is None else float(reach),
                "chance": Gap(**config["data"]["options"]).chance,
                "weights": int(layer["weights"]),
                "d_ff": int(config["model"]["d_ff"]),
            }
            lines += [
                {**said, "distance": distance, "accuracy": share, **sizes}
                for distance, share in seen.by_distance.items()
            ]
    return pd.DataFrame(lines, columns=list(COLUMNS))
