"""Stands in for the trainer: the same files, signals and statuses, without learning anything."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from transformer.run_config import TaskRun
from transformer.training.progress import Progress, load_progress
from transformer.training.run import RunFolder, Status
from transformer.training.termination import StopSignal

SAVE_EVERY = 5


def train(path: Path) -> Status:
    """Takes the options' "steps" of "nap" milliseconds; saves at every fifth and at the end.

    Every start is a line in starts.txt. Of a task that breaks, something happens at step 3.
    """
    run = RunFolder(path)
    config = run.config()
    assert isinstance(config, TaskRun)
    steps, nap = config.options.get("steps", 3), config.options.get("nap", 0) / 1000
    with run.held():
        with (path / "starts.txt").open("a") as file:
            file.write(f"{os.getpid()}\n")
        print("the stand-in begins")
        step = load_progress(run).step
        run.rewind(step)
        run.write_state("running", step=step)
        signal = StopSignal()
        status: Status = "finished"
        with signal.handle_signals():
            while step < steps:
                if signal.came or run.control().command == "stop":
                    status = "cancelled"
                    break
                step += 1
                _happen(config.task, step)
                time.sleep(nap)
                share = (step - 1) / steps
                run.append_metrics({"step": step, "loss": 1.0, "seconds": nap, "share": share})
                if step % SAVE_EVERY == 0:
                    _save(run, step)
            _save(run, step)
        run.write_state(status, f"{status} after step {step}", step=step)
    return status


def _happen(what: str, step: int) -> None:
    if step != 3 or what not in ("memory", "disk", "text"):
        return
    if what == "memory":
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes")
    if what == "disk":
        raise OSError(28, "No space left on device")
    raise ValueError("the text has no pairs")


def _save(run: RunFolder, step: int) -> None:
    progress = {"progress": json.dumps(asdict(Progress(step=step)))}
    save_file({"weight": np.zeros(1)}, run.resume_path, progress)
    run.checkpoint_path.mkdir(exist_ok=True)
    for name in ("config.json", "model.safetensors"):
        (run.checkpoint_path / name).write_text(f"{name} at step {step}")
    run.write_state("running", step=step)
