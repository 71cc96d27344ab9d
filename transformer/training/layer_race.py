"""The race of Table 1's layers: a stack of one of them learns to carry a word over a gap.

A run folder like any other (`run.py`), steered by its control.json, resumed to the same steps; but
it ends without a checkpoint, for what it trains is no translator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from transformer.config import ModelConfig, TrainingConfig, near
from transformer.device import choose_device
from transformer.model.tagger import Tagger, count_weights, match_parameters, receptive_field
from transformer.run_config import Layer, LayerRun, RaceEntry
from transformer.text.tasks.gap import NOTHING, Gap, Tagged
from transformer.training.console import Console
from transformer.training.distributed import World
from transformer.training.learner import MixedPrecision
from transformer.training.machine import SEEDS
from transformer.training.recipe import sides
from transformer.training.run import Progress, RunFolder, Status, load_progress
from transformer.training.trainer import Report, Trainer, TrainTask

TASK = "gap"
STANDARD = "self-attention"
"""The layer whose number of weights all others are fitted to."""
LOOKS = 10  # at the validation sequences, besides the one before the first step
VALID = 64  # validation sequences of each distance
EXAMPLES = 6
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


def describe(
    task: str = TASK,
    *,
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, int] | None = None,
    device: str = "cpu",
    title: str = "",
    race: RaceEntry | None = None,
) -> LayerRun:
    """What is asked of one run, as `recipe.describe` makes it for the other tasks.

    Args:
        task: "gap".
        settings: "layer", as a `Tagger` takes it; its "k" and "r"; fields of `ModelConfig` and
            `TrainingConfig`. d_ff is that of self-attention; another layer gets the d_ff that
            brings it to as many weights.
        options: fields of `Gap`.

    Raises ValueError for a task or a name that there is not, or a value that cannot be.
    """
    if task != TASK:
        raise ValueError(f"layers race on the task {TASK!r}, not on {task!r}")
    wanted = {**_SHAPE, **_TRAINING, "layer": STANDARD, "k": 3, "r": 5, **(settings or {})}
    shape, training = sides(wanted, ("layer", "k", "r"))
    gap = _gap(options or {})
    model = ModelConfig.from_dict({**shape, "vocab_size": gap.symbols, "max_len": gap.length})
    layer, sizes = str(wanted["layer"]), {"k": int(wanted["k"]), "r": int(wanted["r"])}
    weights = count_weights(STANDARD, model, gap.letters)
    model = match_parameters(layer, model, gap.letters, weights, **sizes)
    far = receptive_field(layer, model.n_layers, **sizes)
    return LayerRun(
        layer=Layer(
            layer,
            **sizes,
            weights=count_weights(layer, model, gap.letters, **sizes),
            reach=None if far == math.inf else int(far),
        ),
        model=model,
        training=TrainingConfig.from_dict(training),
        task=task,
        options=asdict(gap),
        device=device,
        title=title,
        race=race,
    )


def _gap(options: Mapping[str, int]) -> Gap:
    known = {field.name for field in fields(Gap)}
    for name in options:
        if name not in known:
            raise ValueError(f"the task {TASK} has no option {name!r}{near(name, known)}")
    return Gap(**options)


def train_layers(run: RunFolder, asked: LayerRun, *, verbose: bool = False) -> Status:
    """Train or resume the run that `describe` described, in this process.

    Raises:
        ValueError: for a config that cannot be; BusyError, which is one, if another process
            trains there.
        TrainingError: if the loss is no longer a number; then the state is "failed".
    """
    with run.held(), ExitStack() as stack:
        report: Report = stack.enter_context(Console()) if verbose else lambda _: None
        progress, device = load_progress(run), choose_device(asked.device)
        task = LayerRace(run, asked, progress, device)
        return Trainer(
            run, asked.training, task, progress, device=device, world=World(), report=report
        ).train()


class LayerRace(TrainTask):
    """One layer of the race: its stack, fresh sequences at every step, looks by distance."""

    def __init__(
        self, run: RunFolder, asked: LayerRun, progress: Progress, device: torch.device
    ) -> None:
        self.run, self.progress, self.device = run, progress, device
        self.config, self.gap = asked.training, _gap(asked.options)
        progress.precision = self.config.precision
        torch.manual_seed(self.config.seed % SEEDS)
        layer = asked.layer
        model = Tagger(layer.name, asked.model, self.gap.letters, k=layer.k, r=layer.r)
        self.learner = MixedPrecision(model.to(device), torch.float32)
        self.valid = [
            self.gap.draw(np.random.default_rng(distance), VALID, distance=distance)
            for distance in self.gap.distances
        ]
        self._looked = -1  # step of the last look

    def rewind(self, step: int) -> None:
        """The run has dropped later looks already."""
        self._looked = max((look["step"] for look in self.run.examples()), default=-1)

    def gradients(self) -> dict[str, float]:
        """Gradients of sequences that no other step sees."""
        config = self.config
        # Each step has numbers of its own, so that a resumed run draws the same sequences.
        rng = np.random.default_rng([config.seed, self.progress.step])
        count = max(1, config.batch_tokens // self.gap.length)
        ids, tags, _ = self._on_device(self.gap.draw(rng, count))
        for weight in self.learner.model.parameters():
            weight.grad = None
        logits = self.learner.model(ids)
        loss = functional.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=NOTHING)
        loss.backward()
        return {"loss": loss.item(), "tokens": ids.numel()}

    @torch.no_grad()
    def look(self, share: float, *, whole: bool) -> dict[str, Any]:
        """At sequences of their own, the same at every look, distance by distance."""
        step, every = self.progress.step, max(1, self.config.steps // LOOKS)
        if self._looked == step or (step % every and not whole):
            return {}
        self._looked = step
        losses, whole_right, by_distance, examples = [], [], {}, []
        for distance, drawn in zip(self.gap.distances, self.valid, strict=True):
            ids, tags, _ = self._on_device(drawn)
            asked = tags != NOTHING
            logits = self.learner.model(ids)[asked].view(len(ids), self.gap.word, -1)
            wanted = tags[asked].view(len(ids), self.gap.word)
            said = logits.argmax(-1)
            right = said == wanted
            losses.append(functional.cross_entropy(logits.flatten(0, 1), wanted.flatten()).item())
            whole_right.append(right.all(-1).float().mean().item())
            by_distance[str(distance)] = right.float().mean().item()
            examples.append(self._example(drawn, said[0].tolist(), wanted[0].tolist()))
        self.run.append_examples(step, examples[:: -(-len(examples) // EXAMPLES)])
        return {
            "valid_loss": float(np.mean(losses)),
            "sequence_accuracy": float(np.mean(whole_right)),
            "token_accuracy": float(np.mean([*by_distance.values()])),
            "by_distance": by_distance,
        }

    def _example(self, drawn: Tagged, said: list[int], wanted: list[int]) -> dict[str, Any]:
        return {
            "src": self.gap.written(drawn.ids[0]),
            "tgt": self.gap.spelled(wanted),
            "output": self.gap.spelled(said),
            "right": said == wanted,
        }

    def _on_device(self, drawn: Tagged) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        ids, tags, distances = (torch.from_numpy(part).to(self.device) for part in drawn)
        return ids, tags, distances
