"""The training loop (section 5), one for all tasks, and what a task is to it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

import torch

from transformer.allocator import keep_freed_memory
from transformer.config import TrainingConfig
from transformer.training.distributed import World
from transformer.training.errors import TrainingError, as_training_error
from transformer.training.learner import MixedPrecision
from transformer.training.machine import fitting_threads, made_with
from transformer.training.run import Progress, RunFolder, Status
from transformer.training.run_control import RunControl
from transformer.training.saving import load_resume, save_resume
from transformer.training.schedule import learning_rate


class TrainTask:
    """A model with its data, as `Trainer` asks for them; what a task has no use for stays as it is.

    Attributes:
        learner: the exact weights, their working copy and Adam.
        validates: whether `validation_loss` is to be asked every `valid_every` steps.
    """

    learner: MixedPrecision[Any]
    validates = False

    def gradients(self) -> dict[str, float]:
        """Set the exact weights' gradients to those of the next step's loss, and go on.

        Returns:
            "loss" in nats, "tokens", and what else belongs on the step's line of metrics.jsonl.
        """
        raise NotImplementedError

    def before_update(self) -> None:
        """The gradients are set, the weights not yet changed."""

    def look(self, share: float, *, whole: bool) -> dict[str, Any]:
        """Look at the model, if it is time to; what was measured, for metrics.jsonl.

        Args:
            share: of the run that is over, 0 to 1.
            whole: look at everything, whatever it takes: the end of the run.
        """
        return {}

    def validation_loss(self) -> float:
        """Mean negative log-likelihood of a validation token, in nats."""
        raise NotImplementedError

    def rewind(self, step: int) -> None:
        """Forget what was kept after `step`: a resumed run takes those steps again."""

    def keep_weights(self, step: int) -> None:
        """Before the state to resume from is saved. Raises OSError."""

    def save_model(self) -> None:
        """After the state to resume from has been saved. Raises OSError."""


Report = Callable[[dict[str, Any]], None]


class Trainer:
    """Trains one task in one run folder; `train()` starts or resumes and returns the status.

    A run that resumes takes the very steps that it would have taken without the stop. With
    `minutes` the clock has a say in when the rate falls, so there the steps differ a little.
    """

    def __init__(
        self,
        run: RunFolder,
        config: TrainingConfig,
        task: TrainTask,
        progress: Progress,
        *,
        device: torch.device,
        world: World,
        report: Report = lambda _: None,
    ) -> None:
        """`progress` is where the run stands; `report` gets every line of metrics.jsonl."""
        keep_freed_memory()
        self.run, self.config, self.task, self.progress = run, config, task, progress
        self.learner = task.learner
        self.device, self.world, self.report = device, world, report
        self.control = RunControl(run, config, progress, world, device)
        self._saved_step = -1
        self._made_with: dict[str, Any] = {}

    def train(self) -> Status:
        """Run until the steps, the minutes or the patience are used up, or until told to stop.
        Raises TrainingError if the loss is no longer a number, a file cannot be written or the
        memory is not enough; then the state is "failed" and the next start resumes from the last
        save."""
        try:
            weights = sum(weight.numel() for weight in self.learner.model.parameters())
            threads = fitting_threads(weights, self.config.batch_tokens)
            with self.control.handle_signals(), threads:
                self._made_with = made_with()
                self._rewind()
                reason = self._loop()
                self._save()
        except Exception as error:
            failure = as_training_error(error, self.progress.step, self.config.batch_tokens)
            with contextlib.suppress(OSError):  # a full disk may be what failed
                self._write_state("failed", str(failure))
            if failure is error:
                raise
            raise failure from error
        status: Status = "cancelled" if self.control.stopped else "finished"
        self._write_state(status, reason)
        return status

    def _rewind(self) -> None:
        """Go back to the last save: what a killed run did after it is done again."""
        if self.progress.step:
            load_resume(self.run, self.learner)
        if self.world.is_main:
            self.run.rewind(self.progress.step)
            self.task.rewind(self.progress.step)
        self._write_state("running")

    def _loop(self) -> str:
        """Take steps until there is a reason to end, and return it."""
        config, progress, control = self.config, self.progress, self.control
        while True:
            control.agree()
            if control.paused:
                self._pause()
            if control.save:
                self._save()
            if reason := control.reason_to_end():
                if not control.stopped:
                    self._look(whole=True)
                return reason
            self._look()
            self._step()
            control.tick()
            if self.task.validates and progress.step % config.valid_every == 0:
                self._validate()
            if progress.step % config.save_every == 0:
                self._save()

    def _pause(self) -> None:
        """Nap until told otherwise; a process that is killed meanwhile goes on from here."""

        def write_paused() -> None:
            self._write_state("paused", f"paused after step {self.progress.step}")

        def save() -> None:
            if self.control.save:
                self._save()
                write_paused()

        if self.world.is_main and self.progress.step:
            save_resume(self.run, self.learner, self.progress)
        write_paused()
        self.control.wait(save)
        self._write_state("running")

    def _look(self, *, whole: bool = False) -> None:
        """What the task sees, if it is time for a look."""
        figures = self.task.look(self.control.share, whole=whole)
        if figures:
            self.control.tick()
            self._log(**figures, elapsed=round(self.progress.seconds, 3))

    def _step(self) -> None:
        config, progress, control = self.config, self.progress, self.control
        began = time.perf_counter()
        progress.step += 1
        figures = self.task.gradients()
        rate = learning_rate(
            progress.step,
            d_model=self.learner.model.config.d_model,
            warmup=config.warmup,
            peak=config.learning_rate,
            progress=control.share,
            cooldown=config.cooldown,
        )
        rate *= control.factor
        self.task.before_update()
        norm = self.learner.update(rate, config.clip_norm)
        if not math.isfinite(figures["loss"]) or not math.isfinite(norm):
            raise TrainingError(
                f"the loss was {figures['loss']} and the gradient's norm {norm} at step "
                f"{progress.step}: lower the learning rate, or raise warmup above {config.warmup}"
            )
        self._log(
            **figures,
            learning_rate=rate,
            learning_rate_factor=control.factor,
            gradient_norm=norm,
            seconds=time.perf_counter() - began,
            share=control.share,
        )

    def _validate(self) -> None:
        progress, loss = self.progress, self.task.validation_loss()
        progress.worse = 0 if loss < progress.best_valid else progress.worse + 1
        progress.best_valid = min(loss, progress.best_valid)
        self._log(valid_loss=loss, perplexity=math.exp(min(loss, 700.0)))

    def _save(self) -> None:
        """The state to resume from, and what the task keeps of the model."""
        if self.world.is_main and self.progress.step not in (0, self._saved_step):
            self.task.keep_weights(self.progress.step)
            save_resume(self.run, self.learner, self.progress)
            self.task.save_model()
            self._write_state("running")
            self._saved_step = self.progress.step
        self.world.barrier()

    def _log(self, **figures: Any) -> None:
        if self.world.is_main:
            line = {"step": self.progress.step, **figures}
            self.run.append_metrics(line)
            self.report(line)

    def _write_state(self, status: Status, reason: str = "") -> None:
        if self.world.is_main:
            self.run.write_state(
                status,
                reason,
                step=self.progress.step,
                seconds=round(self.progress.seconds, 1),
                device=str(self.device),
                precision=self.progress.precision,
                processes=self.world.size,
                **self._made_with,
            )
