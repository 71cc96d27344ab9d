"""The training loop (section 5): the same for the command line and for live training."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import torch

from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig, TrainingConfig
from transformer.model import Transformer
from transformer.text import Batch, TokenStore, batch_plan, make_batch
from transformer.training.data import Prepared
from transformer.training.distributed import World
from transformer.training.learner import Learner
from transformer.training.machine import fastest_precision, keep_freed_memory
from transformer.training.run import RunFolder, Status
from transformer.training.saving import LastWeights, Progress, load_resume, save_resume
from transformer.training.schedule import learning_rate

Report = Callable[[dict[str, Any]], None]
Card = Callable[[Progress], str]


class TrainingError(RuntimeError):
    """Training cannot go on; one sentence says why and at which step."""


class Trainer:
    """Trains one model in one run folder; `train()` starts or resumes and returns the status."""

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
    ) -> None:
        data.vocabulary.check(model_config)
        keep_freed_memory()
        self.run, self.config, self.data = run, config, data
        self.device, self.world, self.card, self.report = device, world, card, report
        self.dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}.get(config.precision)
        if self.dtype is None:
            chosen = float(fastest_precision(device) == torch.bfloat16)
            self.dtype = torch.bfloat16 if world.agree([chosen], device)[0] else torch.float32
        torch.manual_seed(config.seed)
        model = Transformer(model_config).to(device)
        self.learner = Learner(model, self.dtype, world)
        self.progress = Progress()
        self.last = LastWeights(run, config.average)
        self._stop = False

    def train(self) -> Status:
        """Run until the steps, the minutes or the patience are used up, or until told to stop."""
        if self.run.resume_path.is_file():
            self.progress = load_resume(self.run, self.learner)
            if self.world.leads:
                self.run.rewind(self.progress.step)
                self.last.rewind(self.progress.step)
        self._say("running")
        try:
            with self._listening():
                reason = self._loop()
        except TrainingError as error:
            self._say("failed", str(error))
            raise
        status: Status = "cancelled" if self._stop else "finished"
        self._save(final=True)
        self._say(status, reason)
        return status

    def _loop(self) -> str:
        config, now = self.config, self.progress
        started = time.perf_counter() - now.seconds
        for epoch in range(now.epoch, 1 << 31):
            plan = batch_plan(
                self.data.train.src_lengths,
                self.data.train.tgt_lengths,
                batch_tokens=config.batch_tokens,
                seed=config.seed,
                epoch=epoch,
            )
            for number in range(now.batch, len(plan)):
                share, self._stop = self._share_done(started)
                if self._stop:
                    return f"stopped by hand after step {now.step}"
                if share >= 1:
                    return f"all {now.step} steps taken"
                self._step(plan[number], share)
                now.epoch, now.batch = epoch, number + 1
                now.seconds = time.perf_counter() - started
                if now.step % config.valid_every == 0 and self._no_better():
                    return f"no better validation loss in {config.patience} looks"
                if now.step % config.save_every == 0:
                    self._save()
            now.epoch, now.batch = epoch + 1, 0
        raise AssertionError("unreachable: the run ends by steps")

    def _share_done(self, started: float) -> tuple[float, bool]:
        """How much of the run is over (0 to 1), and whether someone asked to stop."""
        share = self.progress.step / self.config.steps
        if self.config.minutes:
            share = max(share, (time.perf_counter() - started) / (60 * self.config.minutes))
        share, stop = self.world.agree([share, float(self._stop)], self.device)
        return share, bool(stop)

    def _step(self, indices: np.ndarray[Any, Any], share: float) -> None:
        config, now = self.config, self.progress
        began = time.perf_counter()
        now.step += 1
        # Each step has its own seed, so that a resumed run draws the same dropout masks.
        torch.manual_seed((config.seed << 40) + now.step * self.world.size + self.world.rank)
        mine = indices[self.world.rank :: self.world.size]
        batch = self._batch(self.data.train, mine).to(self.device) if len(mine) else None
        positions = int(self.data.train.tgt_lengths[indices].sum())
        sums = self.learner.gradients(batch, positions, config.label_smoothing)
        rate = learning_rate(
            now.step,
            d_model=self.learner.model.config.d_model,
            warmup=config.warmup,
            peak=config.learning_rate,
            progress=share,
            cooldown=config.cooldown,
        )
        norm = self.learner.update(rate, config.clip_norm)
        if not math.isfinite(sums.smoothed) or not math.isfinite(norm):
            raise TrainingError(
                f"the loss was {sums.smoothed / positions} and the gradient's norm {norm} at step "
                f"{now.step}: lower the learning rate, or raise warmup above {config.warmup}"
            )
        self._log(
            loss=sums.smoothed / positions,
            nll=sums.plain / positions,
            learning_rate=rate,
            gradient_norm=norm,
            tokens=positions + int(self.data.train.src_lengths[indices].sum()),
            seconds=time.perf_counter() - began,
            share=share,
        )

    def _no_better(self) -> bool:
        """Validate; True when the patience is used up."""
        now = self.progress
        loss = self.validation_loss()
        now.worse = 0 if loss < now.best_valid else now.worse + 1
        now.best_valid = min(loss, now.best_valid)
        self._log(valid_loss=loss, perplexity=math.exp(min(loss, 700.0)))
        return 0 < self.config.patience <= now.worse

    def validation_loss(self) -> float:
        """Mean negative log-likelihood of a validation token, in nats."""
        valid = self.data.valid
        plan = batch_plan(
            valid.src_lengths,
            valid.tgt_lengths,
            batch_tokens=self.config.batch_tokens,
            seed=0,
            epoch=0,
        )
        mine = plan[self.world.rank :: self.world.size]
        sums = self.learner.validate([self._batch(valid, indices) for indices in mine])
        return sums.plain / sums.positions

    def _batch(self, store: TokenStore, indices: np.ndarray[Any, Any]) -> Batch:
        config = self.learner.model.config
        return make_batch(store, indices, pad_id=config.pad_id, bos_id=config.bos_id)

    def _save(self, *, final: bool = False) -> None:
        """The state to resume from, and the checkpoint of the averaged weights."""
        if self.world.leads and self.progress.step:
            if not final or self.progress.step % self.config.save_every:
                self.last.add(self.learner.model, self.progress.step)
            save_resume(self.run, self.learner, self.progress)
            averaged = Transformer(self.learner.model.config)
            averaged.load_state_dict(self.last.mean())
            save_checkpoint(
                self.run.checkpoint_path,
                averaged,
                self.data.vocabulary,
                self.card(self.progress),
                dtype=torch.float16,
            )
        self.world.wait()

    def _log(self, **figures: Any) -> None:
        if self.world.leads:
            line = {"step": self.progress.step, **figures}
            self.run.append_metrics(line)
            self.report(line)

    def _say(self, status: Status, reason: str = "") -> None:
        if self.world.leads:
            self.run.write_state(
                status,
                reason,
                step=self.progress.step,
                seconds=round(self.progress.seconds, 1),
                device=str(self.device),
                precision=str(self.dtype).removeprefix("torch."),
                processes=self.world.size,
            )

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        """Ctrl-C and a polite kill end the run after the step in hand, with everything saved."""

        def stop(number: int, frame: FrameType | None) -> None:
            self._stop = True

        try:
            before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: whoever started it stops it
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
