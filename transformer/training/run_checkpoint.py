"""The checkpoint of a run: the mean of its last saved weights, with a model card."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from transformer.checkpoint import save_checkpoint
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.languages import front_matter
from transformer.training.data import get_task
from transformer.training.learner import save_tensors
from transformer.training.run_config import FilesRun, PairsRun, TaskRun, TrainingRun
from transformer.training.run_folder import LoopState, RunFolder


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

    def save_mean(self, model: Transformer, vocabulary: Vocabulary, card: str) -> None:
        """Write the mean as the run's checkpoint, in float16. Raises OSError.

        Args:
            model: a model of the same shape.
            card: the model card.
        """
        files = self._files()[-self.count :]
        total: dict[str, Tensor] = {}
        for path in files:
            for name, tensor in load_file(path).items():
                total[name] = total[name] + tensor if name in total else tensor
        mean = Transformer(model.config)
        mean.load_state_dict({name: tensor / len(files) for name, tensor in total.items()})
        save_checkpoint(self.run.checkpoint_path, mean, vocabulary, card, dtype=torch.float16)

    def __len__(self) -> int:
        """Number of saved weights to average."""
        return min(self.count, len(self._files()))

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.safetensors"))


def model_card(config: TrainingRun, loop: LoopState, *, n_pairs: int, averaged: int) -> str:
    """Return the model card of a run; licence and scores are added by hand.

    Raises ValueError for invalid language codes.
    """
    model, training = config.model, config.training
    source, initialization, languages = "", "", config.languages
    match config:
        case TaskRun():
            options = ", ".join(f"{name}={value}" for name, value in config.options.items())
            source = f"the task {config.task} with {options}"
            languages = languages or get_task(config.task).languages
        case PairsRun():
            source = config.pairs
        case FilesRun():
            source = ", ".join(map(os.path.basename, config.train))
            if config.start_from:
                initialization = f", initialised from {os.path.basename(config.start_from)}"
    penalties = "".join(
        f", {name} penalty {value} on attention"
        for name in ("sharpness", "diversity")
        if (value := getattr(training, f"{name}_penalty"))
    )
    r_drop = f", R-Drop {training.r_drop}" if training.r_drop else ""
    best_loss = f" Best validation loss {loop.best_valid:.3f} nats per token."
    return (
        f"{front_matter(languages) if languages else ''}"
        "# Model card\n\n"
        f"An encoder–decoder Transformer: {model.n_layers}+{model.n_layers} layers, "
        f"d_model {model.d_model}, {model.n_heads} heads, d_ff {model.d_ff}, "
        f"a vocabulary of {model.vocab_size:,} tokens, score function {model.score}, "
        f"positional encoding {model.positions}.\n\n"
        f"Trained on {n_pairs:,} pairs ({source}){initialization}: {loop.step:,} steps of at most "
        f"{training.batch_tokens:,} source and target positions, "
        f"ending in epoch {loop.epoch + 1:,}, in {loop.seconds / 60:.1f} minutes; "
        f"dropout {model.dropout}, label smoothing {training.label_smoothing}{penalties}{r_drop}, "
        f"seed {training.seed}, precision {loop.precision}."
        f"{best_loss if loop.best_valid < float('inf') else ''} The weights are "
        f"{f'the mean of the last {averaged} saves' if averaged > 1 else 'those of the last save'}"
        ".\n"
    )
