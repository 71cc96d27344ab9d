"""How long a run will take, told before it begins: a few steps of its shape, measured here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean, median
from typing import Any, NamedTuple

import torch

from transformer.allocator import keep_freed_memory
from transformer.config import ModelConfig
from transformer.device import choose_device
from transformer.model import Transformer
from transformer.run_config import TaskRun, TrainingRun
from transformer.text.batching import Batch
from transformer.training.data import PAIRS_OF_A_TASK, task_named
from transformer.training.distributed import World
from transformer.training.evaluation_callback import SHARE
from transformer.training.learner import Learner
from transformer.training.machine import choose_precision, fitting_threads

SAMPLE = 200  # pairs whose lengths are looked at
PREPARING = 2.0  # seconds from the start to the first step: text, vocabulary, model
PER_WORD, CHARACTERS = 1.5, 4  # pieces of a word, and characters of a piece
TRIALS, LONGEST = 9, 1.0  # steps that are measured at most, and seconds


class Estimate(NamedTuple):
    """Weights of the model, steps at most, seconds from start to end."""

    parameters: int
    steps: int
    seconds: float


class Workload(NamedTuple):
    """What a step's time depends on: the model, the batch, the machine's settings, the lengths."""

    model: ModelConfig
    batch_tokens: int
    precision: str
    device: str
    n_src: int
    n_tgt: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**self._asdict(), "model": self.model.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Workload:
        """The inverse of `to_dict`. Raises ValueError, TypeError or KeyError for anything else."""
        return cls(**{**values, "model": ModelConfig.from_dict(values["model"])})


def estimate(config: TrainingRun, pairs: Sequence[tuple[str, str]] = ()) -> Estimate:
    """What a run takes, if it has the machine as it is now.

    Measures once for each shape, for about a second; then the answer is at hand. Takes what a
    step of the run takes of memory and threads: a server has `compute` called beside it instead.

    Args:
        pairs: some of the user's own, for the length of their sentences.
    """
    return total(config, *measured(workload(config, pairs)))


def total(config: TrainingRun, weights: int, step: float) -> Estimate:
    """The whole run's estimate, from the seconds of a `step`."""
    training = config.training
    with_evaluations = 1 + SHARE / 2  # they may take 15%, and seldom do
    seconds = training.steps * step * with_evaluations
    if training.minutes:
        seconds = min(seconds, 60 * training.minutes)
    return Estimate(weights, training.steps, PREPARING + seconds)


def workload(config: TrainingRun, pairs: Sequence[tuple[str, str]] = ()) -> Workload:
    """What is to be measured for this run; counts, and computes nothing."""
    training = config.training
    asked = (config.model, training.batch_tokens, training.precision, config.device)
    return Workload(*asked, *_lengths(config, pairs))


def _lengths(config: TrainingRun, pairs: Sequence[tuple[str, str]]) -> tuple[int, int]:
    """Usual pieces of a source and of a target, `</s>` counted, of the pairs that are trained on:
    those that have a side of more than the run's `max_pieces` are left out there, and here."""
    most = config.max_pieces
    if isinstance(config, TaskRun):
        own = {k: v for k, v in config.options.items() if k not in PAIRS_OF_A_TASK}
        counted = _drawn(config.task, tuple(sorted(own.items())))
    else:
        counted = [(_pieces(src, most), _pieces(tgt, most)) for src, tgt in pairs[:SAMPLE]]
    if not counted:
        return 12, 12
    kept = [both for both in counted if max(both) <= most] or [(most, most)]
    n_src, n_tgt = (1 + round(fmean(side)) for side in zip(*kept, strict=True))
    return n_src, n_tgt


@lru_cache(maxsize=64)
def _drawn(name: str, own: tuple[tuple[str, int], ...]) -> list[tuple[int, int]]:
    """Symbols of both sides of some pairs of a task with these options."""
    task, options = task_named(name), dict(own)
    drawn = task.pairs(min(SAMPLE, task.count(**options)), 0, **options)
    return [(len(each.src.split()), len(each.tgt.split())) for each in drawn]


def _pieces(text: str, most: int) -> int:
    """About how many pieces a vocabulary of some thousand makes of a text; `most` + 1 for more."""
    begin = text[: CHARACTERS * (most + 1)]
    words = PER_WORD * len(begin.split())
    return min(most + 1, round(max(words, len(begin) / CHARACTERS)))


def compute(given: Mapping[str, Any], progress: Callable[[float, str], object]) -> dict[str, Any]:
    """A `Workload`'s "weights" and the "seconds" of a step, for a process of its own."""
    progress(0.0, "measuring a step")
    weights, seconds = measured(Workload.from_dict(given))
    return {"weights": weights, "seconds": seconds}


@lru_cache(maxsize=64)
def measured(work: Workload) -> tuple[int, float]:
    """Weights, and seconds of a step; keeps the caller's random numbers as they were."""
    config, batch_tokens, precision, device_name, n_src, n_tgt = work
    device = choose_device(device_name)
    keep_freed_memory()
    with torch.random.fork_rng(devices=[]):
        _, dtype = choose_precision(precision, device, World())
        learner = Learner(Transformer(config).to(device), dtype, World())
        rows = max(1, batch_tokens // (n_src + n_tgt))
        src = torch.randint(4, config.vocab_size, (rows, n_src))
        tgt = torch.randint(4, config.vocab_size, (rows, n_tgt))
        batch = Batch(src, tgt, tgt, rows * (n_src + n_tgt)).to(device)
        weights = sum(weight.numel() for weight in learner.model.parameters())
        took: list[float] = []
        with fitting_threads(weights, batch_tokens):
            for trial in range(TRIALS + 2):
                began = time.perf_counter()
                learner.gradients(batch, rows * n_tgt, 0.1)
                learner.update(1e-4, 1.0)
                if trial >= 2 or time.perf_counter() - began > LONGEST:  # two to warm up
                    took.append(time.perf_counter() - began)
                if sum(took) > LONGEST:
                    break
    return weights, median(took)
