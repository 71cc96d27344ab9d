"""The race of the layers of Table 1, and of LSTM and GRU: over what distance can each remember?

Every layer type learns the task "gap", copying a word over a distance, with equally many weights,
the same data and the same steps. `compute` is one long computation (`jobs.Computation`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from transformer.analysis.evidence.verdicts import Claim
from transformer.config import ModelConfig
from transformer.model.tagger import Tagger, count_weights, match_parameters, receptive_field
from transformer.text.tasks.gap import NO_TAG, GapTask, TaggedSequences
from transformer.training.learner import N_SEEDS, MixedPrecision
from transformer.training.schedule import learning_rate


@dataclass(frozen=True)
class Entry:
    """A layer type in the race: a layer of `model.tagger.Tagger` with its sizes k and r."""

    layer: str
    k: int = 3
    r: int = 5


ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        "self-attention": Entry("self-attention"),
        "recurrent": Entry("recurrent"),
        "LSTM": Entry("lstm"),
        "GRU": Entry("gru"),
        "convolutional": Entry("convolutional", k=7),
        "restricted": Entry("restricted", r=9),
        "dilated": Entry("dilated", k=7),
    }
)
REFERENCE_LAYER = "self-attention"
"""The layer type whose number of weights the other types are matched to."""
CLAIMS = (
    Claim("Self-attention beats a recurrent layer", "self-attention", "recurrent"),
    Claim("Self-attention beats a convolution", "self-attention", "convolutional"),
    Claim("Self-attention beats its restricted form", "self-attention", "restricted"),
    Claim("Dilation helps a convolution", "dilated", "convolutional"),
    Claim("A recurrent layer beats a convolution", "recurrent", "convolutional"),
    Claim("An LSTM’s gates help a recurrent layer", "LSTM", "recurrent"),
    Claim("A GRU’s gates help a recurrent layer", "GRU", "recurrent"),
    Claim("Self-attention beats an LSTM", "self-attention", "LSTM"),
)
"""What the race is about; the accuracy of an entry is its mean over all distances."""
SEEDS = (1, 2, 3)
STEPS = 500
SEQUENCES = 32  # of a step
WARMUP, RATE, COOLDOWN = 300, 0.005, 0.4  # as in `schedule.learning_rate`
VALID_PER_DISTANCE = 64  # validation sequences per distance
SHAPE = {"d_model": 32, "n_layers": 2, "n_heads": 1, "d_ff": 128, "dropout": 0.0}
COLUMNS = ("entry", "seed", "distance", "accuracy", "reach", "chance", "weights", "d_ff")


def compute(arguments: Mapping[str, Any], progress: Callable[[float, str], None]) -> dict[str, Any]:
    """Train all entries with each seed, and measure the share of right letters by distance.

    Args:
        arguments: "seeds"; optional "entries" (names), "steps", "task" (fields of `GapTask`) and
            "device", by default all entries on the CPU.

    Returns:
        "when", in seconds since 1970, and "lines": a dict with the keys `COLUMNS` for each entry,
        seed and distance. "reach" is the largest distance within the receptive field, None if it
        is unlimited; "chance" is the accuracy of guessing. Raises ValueError for an unknown entry
        or size.
    """
    task = GapTask(**arguments.get("task", {}))
    steps, device = arguments.get("steps", STEPS), torch.device(arguments.get("device", "cpu"))
    names = arguments.get("entries", [*ENTRIES])
    if unknown := {*names} - {*ENTRIES}:
        raise ValueError(f"no entries {sorted(unknown)}; there are {', '.join(ENTRIES)}")
    runs = [(name, seed) for seed in arguments["seeds"] for name in names]
    lines = []
    for number, (name, seed) in enumerate(runs):
        stage = f"training {name}, seed {seed}"
        model = new_model(ENTRIES[name], task, seed).to(device)

        def report(fraction: float, done: int = number, stage: str = stage) -> None:
            progress((done + fraction) / len(runs), stage)

        train(model, task, steps, seed, report)
        lines += [
            {"entry": name, "seed": seed, "distance": distance, "accuracy": accuracy}
            | _facts(ENTRIES[name], model, task)
            for distance, accuracy in accuracies(model, task).items()
        ]
    return {"when": time.time(), "lines": lines}


def new_model(entry: Entry, task: GapTask, seed: int) -> Tagger:
    """Return an untrained stack of this layer, with the d_ff that gives it as many weights as
    self-attention. The weights depend on the seed only."""
    config = ModelConfig.from_dict({**SHAPE, "vocab_size": task.symbols, "max_len": task.length})
    weights = count_weights(REFERENCE_LAYER, config, task.letters)
    sizes = {"k": entry.k, "r": entry.r}
    config = match_parameters(entry.layer, config, task.letters, weights, **sizes)
    torch.manual_seed(seed % N_SEEDS)
    return Tagger(entry.layer, config, task.letters, **sizes)


def train(
    model: Tagger, task: GapTask, steps: int, seed: int, progress: Callable[[float], None]
) -> None:
    """Take these steps, each on new random sequences."""
    learner = MixedPrecision(model, torch.float32)
    for step in range(steps):
        ids, tags = _tensors(task.draw(np.random.default_rng([seed, step]), SEQUENCES), model)
        model.zero_grad()
        logits = model(ids).flatten(0, 1)
        functional.cross_entropy(logits, tags.flatten(), ignore_index=NO_TAG).backward()
        rate = learning_rate(
            step + 1,
            d_model=model.config.d_model,
            warmup=WARMUP,
            peak=RATE,
            progress=step / steps,
            cooldown=COOLDOWN,
        )
        learner.update(rate, clip_norm=1.0)
        progress((step + 1) / steps)


@torch.no_grad()
def accuracies(model: Tagger, task: GapTask) -> dict[int, float]:
    """Return the share of right letters by their distance, on fixed validation sequences."""
    shares = {}
    for distance in task.distances:
        rng = np.random.default_rng(distance)
        ids, tags = _tensors(task.draw(rng, VALID_PER_DISTANCE, distance=distance), model)
        labelled = tags != NO_TAG
        shares[distance] = (model(ids).argmax(-1) == tags)[labelled].float().mean().item()
    return shares


def _facts(entry: Entry, model: Tagger, task: GapTask) -> dict[str, Any]:
    field = receptive_field(entry.layer, model.config.n_layers, k=entry.k, r=entry.r)
    return {
        "reach": None if field == math.inf else int(field),
        "chance": task.chance,
        "weights": sum(weight.numel() for weight in model.parameters()),
        "d_ff": model.config.d_ff,
    }


def _tensors(sequences: TaggedSequences, model: Tagger) -> list[torch.Tensor]:
    device = model.output.weight.device
    return [torch.from_numpy(part).to(device) for part in (sequences.ids, sequences.tags)]
