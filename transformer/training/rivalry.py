"""The race of Table 1's layers: a stack of one of them learns to carry a word over a gap.

A run folder like any other (`run.py`), steered by its control.json, resumed to the same steps; but
it ends without a checkpoint, for what it trains is no translator.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from transformer.config import ModelConfig, TrainingConfig, near
from transformer.device import choose_device
from transformer.model.tagger import Tagger, count_weights, fitted, reach
from transformer.text.tasks.gap import NOTHING, Gap, Tagged
from transformer.training.console import Console
from transformer.training.course import Course
from transformer.training.distributed import World
from transformer.training.errors import TrainingError
from transformer.training.learner import Weights
from transformer.training.machine import SEEDS, fitting_threads, made_with
from transformer.training.run import RunFolder, Status
from transformer.training.saving import Progress, load_progress, load_resume, save_resume
from transformer.training.schedule import learning_rate

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
    **more: Any,
) -> dict[str, Any]:
    """The config.json of one run, as `recipe.describe` makes it for the other tasks.

    Args:
        task: "gap".
        settings: "layer", as a `Tagger` takes it; its "k" and "r"; fields of `ModelConfig` and
            `TrainingConfig`. d_ff is that of self-attention; another layer gets the d_ff that
            brings it to as many weights.
        options: fields of `Gap`.
        more: title, race: kept as they are.

    Raises:
        ValueError: for a task or a name that there is not, or a value that cannot be.
    """
    if task != TASK:
        raise ValueError(f"layers race on the task {TASK!r}, not on {task!r}")
    wanted = {**_SHAPE, **_TRAINING, "layer": STANDARD, "k": 3, "r": 5, **(settings or {})}
    of_model = {field.name for field in fields(ModelConfig)}
    of_training = {field.name for field in fields(TrainingConfig)}
    known = of_model | of_training | {"layer", "k", "r"}
    for name in wanted:
        if name not in known:
            raise ValueError(f"there is no setting {name!r}{near(name, known)}")
    gap = _gap(options or {})
    shape = {name: value for name, value in wanted.items() if name in of_model}
    model = ModelConfig.from_dict({**shape, "vocab_size": gap.symbols, "max_len": gap.length})
    layer, sizes = str(wanted["layer"]), {"k": int(wanted["k"]), "r": int(wanted["r"])}
    weights = count_weights(STANDARD, model, gap.letters)
    model = fitted(layer, model, gap.letters, weights, **sizes)
    far = reach(layer, model.n_layers, **sizes)
    training = {name: value for name, value in wanted.items() if name in of_training}
    return {
        **more,
        "layer": {
            "name": layer,
            **sizes,
            "weights": count_weights(layer, model, gap.letters, **sizes),
            "reach": None if far == math.inf else int(far),
        },
        "model": model.to_dict(),
        "training": TrainingConfig.from_dict(training).to_dict(),
        "data": {"task": task, "options": _sizes(gap)},
        "device": device,
    }


def _gap(options: Mapping[str, int]) -> Gap:
    known = {field.name for field in fields(Gap)}
    for name in options:
        if name not in known:
            raise ValueError(f"the task {TASK} has no option {name!r}{near(name, known)}")
    return Gap(**options)


def _sizes(gap: Gap) -> dict[str, int]:
    return {field.name: getattr(gap, field.name) for field in fields(Gap)}


def train_layers(run: RunFolder, asked: Mapping[str, Any], *, spoken: bool = False) -> Status:
    """Train or resume the run that `describe` described, in this process.

    Raises:
        ValueError: for a config that cannot be; BusyError, which is one, if another process
            trains there.
        TrainingError: if the loss is no longer a number; then the state is "failed".
    """
    with run.held(), ExitStack() as stack:
        report: Callable[[dict[str, Any]], None] = lambda _: None  # noqa: E731
        if spoken:
            report = stack.enter_context(Console())
        return _Rival(run, asked, report).train()


class _Rival:
    """One run: its model, its task, and where it stands."""

    def __init__(
        self,
        run: RunFolder,
        asked: Mapping[str, Any],
        report: Callable[[dict[str, Any]], None],
    ) -> None:
        self.run, self.report = run, report
        self.config = TrainingConfig.from_dict(asked["training"])
        self.gap = _gap(asked["data"].get("options", {}))
        self.device = choose_device(asked.get("device", "cpu"))
        self.progress: Progress = load_progress(run)
        torch.manual_seed(self.config.seed % SEEDS)
        layer = asked["layer"]
        model = Tagger(
            layer["name"],
            ModelConfig.from_dict(asked["model"]),
            self.gap.letters,
            k=layer["k"],
            r=layer["r"],
        )
        self.learner = Weights(model.to(self.device), torch.float32)
        self.course = Course(run, self.config, self.progress, World(), self.device)
        self.valid = [
            self.gap.draw(np.random.default_rng(distance), VALID, distance=distance)
            for distance in self.gap.distances
        ]
        self._looked = -1  # step of the last look
        self._made_with: dict[str, Any] = {}

    def train(self) -> Status:
        """Until all steps are taken, or somebody wants the end."""
        if self.progress.step:
            load_resume(self.run, self.learner)
        self.run.rewind(self.progress.step)
        self._looked = max((look["step"] for look in self.run.examples()), default=-1)
        self._state("running")
        weights = sum(weight.numel() for weight in self.learner.model.parameters())
        with self.course.heard(), fitting_threads(weights, self.config.batch_tokens):
            self._made_with = made_with()
            reason = self._loop()
            self._save()
        status: Status = "cancelled" if self.course.stopped else "finished"
        self._state(status, reason)
        return status

    def _loop(self) -> str:
        course, progress = self.course, self.progress
        every = max(1, self.config.steps // LOOKS)
        while True:
            course.agree()
            if course.paused:
                self._pause()
            if course.save:
                self._save()
            reason = course.reason_to_end()
            if (progress.step % every == 0 or reason) and not course.stopped:
                self._look()
            if reason:
                return reason
            self._step()
            course.tick()
            if progress.step % self.config.save_every == 0:
                self._save()

    def _pause(self) -> None:
        self._save()
        self._state("paused", f"paused after step {self.progress.step}")
        self.course.wait(lambda: None)
        self._state("running")

    def _step(self) -> None:
        config, progress = self.config, self.progress
        began = time.perf_counter()
        progress.step += 1
        # Each step has numbers of its own, so that a resumed run draws the same sequences.
        rng = np.random.default_rng([config.seed, progress.step])
        count = max(1, config.batch_tokens // self.gap.length)
        ids, tags, _ = self._on_device(self.gap.draw(rng, count))
        for weight in self.learner.model.parameters():
            weight.grad = None
        logits = self.learner.model(ids)
        loss = functional.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=NOTHING)
        loss.backward()
        rate = learning_rate(
            progress.step,
            d_model=self.learner.model.config.d_model,
            warmup=config.warmup,
            peak=config.learning_rate,
            progress=self.course.share,
            cooldown=config.cooldown,
        )
        rate *= self.course.factor
        norm = self.learner.update(rate, config.clip_norm)
        if not math.isfinite(norm):
            raise TrainingError(
                f"the loss was {loss.item()} and the gradient's norm {norm} at step "
                f"{progress.step}: lower the learning rate, or raise warmup above {config.warmup}"
            )
        self._log(
            loss=loss.item(),
            learning_rate=rate,
            gradient_norm=norm,
            tokens=ids.numel(),
            seconds=time.perf_counter() - began,
            share=self.course.share,
        )

    @torch.no_grad()
    def _look(self) -> None:
        """At sequences of their own, the same at every look, distance by distance."""
        if self._looked == self.progress.step:
            return
        self._looked = self.progress.step
        losses, whole, single, by_distance = [], [], [], {}
        examples = []
        for distance, drawn in zip(self.gap.distances, self.valid, strict=True):
            ids, tags, _ = self._on_device(drawn)
            asked = tags != NOTHING
            logits = self.learner.model(ids)[asked].view(len(ids), self.gap.word, -1)
            wanted = tags[asked].view(len(ids), self.gap.word)
            said = logits.argmax(-1)
            right = said == wanted
            losses.append(functional.cross_entropy(logits.flatten(0, 1), wanted.flatten()).item())
            whole.append(right.all(-1).float().mean().item())
            by_distance[str(distance)] = right.float().mean().item()
            single.append(by_distance[str(distance)])
            examples.append(self._example(drawn, said[0].tolist(), wanted[0].tolist()))
        self.course.tick()
        self._log(
            valid_loss=float(np.mean(losses)),
            sequence_accuracy=float(np.mean(whole)),
            token_accuracy=float(np.mean(single)),
            by_distance=by_distance,
            elapsed=round(self.progress.seconds, 3),
        )
        chosen = examples[:: -(-len(examples) // EXAMPLES)]
        with self.run.examples_path.open("a", encoding="utf-8") as file:
            line = {"step": self.progress.step, "examples": chosen}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

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

    def _save(self) -> None:
        if self.progress.step:
            save_resume(self.run, self.learner, self.progress)

    def _log(self, **figures: Any) -> None:
        line = {"step": self.progress.step, **figures}
        self.run.append_metrics(line)
        self.report(line)

    def _state(self, status: Status, reason: str = "") -> None:
        self.run.write_state(
            status,
            reason,
            step=self.progress.step,
            seconds=round(self.progress.seconds, 1),
            device=str(self.device),
            precision=self.config.precision,
            **self._made_with,
        )
