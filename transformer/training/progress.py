"""Where a run stands, and where its last save stood: read without torch, by whoever shows runs."""

from __future__ import annotations

import json
from dataclasses import dataclass

from safetensors import SafetensorError, safe_open

from transformer.training.run import RunError, RunFolder


@dataclass
class Progress:
    """Where a run stands: all that its next step depends on besides weights and Adam."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # next batch of this epoch's plan
    seconds: float = 0.0  # of training so far, over all starts
    best_valid: float = float("inf")
    worse: int = 0  # validations since the best
    precision: str = ""  # what "auto" chose: a resumed run does not choose again


def load_progress(run: RunFolder) -> Progress:
    """Where the run stood when it was last saved; the very start if it never was.

    Raises:
        RunError: if the file is cut off or is none of ours.
    """
    if not run.resume_path.is_file():
        return Progress()
    try:
        with safe_open(run.resume_path, framework="np") as file:
            return Progress(**json.loads((file.metadata() or {})["progress"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise cannot_resume(run, f"it is cut off or of another kind ({error})") from error


def cannot_resume(run: RunFolder, why: str) -> RunError:
    """The error of a save that does not fit, and what to do."""
    return RunError(f"{run.resume_path} cannot be resumed from: {why}; give another run folder")
