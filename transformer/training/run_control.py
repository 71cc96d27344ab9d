"""How far a run has come, and who wants something of it: signals and the control file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from transformer.config import TrainingConfig
from transformer.training.control_file import NAP, ControlFile, StopSignal
from transformer.training.distributed import World
from transformer.training.run import Progress, RunFolder


class RunControl:
    """The clock and the wishes of one run, the same on all its processes.

    Attributes, as of the last `agree()`:
        share: how much of the run is over, 0 to 1 and more.
        stopped: someone asked for the end.
        paused: someone asked for a pause.
        factor: the learning rate is to be multiplied by it.
        save: someone asked for a save.
    """

    def __init__(
        self,
        run: RunFolder,
        config: TrainingConfig,
        progress: Progress,
        world: World,
        device: torch.device,
    ) -> None:
        self.config, self.progress = config, progress
        self.world, self.device = world, device
        self._signal = StopSignal()
        self._steering = ControlFile(run.path / "control.json", run.control)
        self.share, self.factor = 0.0, 1.0
        self.stopped = self.paused = self.save = False

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Within the block the clock runs and signals are taken as wishes."""
        self._started = time.perf_counter() - self.progress.seconds
        with self._signal.handle_signals():
            yield

    def tick(self) -> None:
        """Bring the seconds of training up to now."""
        self.progress.seconds = time.perf_counter() - self._started

    def agree(self) -> None:
        """Take the first process's view of clock, signals and control file."""
        share = self.progress.step / self.config.steps
        if self.config.minutes:
            share = max(share, (time.perf_counter() - self._started) / (60 * self.config.minutes))
        asked = self._steering.look()
        stop = self._signal.came or asked.command == "stop"
        values = [
            share,
            float(stop),
            float(asked.command == "pause" and not stop),
            asked.learning_rate_factor,
            float(self._steering.wants_save()),
        ]
        share, stopped, paused, factor, save = self.world.broadcast(values, self.device)
        self.share, self.factor = share, factor
        self.stopped, self.paused, self.save = bool(stopped), bool(paused), bool(save)

    def wait(self, act: Callable[[], None]) -> None:
        """Until nobody wants the pause any more; it does not count as time of training. `act` is
        called after each nap, for wishes that come in a pause."""
        while self.paused:
            if self.world.is_main:
                time.sleep(NAP)
            self._started = time.perf_counter() - self.progress.seconds
            self.agree()
            act()

    def reason_to_end(self) -> str:
        """Why the run is over; nothing if it is not."""
        config, progress = self.config, self.progress
        if self.stopped:
            return f"stopped after step {progress.step}"
        if 0 < config.patience <= progress.worse:
            return f"no better validation loss in {progress.worse} looks, at step {progress.step}"
        if progress.step >= config.steps:
            return f"all {config.steps} steps taken"
        if self.share >= 1:
            return f"{config.minutes:g} minutes used up, after step {progress.step}"
        return ""
