"""The task of a translation model: pairs in batches, the smoothed loss, looks, averaged weights."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from transformer.config import ModelConfig, TrainingConfig
from transformer.model import Transformer
from transformer.text.batching import make_batch
from transformer.training.data import Prepared, batches_from, epoch_plan
from transformer.training.distributed import World
from transformer.training.evaluation_callback import EvaluationCallback
from transformer.training.evaluator import ProbeSet
from transformer.training.learner import Learner
from transformer.training.machine import SEEDS, choose_precision, seed_draw
from transformer.training.run import Progress, RunFolder
from transformer.training.saving import LastWeights
from transformer.training.trainer import TrainTask

Card = Callable[[Progress, int], str]  # where the run stands, how many weights are averaged


class TranslationTask(TrainTask):
    """One model of the paper that learns from pairs, on as many processes as `world` has.

    Its checkpoint is the average of the last saved weights (section 6.1).
    """

    def __init__(
        self,
        run: RunFolder,
        model_config: ModelConfig,
        config: TrainingConfig,
        data: Prepared,
        progress: Progress,
        *,
        device: torch.device,
        world: World,
        card: Card,
        start: Transformer | None = None,
        probe_set: ProbeSet | None = None,
    ) -> None:
        """`card` makes the checkpoint's model card. A new run begins with the weights of `start`,
        if given, instead of random ones. Of `probe_set` the first process writes down what it sees.
        Raises ValueError if vocabulary and model do not fit, or there is no such matrix to inspect.
        """
        data.vocabulary.check(model_config)
        self.config, self.data, self.progress = config, data, progress
        self.device, self.world, self.card = device, world, card
        again = config.precision == "auto" and progress.precision
        progress.precision, dtype = choose_precision(again or config.precision, device, world)
        torch.manual_seed(config.seed % SEEDS)
        model = Transformer(model_config)
        if start is not None:
            model.load_state_dict(start.state_dict())
        self.learner: Learner = Learner(model.to(device), dtype, world)
        self._make_batch = functools.partial(
            make_batch, pad_id=model_config.pad_id, bos_id=model_config.bos_id
        )
        self.last = LastWeights(run, config.average)
        self.callback: EvaluationCallback | None = None
        if probe_set is not None and world.is_main:
            resumed = progress.step > 0
            self.callback = EvaluationCallback(
                run, self.learner, data.vocabulary, probe_set, resumed=resumed
            )
        # A look measures the validation loss as well; patience counts at steps of its own.
        self.validates = probe_set is None or config.patience > 0

    @functools.cached_property
    def _batches(self) -> Any:
        return batches_from(self.data, self.config, self.progress)

    def gradients(self) -> dict[str, float]:
        """Gradients of this process's share of the next batch."""
        config, step, world = self.config, self.progress.step, self.world
        epoch, indices = next(self._batches)
        # Each step has its own seed, so that a resumed run draws the same dropout masks.
        seed_draw(config.seed, step * world.size + world.rank, self.device)
        mine = indices[world.rank :: world.size]
        batch = self._make_batch(epoch, mine).to(self.device) if len(mine) else None
        positions = int(epoch.tgt_lengths[indices].sum())
        sums = self.learner.gradients(
            batch, positions, config.label_smoothing, config.blur_price, config.likeness_price
        )
        self.progress.batch += 1
        return {
            "loss": sums.smoothed / positions,
            "nll": sums.plain / positions,
            "tokens": positions + int(epoch.src_lengths[indices].sum()),
        }

    def before_update(self) -> None:
        """The callback shows the step of one matrix."""
        if self.callback is not None:
            self.callback.before_update()

    def look(self, share: float, *, whole: bool) -> dict[str, Any]:
        """What the callback sees."""
        if self.callback is None:
            return {}
        progress = self.progress
        figures = self.callback.look(progress.step, share, progress.seconds, whole=whole)
        if figures and not self.validates:  # else patience counts from the whole set, no sample
            progress.best_valid = min(progress.best_valid, figures["valid_loss"])
        return figures

    def validation_loss(self) -> float:
        """Loss of all validation pairs, nats a token."""
        valid = self.data.valid
        mine = epoch_plan(valid, self.config.batch_tokens)[self.world.rank :: self.world.size]
        batches = (self._make_batch(valid, indices) for indices in mine)
        sums = self.learner.validate(batches, int(valid.tgt_lengths.sum()))
        return sums.plain / sums.positions

    def rewind(self, step: int) -> None:
        """Drop the later weights to average."""
        self.last.rewind(step)

    def keep_weights(self, step: int) -> None:
        """To be averaged."""
        self.last.add(self.learner.model, step)

    def save_model(self) -> None:
        """The average, as a checkpoint with its card."""
        card = self.card(self.progress, len(self.last))
        self.last.save_mean(self.learner.model.config, self.data.vocabulary, card)
