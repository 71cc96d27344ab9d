"""Training of a translation model: batches, smoothed loss, evaluations, averaged checkpoint."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig, TrainingConfig
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.batching import make_batch
from transformer.training.data import PreparedData, batches_from, epoch_plan
from transformer.training.evaluation_callback import EvaluationCallback
from transformer.training.evaluator import ProbeSet
from transformer.training.learner import DTYPES, N_SEEDS, Learner, save_tensors, seed_generator
from transformer.training.run_folder import LoopState, RunFolder
from transformer.training.trainer import TrainTask

Card = Callable[[LoopState, int], str]  # (loop state, number of averaged weights) -> model card


class TranslationTask(TrainTask):
    """Training of the paper's model on sentence pairs.

    The checkpoint is the mean of the last saved weights (section 6.1).
    """

    def __init__(
        self,
        run: RunFolder,
        model_config: ModelConfig,
        config: TrainingConfig,
        data: PreparedData,
        loop: LoopState,
        *,
        device: torch.device,
        card: Card,
        start: Transformer | None = None,
        probe_set: ProbeSet | None = None,
    ) -> None:
        """Initialise the model and its evaluations.

        Args:
            card: returns the model card of the checkpoint.
            start: model whose weights a new run starts with; default: random weights.
            probe_set: sentences to evaluate; default: no evaluations.

        Raises ValueError if vocabulary and model do not match, or the matrix to inspect is unknown.
        """
        data.vocabulary.check(model_config)
        self.config, self.data, self.loop = config, data, loop
        self.device, self.card = device, card
        loop.precision = config.precision
        torch.manual_seed(config.seed % N_SEEDS)
        with torch.device("cpu"):  # the same weights for a seed, on every device
            model = Transformer(model_config)
        if start is not None:
            model.load_state_dict(start.state_dict())
        self.learner: Learner = Learner(
            model.to(device), DTYPES[config.precision], config.weight_decay
        )
        self._make_batch = functools.partial(
            make_batch, pad_id=model_config.pad_id, bos_id=model_config.bos_id
        )
        self.averager = WeightAverager(run, config.average)
        self.callback: EvaluationCallback | None = None
        if probe_set is not None:
            is_default = config.valid_every == TrainingConfig.valid_every
            self.callback = EvaluationCallback(
                run,
                self.learner,
                data.vocabulary,
                probe_set,
                resumed=loop.step > 0,
                measure_every=0 if is_default else config.valid_every,
                time_limited=config.minutes > 0,
            )
        # Evaluations measure the validation loss too, but patience needs it at fixed steps.
        self.validates = probe_set is None or config.patience > 0

    @functools.cached_property
    def _batches(self) -> Any:
        return batches_from(self.data, self.config, self.loop)

    def compute_gradients(self) -> dict[str, float]:
        """Compute the gradients on the next batch."""
        config = self.config
        epoch, indices = next(self._batches)
        # Each step has its own seed, so that a resumed run draws the same dropout masks.
        seed_generator(config.seed, self.loop.step, self.device)
        totals = self.learner.compute_gradients(
            self._make_batch(epoch, indices).to(self.device),
            config.label_smoothing,
            config.sharpness_penalty,
            config.diversity_penalty,
        )
        self.loop.batch += 1
        return {
            "loss": totals.smoothed / totals.positions,
            "nll": totals.plain / totals.positions,
            "tokens": totals.positions + int(epoch.src_lengths[indices].sum()),
        }

    def before_update(self) -> None:
        """Let the callback record the weights of the inspected matrix."""
        if self.callback is not None:
            self.callback.before_update()

    def evaluate_if_due(self, progress: float, *, final: bool) -> dict[str, Any]:
        """Run the callback, and update the best validation loss."""
        if self.callback is None:
            return {}
        loop = self.loop
        figures = self.callback.evaluate_if_due(loop.step, progress, loop.seconds, final=final)
        if figures and not self.validates:  # otherwise `validation_loss` sets it
            loop.best_valid = min(loop.best_valid, figures["valid_loss"])
        return figures

    def validation_loss(self) -> float:
        """Return the loss of all validation pairs, in nats per token."""
        valid = self.data.valid
        plan = epoch_plan(valid, self.config.batch_tokens)
        totals = self.learner.validate(self._make_batch(valid, indices) for indices in plan)
        return totals.plain / totals.positions

    def rewind(self, step: int) -> None:
        """Delete weights saved after `step`."""
        self.averager.rewind(step)

    def keep_weights(self, step: int) -> None:
        """Save the weights for averaging."""
        self.averager.add(self.learner.model, step)

    def save_model(self) -> None:
        """Save the mean of the last weights as a checkpoint with its model card."""
        card = self.card(self.loop, len(self.averager))
        self.averager.save_mean(self.learner.model.config, self.data.vocabulary, card)


class WeightAverager:
    """Weights of the last `count` saved steps, one file each, and their mean (section 6.1)."""

    def __init__(self, run: RunFolder, count: int) -> None:
        self.run, self.folder, self.count = run, run.weights_path, count

    def add(self, model: Transformer, step: int) -> None:
        """Save the weights of this step and delete files no longer needed. Raises OSError."""
        weights = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}
        save_tensors(weights, self.folder / f"{step:08d}.safetensors")
        for path in self._files()[: -self.count]:
            path.unlink()

    def rewind(self, step: int) -> None:
        """Delete the weights saved after `step`."""
        for path in self._files():
            if int(path.stem) > step:
                path.unlink()

    def mean(self) -> dict[str, Tensor]:
        """Return the mean of the last `count` saved weights, in float32."""
        files = self._files()[-self.count :]
        total: dict[str, Tensor] = {}
        for path in files:
            for name, tensor in load_file(path).items():
                total[name] = total[name] + tensor if name in total else tensor
        return {name: tensor / len(files) for name, tensor in total.items()}

    def save_mean(self, config: ModelConfig, vocabulary: Vocabulary, card: str) -> None:
        """Write the average as the run's checkpoint, in float16. Raises OSError."""
        model = Transformer(config)
        model.load_state_dict(self.mean())
        save_checkpoint(self.run.checkpoint_path, model, vocabulary, card, dtype=torch.float16)

    def __len__(self) -> int:
        """Number of saved weights to average."""
        return min(self.count, len(self._files()))

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.safetensors"))
