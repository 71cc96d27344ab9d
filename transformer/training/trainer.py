"""The training loop (section 5): the same for the command line and for live training."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from transformer.config import ModelConfig, TrainingConfig
from transformer.model import Transformer
from transformer.text import Pairs, make_batch
from transformer.training.course import Course
from transformer.training.data import Prepared, batches_from, epoch_plan
from transformer.training.distributed import World
from transformer.training.errors import TrainingError, told
from transformer.training.learner import Learner
from transformer.training.looks import Watched
from transformer.training.machine import (
    SEEDS,
    choose_precision,
    fitting_threads,
    keep_freed_memory,
    made_with,
    seed_draw,
)
from transformer.training.run import RunFolder, Status
from transformer.training.saving import (
    LastWeights,
    Progress,
    load_progress,
    load_resume,
    save_resume,
)
from transformer.training.schedule import learning_rate
from transformer.training.watch import Watch

Report = Callable[[dict[str, Any]], None]
Card = Callable[[Progress, int], str]  # where the run stands, how many weights are averaged


class Trainer:
    """Trains one model in one run folder; `train()` starts or resumes and returns the status.

    A run that resumes takes the very steps that it would have taken without the stop. With
    `minutes` the clock has a say in when the rate falls, so there the steps differ a little.
    """

    def __init__(
        self,
        run: RunFolder,
        model_config: ModelConfig,
        config: TrainingConfig,
        data: Prepared,
        *,
        device: torch.device,
        world: World,
        card: Card,
        report: Report = lambda _: None,
        start: Transformer | None = None,
        watched: Watched | None = None,
    ) -> None:
        """`card` makes the checkpoint's model card; `report` gets every line of metrics.jsonl.

        A new run begins with the weights of `start`, if given, instead of random ones. Of
        `watched` the first process writes down what it sees as the model learns.

        Raises:
            ValueError: if vocabulary and model do not fit, the run cannot be resumed, or there is
                no such matrix to inspect.
        """
        data.vocabulary.check(model_config)
        keep_freed_memory()
        self.run, self.config, self.data = run, config, data
        self.device, self.world, self.card, self.report = device, world, card, report
        self.progress = load_progress(run)
        again = config.precision == "auto" and self.progress.precision
        precision, dtype = choose_precision(again or config.precision, device, world)
        self.progress.precision = precision
        torch.manual_seed(config.seed % SEEDS)
        model = Transformer(model_config)
        if start is not None:
            model.load_state_dict(start.state_dict())
        self.learner = Learner(model.to(device), dtype, world)
        self._make_batch = functools.partial(
            make_batch, pad_id=model_config.pad_id, bos_id=model_config.bos_id
        )
        self.last = LastWeights(run, config.average)
        self.course = Course(run, config, self.progress, world, device)
        self.watch: Watch | None = None
        if watched is not None and world.leads:
            resumed = self.progress.step > 0
            self.watch = Watch(run, self.learner, data.vocabulary, watched, resumed=resumed)
        # A look measures the validation loss as well; patience counts at steps of its own.
        self._validates = watched is None or config.patience > 0
        self._saved_step = -1
        self._made_with: dict[str, Any] = {}

    def train(self) -> Status:
        """Run until the steps, the minutes or the patience are used up, or until told to stop.

        Raises:
            TrainingError: if the loss is no longer a number, a file cannot be written or the
                memory is not enough; then the state is "failed" and the next start resumes from
                the last save.
        """
        try:
            weights = sum(weight.numel() for weight in self.learner.model.parameters())
            threads = fitting_threads(weights, self.config.batch_tokens)
            with self.course.heard(), threads:
                self._made_with = made_with()
                self._rewind()
                reason = self._loop()
                self._save()
        except Exception as error:
            failure = told(error, self.progress.step, self.config.batch_tokens)
            self._fail(failure)
            if failure is error:
                raise
            raise failure from error
        status: Status = "cancelled" if self.course.stopped else "finished"
        self._write_state(status, reason)
        return status

    def _rewind(self) -> None:
        """Go back to the last save: what a killed run did after it is done again."""
        if self.progress.step:
            load_resume(self.run, self.learner)
        if self.world.leads:
            self.run.rewind(self.progress.step)
            self.last.rewind(self.progress.step)
        self._write_state("running")

    def _fail(self, error: Exception) -> None:
        with contextlib.suppress(OSError):  # a full disk may be what failed
            self._write_state("failed", str(error))

    def _loop(self) -> str:
        """Take steps until there is a reason to end, and return it."""
        config, progress, course = self.config, self.progress, self.course
        batches = batches_from(self.data, config, progress)
        while True:
            course.agree()
            if course.paused:
                self._pause()
            if course.save:
                self._save()
            if reason := course.reason_to_end():
                if not course.stopped:
                    self._look(whole=True)
                return reason
            self._look()
            self._step(*next(batches))
            progress.batch += 1
            course.tick()
            if self._validates and progress.step % config.valid_every == 0:
                self._validate()
            if progress.step % config.save_every == 0:
                self._save()

    def _pause(self) -> None:
        """Nap until told otherwise; a process that is killed meanwhile goes on from here."""

        def say() -> None:
            self._write_state("paused", f"paused after step {self.progress.step}")

        def save() -> None:
            if self.course.save:
                self._save()
                say()

        if self.world.leads and self.progress.step:
            save_resume(self.run, self.learner, self.progress)
        say()
        self.course.wait(save)
        self._write_state("running")

    def _look(self, *, whole: bool = False) -> None:
        """What the watch sees, if it is time for a look."""
        progress = self.progress
        if self.watch is None:
            return
        share = self.course.share
        figures = self.watch.look(progress.step, share, progress.seconds, whole=whole)
        if figures:
            if not self._validates:  # else patience counts from the whole set, not from a sample
                progress.best_valid = min(progress.best_valid, figures["valid_loss"])
            self.course.tick()
            self._log(**figures, elapsed=round(progress.seconds, 3))

    def _step(self, epoch: Pairs, indices: npt.NDArray[np.int64]) -> None:
        config, progress, course = self.config, self.progress, self.course
        began = time.perf_counter()
        progress.step += 1
        # Each step has its own seed, so that a resumed run draws the same dropout masks.
        seed_draw(config.seed, progress.step * self.world.size + self.world.rank, self.device)
        mine = indices[self.world.rank :: self.world.size]
        batch = self._make_batch(epoch, mine).to(self.device) if len(mine) else None
        positions = int(epoch.tgt_lengths[indices].sum())
        sums = self.learner.gradients(
            batch, positions, config.label_smoothing, config.blur_price, config.likeness_price
        )
        rate = learning_rate(
            progress.step,
            d_model=self.learner.model.config.d_model,
            warmup=config.warmup,
            peak=config.learning_rate,
            progress=course.share,
            cooldown=config.cooldown,
        )
        rate *= course.factor
        if self.watch is not None:
            self.watch.before_update()
        norm = self.learner.update(rate, config.clip_norm)
        if not math.isfinite(sums.smoothed) or not math.isfinite(norm):
            raise TrainingError(
                f"the loss was {sums.smoothed / positions} and the gradient's norm {norm} at step "
                f"{progress.step}: lower the learning rate, or raise warmup above {config.warmup}"
            )
        self._log(
            loss=sums.smoothed / positions,
            nll=sums.plain / positions,
            learning_rate=rate,
            learning_rate_factor=course.factor,
            gradient_norm=norm,
            tokens=positions + int(epoch.src_lengths[indices].sum()),
            seconds=time.perf_counter() - began,
            share=course.share,
        )

    def _validate(self) -> None:
        progress, loss = self.progress, self.validation_loss()
        progress.worse = 0 if loss < progress.best_valid else progress.worse + 1
        progress.best_valid = min(loss, progress.best_valid)
        self._log(valid_loss=loss, perplexity=math.exp(min(loss, 700.0)))

    def validation_loss(self) -> float:
        """Mean negative log-likelihood of a validation token, in nats."""
        valid = self.data.valid
        mine = epoch_plan(valid, self.config.batch_tokens)[self.world.rank :: self.world.size]
        batches = (self._make_batch(valid, indices) for indices in mine)
        sums = self.learner.validate(batches, int(valid.tgt_lengths.sum()))
        return sums.plain / sums.positions

    def _save(self) -> None:
        """The state to resume from, and the checkpoint of the averaged weights."""
        if self.world.leads and self.progress.step not in (0, self._saved_step):
            self.last.add(self.learner.model, self.progress.step)
            save_resume(self.run, self.learner, self.progress)
            card = self.card(self.progress, len(self.last))
            self.last.save_mean(self.learner.model.config, self.data.vocabulary, card)
            self._write_state("running")
            self._saved_step = self.progress.step
        self.world.wait()

    def _log(self, **figures: Any) -> None:
        if self.world.leads:
            line = {"step": self.progress.step, **figures}
            self.run.append_metrics(line)
            self.report(line)

    def _write_state(self, status: Status, reason: str = "") -> None:
        if self.world.leads:
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
