"""How long a run will take, told before it begins: a few steps of its shape, measured here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import fmean, median
from typing import Any, NamedTuple

import torch

from transformer.config import ModelConfig, TrainingConfig
from transformer.device import choose_device
from transformer.model import Transformer
from transformer.text import Batch
from transformer.training.data import PAIRS_OF_A_TASK, task_named
from transformer.training.distributed import World
from transformer.training.learner import Learner
from transformer.training.machine import choose_precision, fitting_threads, keep_freed_memory
from transformer.training.watch import SHARE

SAMPLE = 200  # pairs whose lengths are looked at
PREPARING = 2.0  # seconds from the start to the first step: text, vocabulary, model
TRIALS, LONGEST = 9, 1.0  # steps that are measured at most, and seconds


class Estimate(NamedTuple):
    """Weights of the model, steps at most, seconds from start to end."""

    parameters: int
    steps: int
    seconds: float


def estimate(config: Mapping[str, Any], pairs: Sequence[tuple[str, str]] = ()) -> Estimate:
    """Of the run that config.json describes, if it has the machine as it is now.

    Measures once for each shape, for about a second; then the answer is at hand.

    Args:
        config: as `recipe.describe` makes it.
        pairs: some of the user's own, for the length of their sentences.

    Raises:
        ValueError: for a config with a wrong value.
    """
    model, training = (
        ModelConfig.from_dict(config["model"]),
        TrainingConfig.from_dict(config["training"]),
    )
    n_src, n_tgt = _lengths(config["data"], pairs)
    weights, step = _measured(
        model, training.batch_tokens, training.precision, config.get("device", "auto"), n_src, n_tgt
    )
    looks = 1 + SHARE / 2  # they may take 15%, and seldom do
    seconds = training.steps * step * looks
    if training.minutes:
        seconds = min(seconds, 60 * training.minutes)
    return Estimate(weights, training.steps, PREPARING + seconds)


def _lengths(data: Mapping[str, Any], pairs: Sequence[tuple[str, str]]) -> tuple[int, int]:
    """Usual pieces of a source and of a target, `</s>` counted."""
    per_word = 1.0
    if "task" in data:
        own = {k: v for k, v in data.get("options", {}).items() if k not in PAIRS_OF_A_TASK}
        task = task_named(data["task"])
        drawn = task.pairs(min(SAMPLE, task.count(**own)), 0, **own)
        pairs = [(example.src, example.tgt) for example in drawn]
    else:
        per_word = 1.5
    if not pairs:
        return 12, 12
    sides = zip(*pairs[:SAMPLE], strict=True)
    n_src, n_tgt = (1 + round(per_word * fmean(len(t.split()) for t in side)) for side in sides)
    return n_src, n_tgt


@lru_cache(maxsize=64)
def _measured(
    config: ModelConfig, batch_tokens: int, precision: str, device_name: str, n_src: int, n_tgt: int
) -> tuple[int, float]:
    """Weights, and seconds of a step; keeps the caller's random numbers as they were."""
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
