"""Training of one layer type of Table 1 on the task "gap": copying a word over a distance.

The run has a folder, control.json and saves like any other run, but no checkpoint, because the
model is a tagger and not a translator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from transformer.config import ModelConfig, TrainingConfig, did_you_mean
from transformer.model.tagger import Tagger, count_weights, match_parameters, receptive_field
from transformer.text.tasks.gap import NO_TAG, GapTask, TaggedSequences
from transformer.training.learner import N_SEEDS, MixedPrecision
from transformer.training.recipe import split_settings
from transformer.training.run_config import Layer, LayerRun, RaceEntry
from transformer.training.run_folder import LoopState, RunFolder
from transformer.training.trainer import TrainTask

TASK = "gap"
REFERENCE_LAYER = "self-attention"
"""The layer type whose number of weights the other types are matched to."""
N_EVALUATIONS = 10  # besides the one before the first step
VALID_PER_DISTANCE = 64  # validation sequences per distance
N_EXAMPLES = 6
_SHAPE = {"d_model": 32, "n_layers": 2, "n_heads": 1, "d_ff": 128, "dropout": 0.0}
_TRAINING = {
    "steps": 500,
    "batch_tokens": 2144,  # 32 sequences of 67 positions
    "warmup": 300,
    "learning_rate": 0.005,
    "cooldown": 0.4,
    "label_smoothing": 0.0,
    "save_every": 250,
    "precision": "fp32",
}


def make_layer_run_config(
    task: str = TASK,
    *,
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, int] | None = None,
    device: str = "cpu",
    title: str = "",
    race: RaceEntry | None = None,
) -> LayerRun:
    """Return the config of one run, as `recipe.make_run_config` does for the other tasks.

    Args:
        task: must be "gap".
        settings: "layer", "k" and "r" of the `Tagger`; fields of `ModelConfig` and
            `TrainingConfig`. d_ff is that of self-attention; another layer type gets the d_ff that
            gives it the same number of weights.
        options: fields of `GapTask`.

    Raises ValueError for an unknown task or name, or an invalid value.
    """
    if task != TASK:
        raise ValueError(f"layer types are compared on the task {TASK!r}, not on {task!r}")
    all_settings = {
        **_SHAPE,
        **_TRAINING,
        "layer": REFERENCE_LAYER,
        "k": 3,
        "r": 5,
        **(settings or {}),
    }
    shape, training = split_settings(all_settings, ("layer", "k", "r"))
    gap = _gap_task(options or {})
    model = ModelConfig.from_dict({**shape, "vocab_size": gap.symbols, "max_len": gap.length})
    layer, sizes = (
        str(all_settings["layer"]),
        {"k": int(all_settings["k"]), "r": int(all_settings["r"])},
    )
    weights = count_weights(REFERENCE_LAYER, model, gap.letters)
    model = match_parameters(layer, model, gap.letters, weights, **sizes)
    field = receptive_field(layer, model.n_layers, **sizes)
    return LayerRun(
        layer=Layer(
            layer,
            **sizes,
            weights=count_weights(layer, model, gap.letters, **sizes),
            reach=None if field == math.inf else int(field),
        ),
        model=model,
        training=TrainingConfig.from_dict(training),
        task=task,
        options=asdict(gap),
        device=device,
        title=title,
        race=race,
    )


def _gap_task(options: Mapping[str, int]) -> GapTask:
    known_options = {field.name for field in fields(GapTask)}
    for name in options:
        if name not in known_options:
            raise ValueError(
                f"the task {TASK} has no option {name!r}{did_you_mean(name, known_options)}"
            )
    return GapTask(**options)


class LayerRace(TrainTask):
    """Training of a stack of one layer type, with new random sequences at every step; takes the
    config of `make_layer_run_config`."""

    def __init__(
        self, run: RunFolder, config: LayerRun, loop: LoopState, device: torch.device
    ) -> None:
        self.run, self.loop, self.device = run, loop, device
        self.config, self.gap = config.training, _gap_task(config.options)
        loop.precision = "fp32"
        torch.manual_seed(self.config.seed % N_SEEDS)
        layer = config.layer
        with torch.device("cpu"):  # the same weights for a seed, on every device
            model = Tagger(layer.name, config.model, self.gap.letters, k=layer.k, r=layer.r)
        self.learner = MixedPrecision(model.to(device), torch.float32)
        self.valid = [
            self.gap.draw(np.random.default_rng(distance), VALID_PER_DISTANCE, distance=distance)
            for distance in self.gap.distances
        ]
        self._evaluated_step = -1  # step of the last evaluation

    def rewind(self, step: int) -> None:
        """Find the last evaluated step; the run folder has already dropped later ones."""
        self._evaluated_step = max((line["step"] for line in self.run.examples()), default=-1)

    def compute_gradients(self) -> dict[str, float]:
        """Compute the gradients on new random sequences."""
        config = self.config
        # Each step has its own seed, so that a resumed run draws the same sequences.
        rng = np.random.default_rng([config.seed, self.loop.step])
        count = max(1, config.batch_tokens // self.gap.length)
        ids, tags = self._on_device(self.gap.draw(rng, count))
        for weight in self.learner.model.parameters():
            weight.grad = None
        logits = self.learner.model(ids)
        loss = functional.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=NO_TAG)
        loss.backward()
        return {"loss": loss.item(), "tokens": ids.numel()}

    @torch.no_grad()
    def evaluate_if_due(self, fraction: float, *, final: bool) -> dict[str, Any]:
        """Evaluate each distance on fixed validation sequences."""
        step, interval = self.loop.step, max(1, self.config.steps // N_EVALUATIONS)
        if self._evaluated_step == step or (step % interval and not final):
            return {}
        self._evaluated_step = step
        losses, sequence_accuracies, by_distance, examples = [], [], {}, []
        for distance, sequences in zip(self.gap.distances, self.valid, strict=True):
            ids, tags = self._on_device(sequences)
            labelled = tags != NO_TAG
            logits = self.learner.model(ids)[labelled].view(len(ids), self.gap.word, -1)
            expected = tags[labelled].view(len(ids), self.gap.word)
            predicted = logits.argmax(-1)
            correct = predicted == expected
            losses.append(functional.cross_entropy(logits.flatten(0, 1), expected.flatten()).item())
            sequence_accuracies.append(correct.all(-1).float().mean().item())
            by_distance[str(distance)] = correct.float().mean().item()
            examples.append(self._example(sequences, predicted[0].tolist(), expected[0].tolist()))
        self.run.append_examples(step, examples[:: -(-len(examples) // N_EXAMPLES)])
        return {
            "valid_loss": float(np.mean(losses)),
            "sequence_accuracy": float(np.mean(sequence_accuracies)),
            "token_accuracy": float(np.mean([*by_distance.values()])),
            "by_distance": by_distance,
        }

    def _example(
        self, sequences: TaggedSequences, predicted: list[int], expected: list[int]
    ) -> dict[str, Any]:
        return {
            "src": self.gap.sequence_text(sequences.ids[0]),
            "tgt": self.gap.tag_text(expected),
            "output": self.gap.tag_text(predicted),
            "right": predicted == expected,
        }

    def _on_device(self, sequences: TaggedSequences) -> list[torch.Tensor]:
        return [torch.from_numpy(part).to(self.device) for part in (sequences.ids, sequences.tags)]
