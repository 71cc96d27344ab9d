"""Clock, signals and control file of a run, the same on all its processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from transformer.config import TrainingConfig
from transformer.training.control_file import PAUSE_POLL_SECONDS, ControlFile, StopSignal
from transformer.training.distributed import World
from transformer.training.run import LoopState, RunFolder


class RunControl:
    """Progress of one run and the requests of its user, the same on all processes.

    Attributes, updated by `synchronize()`:
        progress: completed fraction of the run, 0 to 1 (or more, after its last step).
        stop_requested, pause_requested, save_requested: by signal or control file.
        learning_rate_factor: factor of the scheduled learning rate.
    """

    def __init__(
        self,
        run: RunFolder,
        config: TrainingConfig,
        loop: LoopState,
        world: World,
        device: torch.device,
    ) -> None:
        self.config, self.loop = config, loop
        self.world, self.device = world, device
        self._signal = StopSignal()
        self._control_file = ControlFile(run.path / "control.json", run.control)
        self.progress, self.learning_rate_factor = 0.0, 1.0
        self.stop_requested = self.pause_requested = self.save_requested = False

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Within the block the clock runs, and signals are requests to stop."""
        self._started = time.perf_counter() - self.loop.seconds
        with self._signal.handle_signals():
            yield

    def update_clock(self) -> None:
        """Update the seconds of training."""
        self.loop.seconds = time.perf_counter() - self._started

    def synchronize(self) -> None:
        """Read clock, signals and control file on the first process, and broadcast the result."""
        progress = self.loop.step / self.config.steps
        if self.config.minutes:
            progress = max(
                progress, (time.perf_counter() - self._started) / (60 * self.config.minutes)
            )
        control = self._control_file.poll()
        stop = self._signal.received or control.command == "stop"
        values = [
            progress,
            float(stop),
            float(control.command == "pause" and not stop),
            control.learning_rate_factor,
            float(self._control_file.save_requested()),
        ]
        progress, stopped, paused, factor, save = self.world.broadcast(values, self.device)
        self.progress, self.learning_rate_factor = progress, factor
        self.stop_requested, self.pause_requested, self.save_requested = (
            bool(stopped),
            bool(paused),
            bool(save),
        )

    def wait_while_paused(self, on_poll: Callable[[], None]) -> None:
        """Wait until the pause ends; its time does not count as training time.

        Calls `on_poll` after each check of the control file.
        """
        while self.pause_requested:
            if self.world.is_main:
                time.sleep(PAUSE_POLL_SECONDS)
            self._started = time.perf_counter() - self.loop.seconds
            self.synchronize()
            on_poll()

    def end_reason(self) -> str:
        """Return why the run ends now, or "" if it continues."""
        config, loop = self.config, self.loop
        if self.stop_requested:
            return f"stopped after step {loop.step}"
        if 0 < config.patience <= loop.worse:
            return f"no better validation loss in {loop.worse} validations, at step {loop.step}"
        if loop.step >= config.steps:
            return f"all {config.steps} steps taken"
        if self.progress >= 1:
            return f"{config.minutes:g} minutes used up, after step {loop.step}"
        return ""
