"""Estimated duration of a run, from a few measured steps of a model of the same shape."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean, median
from typing import Any, NamedTuple

import torch

from transformer.config import ModelConfig
from transformer.inference.device import choose_device
from transformer.model import Transformer
from transformer.text.batching import Batch
from transformer.training.data import get_task, task_options
from transformer.training.evaluation_callback import MAX_TIME_SHARE
from transformer.training.learner import DTYPES, Learner, limit_threads
from transformer.training.run_config import TaskRun, TrainingRun

SAMPLE_PAIRS = 200  # pairs whose lengths are averaged
STARTUP_SECONDS = 2.0  # from the start to the first step: text, vocabulary, model
PIECES_PER_WORD, CHARACTERS_PER_PIECE = 1.5, 4
MAX_TRIALS, MAX_MEASURE_SECONDS = 9, 1.0  # limits of one measurement


class Estimate(NamedTuple):
    """Number of weights, maximum number of steps, and seconds from start to end."""

    parameters: int
    steps: int
    seconds: float


class Workload(NamedTuple):
    """Everything that the duration of a step depends on.

    `n_src` and `n_tgt` are the mean lengths in pieces.
    """

    model: ModelConfig
    batch_tokens: int
    precision: str
    device: str
    n_src: int
    n_tgt: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {**self._asdict(), "model": self.model.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Workload:
        """The inverse of `to_dict`. Raises ValueError, TypeError or KeyError for anything else."""
        return cls(**{**values, "model": ModelConfig.from_dict(values["model"])})


def total_estimate(config: TrainingRun, weights: int, step_seconds: float) -> Estimate:
    """Return the estimate of the complete run from the duration of one step."""
    training = config.training
    evaluation_factor = 1 + MAX_TIME_SHARE / 2  # evaluations usually take less than their limit
    seconds = training.steps * step_seconds * evaluation_factor
    if training.minutes:
        seconds = min(seconds, 60 * training.minutes)
    return Estimate(weights, training.steps, STARTUP_SECONDS + seconds)


def workload(config: TrainingRun, pairs: Sequence[tuple[str, str]] = ()) -> Workload:
    """Return the workload to measure for this run, without measuring it."""
    training = config.training
    settings = (config.model, training.batch_tokens, training.precision, config.device)
    return Workload(*settings, *_mean_lengths(config, pairs))


def _mean_lengths(config: TrainingRun, pairs: Sequence[tuple[str, str]]) -> tuple[int, int]:
    """Return the mean lengths of source and target in pieces, `</s>` included.

    Pairs longer than the run's `max_pieces` are left out, as in training.
    """
    max_pieces = config.max_pieces
    if isinstance(config, TaskRun):
        options = task_options(config.options)
        lengths = _task_lengths(config.task, tuple(sorted(options.items())))
    else:
        lengths = [
            (_count_pieces(src, max_pieces), _count_pieces(tgt, max_pieces))
            for src, tgt in pairs[:SAMPLE_PAIRS]
        ]
    if not lengths:
        return 12, 12
    fitting = [pair for pair in lengths if max(pair) <= max_pieces] or [(max_pieces, max_pieces)]
    n_src, n_tgt = (1 + round(fmean(side)) for side in zip(*fitting, strict=True))
    return n_src, n_tgt


@lru_cache(maxsize=64)
def _task_lengths(name: str, sorted_options: tuple[tuple[str, int], ...]) -> list[tuple[int, int]]:
    """Return (source, target) lengths in symbols of sample pairs of a task."""
    task, options = get_task(name), dict(sorted_options)
    examples = task.pairs(min(SAMPLE_PAIRS, task.count(**options)), 0, **options)
    return [(len(example.src.split()), len(example.tgt.split())) for example in examples]


def _count_pieces(text: str, max_pieces: int) -> int:
    """Estimate the pieces of a text with a vocabulary of a few thousand; at most max_pieces + 1."""
    prefix = text[: CHARACTERS_PER_PIECE * (max_pieces + 1)]
    word_estimate = PIECES_PER_WORD * len(prefix.split())
    return min(max_pieces + 1, round(max(word_estimate, len(prefix) / CHARACTERS_PER_PIECE)))


def compute(
    workload_values: Mapping[str, Any], progress: Callable[[float, str], object]
) -> dict[str, Any]:
    """Measure a `Workload` in a separate process: "weights" and "seconds" of a step."""
    progress(0.0, "measuring a step")
    weights, seconds = measure_step(Workload.from_dict(workload_values))
    return {"weights": weights, "seconds": seconds}


@lru_cache(maxsize=64)
def measure_step(workload: Workload) -> tuple[int, float]:
    """Return the number of weights and the seconds of a step; the caller's random state is kept."""
    config, batch_tokens, precision, device_name, n_src, n_tgt = workload
    device = choose_device(device_name)
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        learner = Learner(Transformer(config).to(device), DTYPES[precision])
        rows = max(1, batch_tokens // (n_src + n_tgt))
        src = torch.randint(4, config.vocab_size, (rows, n_src))
        tgt = torch.randint(4, config.vocab_size, (rows, n_tgt))
        batch = Batch(src, tgt, tgt).to(device)
        weights = sum(weight.numel() for weight in learner.model.parameters())
        durations: list[float] = []
        with limit_threads(weights, batch_tokens):
            for trial in range(MAX_TRIALS + 2):
                began = time.perf_counter()
                learner.compute_gradients(batch, 0.1)
                learner.update(1e-4, 1.0)
                if (
                    trial >= 2 or time.perf_counter() - began > MAX_MEASURE_SECONDS
                ):  # two to warm up
                    durations.append(time.perf_counter() - began)
                if sum(durations) > MAX_MEASURE_SECONDS:
                    break
    return weights, median(durations)
