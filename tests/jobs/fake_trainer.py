"""A fake trainer and a fake computation, which worker processes import."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from transformer.training.run_config import TaskRun
from transformer.training.run_folder import LoopState, RunFolder, Status

SAVE_EVERY = 5


def train(path: Path) -> Status:
    """Take `steps` steps of `step_milliseconds` each, which are options of the task.

    It is saved every fifth step and at the end. Every start adds a line to starts.txt. The tasks
    "memory", "disk" and "text" raise an error at step 3.
    """
    run = RunFolder(path)
    config = run.config()
    assert isinstance(config, TaskRun)
    steps = config.options.get("steps", 3)
    step_seconds = config.options.get("step_milliseconds", 0) / 1000
    with run.locked():
        with (path / "starts.txt").open("a") as file:
            file.write(f"{os.getpid()}\n")
        print("the fake trainer starts")
        step = run.loop_state().step
        run.rewind(step)
        run.write_state("running", step=step)
        status: Status = "finished"
        with _handle_signals() as signals:
            while step < steps:
                if signals or run.control().command == "stop":
                    status = "cancelled"
                    break
                step += 1
                _raise_error(config.task, step)
                time.sleep(step_seconds)
                share = (step - 1) / steps
                run.append_metrics(
                    {"step": step, "loss": 1.0, "seconds": step_seconds, "share": share}
                )
                if step % SAVE_EVERY == 0:
                    save(run, step)
            save(run, step)
        run.write_state(status, f"{status} after step {step}", step=step)
    return status


@contextmanager
def _handle_signals() -> Iterator[list[int]]:
    """Yield a list of the signals received, as the trainer handles them."""
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    old = [signal.signal(number, lambda n, frame: received.append(n)) for number in numbers]
    try:
        yield received
    finally:
        for number, handler in zip(numbers, old, strict=True):
            signal.signal(number, handler)


def _raise_error(task: str, step: int) -> None:
    if step != 3 or task not in ("memory", "disk", "text"):
        return
    if task == "memory":
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes")
    if task == "disk":
        raise OSError(28, "No space left on device")
    raise ValueError("the text has no pairs")


def save(run: RunFolder, step: int) -> None:
    progress = {"progress": json.dumps(asdict(LoopState(step=step)))}
    save_file({"weight": np.zeros(1)}, run.resume_path, progress)
    run.checkpoint_path.mkdir(exist_ok=True)
    for name in ("config.json", "model.safetensors"):
        (run.checkpoint_path / name).write_text(f"{name} at step {step}")
    run.write_state("running", step=step)


def compute(arguments: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Do `arguments["action"]`; each call adds a line to the file `starts` in the folder `root`."""
    action = arguments["action"]
    with (Path(arguments["root"]) / "starts").open("a") as file:
        file.write(f"{action}\n")
    progress(0.5, "half way")
    if action == "long":
        time.sleep(600)
    while action == "waits" and not (Path(arguments["root"]) / "go").exists():
        time.sleep(0.01)
    if action == "fails":
        raise ValueError("no such measure")
    if action == "exits":
        os._exit(9)
    if action == "full":
        raise OSError(28, "No space left on device")
    if action == "prints":
        print("printed by the function\n" * 10)
    if action == "large":
        bytearray(8_000_000_000)
    niceness = os.nice(0) if hasattr(os, "nice") else None
    return {"arguments": dict(arguments), "nice": niceness, "process": os.getpid()}
