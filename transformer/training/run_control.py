"""Clock, signals and control file of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from transformer.config import TrainingConfig
from transformer.training.control_file import PAUSE_POLL_SECONDS, ControlFile, StopSignal
from transformer.training.run import LoopState, RunFolder


class RunControl:
    """Progress of one run and the requests of its user.

    Attributes, updated by `poll()`:
        progress: completed fraction of the run, 0 to 1 (or more, after its last step).
        stop_requested, pause_requested, save_requested: by signal or control file.
        learning_rate_factor: factor of the scheduled learning rate.
    """

    def __init__(self, run: RunFolder, config: TrainingConfig, loop: LoopState) -> None:
        self.config, self.loop = config, loop
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

    def poll(self) -> None:
        """Read clock, signals and control file."""
        self.progress = self.loop.step / self.config.steps
        if self.config.minutes:
            minutes = (time.perf_counter() - self._started) / 60
            self.progress = max(self.progress, minutes / self.config.minutes)
        control = self._control_file.poll()
        self.stop_requested = self._signal.received or control.command == "stop"
        self.pause_requested = control.command == "pause" and not self.stop_requested
        self.learning_rate_factor = control.learning_rate_factor
        self.save_requested = self._control_file.save_requested()

    def wait_while_paused(self, on_poll: Callable[[], None]) -> None:
        """Wait until the pause ends; its time does not count as training time.

        Calls `on_poll` after each check of the control file.
        """
        while self.pause_requested:
            time.sleep(PAUSE_POLL_SECONDS)
            self._started = time.perf_counter() - self.loop.seconds
            self.poll()
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
