"""The training loop (section 5), and the interface of the tasks that it trains."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

import torch

from transformer.config import TrainingConfig
from transformer.training.errors import TrainingError, as_training_error
from transformer.training.learner import MixedPrecision
from transformer.training.machine import limit_threads, numeric_environment
from transformer.training.run import LoopState, RunFolder, Status
from transformer.training.run_control import RunControl
from transformer.training.saving import load_resume, save_resume
from transformer.training.schedule import learning_rate


class TrainTask:
    """Interface between `Trainer` and a model with its data; most methods do nothing by default.

    Attributes:
        learner: master weights, working copy and Adam.
        validates: whether `Trainer` calls `validation_loss` every `valid_every` steps.
    """

    learner: MixedPrecision[Any]
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
        loop: LoopState,
        *,
        device: torch.device,
        report: Report = lambda _: None,
    ) -> None:
        """`report` is called with every line of metrics.jsonl."""
        self.run, self.config, self.task, self.loop = run, config, task, loop
        self.learner = task.learner
        self.device, self.report = device, report
        self.control = RunControl(run, config, loop)
        self._saved_step = -1
        self._environment: dict[str, Any] = {}

    def train(self) -> Status:
        """Train until steps, minutes or patience are used up, or a stop is requested.

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
        status: Status = "cancelled" if self.control.stop_requested else "finished"
        self._write_state(status, reason)
        return status

    def _rewind(self) -> None:
        """Load the last save and delete what a killed run wrote after it."""
        if self.loop.step:
            load_resume(self.run, self.learner)
        self.run.rewind(self.loop.step)
        self.task.rewind(self.loop.step)
        self._write_state("running")

    def _loop(self) -> str:
        """Take steps until there is a reason to end, and return it."""
        config, loop, control = self.config, self.loop, self.control
        while True:
            control.poll()
            if control.pause_requested:
                self._pause()
            if control.save_requested:
                self._save()
            if reason := control.end_reason():
                if not control.stop_requested:
                    self._evaluate_if_due(final=True)
                return reason
            self._evaluate_if_due()
            self._step()
            control.update_clock()
            if self.task.validates and loop.step % config.valid_every == 0:
                self._validate()
            if loop.step % config.save_every == 0:
                self._save()

    def _pause(self) -> None:
        """Save the resume file and wait for the end of the pause."""

        def write_paused() -> None:
            self._write_state("paused", f"paused after step {self.loop.step}")

        def save() -> None:
            if self.control.save_requested:
                self._save()
                write_paused()

        if self.loop.step:
            save_resume(self.run, self.learner, self.loop)
        write_paused()
        self.control.wait_while_paused(save)
        self._write_state("running")

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
            save_resume(self.run, self.learner, self.loop)
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
            device=str(self.device),
            precision=self.loop.precision,
            **self._environment,
        )
