"""An executor that runs a page's computations in the process of the tests."""

from __future__ import annotations

import importlib
from pathlib import Path

from transformer.jobs.computation import Computation, Lane
from transformer.jobs.compute_process import run_function
from transformer.jobs.limits import Limits


class InProcessExecutor:
    """A `LaneExecutor` without a process of its own, which would import torch for 3 seconds.

    It runs the same function on the same request and writes the same files, but has no limits and
    cannot be killed: a test that cancels a running computation uses the `computing_process`
    fixture.
    """

    def __init__(self, lane: Lane, limits: Limits) -> None:
        self._folder = Path()
        self._function = ""

    def begin(self, folder: Path, computation: Computation) -> None:
        self._folder, self._function = folder, computation.function

    def wait(self) -> int:
        module, name = self._function.split(":")
        return run_function(self._folder, getattr(importlib.import_module(module), name))

    def kill(self) -> None:
        """Do nothing: the computation runs on until it has finished."""

    def close(self) -> None:
        """Nothing is kept between two computations."""
