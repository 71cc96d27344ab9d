"""The training loop (section 5), its control by file or signal, and the interface of its tasks."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Literal

import torch

from transformer.config import TrainingConfig
from transformer.text.files import Stamp, file_stamp, read_json_or_empty
from transformer.training.learner import MixedPrecision, limit_threads, numeric_environment
from transformer.training.run_folder import (
    LoopState,
    RunFolder,
    Status,
    TrainingError,
    as_training_error,
)
from transformer.training.schedule import learning_rate
from transformer.training.signals import stop_signals

CONTROL_POLL_SECONDS = 0.1  # minimum time between two checks of control.json
VALID_EVERY = 500  # steps between two computations of the validation loss, by default


class TrainTask:
    """Interface between `Trainer` and a model with its data; most methods do nothing by default.

    Attributes:
        learner: master weights, working copy and Adam.
        loop: state of the loop, which `Trainer` updates.
        device: where the weights are.
        validates: whether `Trainer` calls `validation_loss` every `valid_every` steps.
    """

    learner: MixedPrecision[Any]
    loop: LoopState
    device: torch.device
    validates = False

    def compute_gradients(self) -> dict[str, float]:
        """Compute the gradients of the master weights for the next batch.

        Returns:
            "loss" in nats, "tokens", and other figures for the step's line of metrics.jsonl.
        """
        raise NotImplementedError

    def before_update(self) -> None:
        """Called after the gradients are computed and before the weights change."""

    def evaluate_if_due(self, progress: float, *, final: bool) -> dict[str, Any]:
        """Evaluate the model if an evaluation is due; return figures for metrics.jsonl.

        Args:
            progress: completed fraction of the run, 0 to 1.
            final: evaluate everything regardless of time, at the end of the run.
        """
        return {}

    def validation_loss(self) -> float:
        """Return the mean negative log-likelihood of the validation tokens, in nats."""
        raise NotImplementedError

    def rewind(self, step: int) -> None:
        """Delete what was saved after `step`; a resumed run takes those steps again."""

    def keep_weights(self, step: int) -> None:
        """Save the weights for averaging; called before the resume file. Raises OSError."""

    def save_model(self) -> None:
        """Save the checkpoint; called after the resume file. Raises OSError."""


class RunControl:
    """Clock, signals and control file of one run.

    Attributes, updated by `poll()`:
        progress: completed fraction of the run, 0 to 1 (or more, after its last step).
        requested_end: "cancelled" or "paused" if a signal or the control file requests it.
        save_requested: whether the control file requests a save.
        learning_rate_factor: factor of the scheduled learning rate.
    """

    def __init__(self, run: RunFolder, config: TrainingConfig, loop: LoopState) -> None:
        self.config, self.loop = config, loop
        self._run = run
        self._signal_received = False
        self._stamp: Stamp | None = None
        self._read_at = -math.inf
        self._file = run.control()
        self._save_count = self._file.save
        self.progress, self.learning_rate_factor = 0.0, 1.0
        self.requested_end: Literal["cancelled", "paused"] | None = None
        self.save_requested = False

    @contextlib.contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Within the block the clock runs, and the signals of Ctrl-C, of the system's end and of a
        closed terminal are requests to stop, so that the run can finish its step."""

        def on_signal(number: int, frame: FrameType | None) -> None:
            self._signal_received = True

        self._started = time.perf_counter() - self.loop.seconds
        try:
            old_handlers = {number: signal.signal(number, on_signal) for number in stop_signals()}
        except ValueError:  # only the main thread may handle signals
            old_handlers = {}
        try:
            yield
        finally:
            for number, handler in old_handlers.items():
                signal.signal(number, handler)

    def update_clock(self) -> None:
        """Update the seconds of training."""
        self.loop.seconds = time.perf_counter() - self._started

    def poll(self) -> None:
        """Read the clock, the signals and, at most every 0.1 s and if it changed, the file."""
        self.progress = self.loop.step / self.config.steps
        if self.config.minutes:
            minutes = (time.perf_counter() - self._started) / 60
            self.progress = max(self.progress, minutes / self.config.minutes)
        if time.monotonic() >= self._read_at + CONTROL_POLL_SECONDS:
            self._read_at = time.monotonic()
            stamp = file_stamp(self._run.control_path)
            if stamp != self._stamp:
                self._stamp, self._file = stamp, self._run.control()
        self.requested_end = None
        if self._signal_received or self._file.command == "stop":
            self.requested_end = "cancelled"
        elif self._file.command == "pause":
            self.requested_end = "paused"
        self.learning_rate_factor = self._file.learning_rate_factor
        self.save_requested = self._file.save > self._save_count
        self._save_count = self._file.save

    def end_reason(self) -> str:
        """Return why the run ends now, or "" if it continues."""
        config, loop = self.config, self.loop
        if self.requested_end:
            verb = "paused" if self.requested_end == "paused" else "stopped"
            return f"{verb} after step {loop.step}"
        if 0 < config.patience <= loop.worse:
            return f"no better validation loss in {loop.worse} validations, at step {loop.step}"
        if loop.step >= config.steps:
            return f"all {config.steps} steps taken"
        if self.progress >= 1:
            return f"{config.minutes:g} minutes used up, after step {loop.step}"
        return ""


Report = Callable[[dict[str, Any]], None]


class Trainer:
    """Trains one task in one run folder; `train()` starts or resumes and returns the status.

    A resumed run takes exactly the same steps as an uninterrupted one, except with `minutes`, where
    the learning rate depends on the clock.
    """

    def __init__(
        self,
        run: RunFolder,
        config: TrainingConfig,
        task: TrainTask,
        *,
        report: Report = lambda _: None,
    ) -> None:
        """`report` is called with every line of metrics.jsonl."""
        self.run, self.config, self.task, self.report = run, config, task, report
        self.learner, self.loop = task.learner, task.loop
        self.control = RunControl(run, config, self.loop)
        self._saved_step = self._finished_step = -1
        self._environment: dict[str, Any] = {}

    def train(self) -> Status:
        """Train until steps, minutes or patience are used up, or a stop or pause is requested.

        Raises TrainingError if the loss is not finite, a file cannot be written or memory is
        exhausted; then the status is "failed", and the next start resumes from the last save.
        """
        try:
            weights = sum(weight.numel() for weight in self.learner.model.parameters())
            threads = limit_threads(weights, self.config.batch_tokens)
            with self.control.handle_signals(), threads:
                self._environment = numeric_environment()
                self._rewind()
                reason = self._loop()
                self._save()
        except Exception as error:
            failure = as_training_error(error, self.loop.step, self.config.batch_tokens)
            with contextlib.suppress(OSError):  # a full disk may be what failed
                self._write_state("failed", str(failure))
            if failure is error:
                raise
            raise failure from error
        status: Status = self.control.requested_end or "finished"
        self._write_state(status, reason)
        return status

    def _rewind(self) -> None:
        """Load the last save and delete what a killed run wrote after it."""
        state = read_json_or_empty(self.run.path / "state.json")
        if state.get("status") == "finished":
            self._finished_step = self.loop.step
        if self.loop.step:
            self.learner.load(self.run)
        self.run.rewind(self.loop.step)
        self.task.rewind(self.loop.step)
        self._write_state("running")

    def _loop(self) -> str:
        """Take steps until there is a reason to end, and return it."""
        config, loop, control = self.config, self.loop, self.control
        while True:
            control.poll()
            if control.save_requested:
                self._save()
            if reason := control.end_reason():
                if not control.requested_end and loop.step != self._finished_step:
                    self._evaluate_if_due(final=True)
                return reason
            self._evaluate_if_due()
            self._step()
            control.update_clock()
            if self.task.validates and loop.step % (config.valid_every or VALID_EVERY) == 0:
                self._validate()
            if loop.step % config.save_every == 0:
                self._save()

    def _evaluate_if_due(self, *, final: bool = False) -> None:
        """Let the task evaluate the model if that is due, and log the figures."""
        figures = self.task.evaluate_if_due(self.control.progress, final=final)
        if figures:
            self.control.update_clock()
            self._log(**figures, elapsed=round(self.loop.seconds, 3))

    def _step(self) -> None:
        config, loop, control = self.config, self.loop, self.control
        began = time.perf_counter()
        loop.step += 1
        figures = self.task.compute_gradients()
        rate = learning_rate(
            loop.step,
            d_model=self.learner.model.config.d_model,
            warmup=config.warmup,
            peak=config.learning_rate,
            progress=control.progress,
            cooldown=config.cooldown,
        )
        rate *= control.learning_rate_factor
        self.task.before_update()
        norm = self.learner.update(rate, config.clip_norm)
        if not math.isfinite(figures["loss"]) or not math.isfinite(norm):
            raise TrainingError(
                f"the loss was {figures['loss']} and the gradient's norm {norm} at step "
                f"{loop.step}: lower the learning rate, or raise warmup above {config.warmup}"
            )
        self._log(
            **figures,
            learning_rate=rate,
            learning_rate_factor=control.learning_rate_factor,
            gradient_norm=norm,
            seconds=time.perf_counter() - began,
            share=control.progress,
        )

    def _validate(self) -> None:
        loop, loss = self.loop, self.task.validation_loss()
        loop.worse = 0 if loss < loop.best_valid else loop.worse + 1
        loop.best_valid = min(loss, loop.best_valid)
        self._log(valid_loss=loss, perplexity=math.exp(min(loss, 700.0)))

    def _save(self) -> None:
        """Save the resume file and the task's weights and checkpoint, once per step."""
        if self.loop.step not in (0, self._saved_step):
            self.task.keep_weights(self.loop.step)
            self.learner.save(self.run, self.loop)
            self.task.save_model()
            self._write_state("running")
            self._saved_step = self.loop.step

    def _log(self, **figures: Any) -> None:
        line = {"step": self.loop.step, **figures}
        self.run.append_metrics(line)
        self.report(line)

    def _write_state(self, status: Status, reason: str = "") -> None:
        self.run.write_state(
            status,
            reason,
            step=self.loop.step,
            seconds=round(self.loop.seconds, 1),
            device=str(self.task.device),
            precision=self.loop.precision,
            **self._environment,
        )
