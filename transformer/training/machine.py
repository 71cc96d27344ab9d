"""Settings that depend on the machine: threads, number formats, random seeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from transformer.config import benefits_from_threads


@contextmanager
def limit_threads(weights: int, batch_tokens: int) -> Iterator[None]:
    """Within the block, use one thread if a training step is too small to benefit from several.

    A step of a tiny model is hundreds of matrix products of a few microseconds each. A second
    thread makes them hardly faster, and if another process uses the same core, each product waits
    for the slower thread, which makes a step several times slower.
    """
    old_threads = torch.get_num_threads()
    if not benefits_from_threads(weights, batch_tokens):
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(old_threads)


def numeric_environment() -> dict[str, Any]:
    """Return what a run's numbers depend on besides its config.

    Threads, torch version, and vector units of the processor (they round sums differently). With
    all of them equal, the same seed gives the same model.
    """
    return {
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "units": torch.backends.cpu.get_cpu_capability(),
    }


DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
"""Number formats by the name that `TrainingConfig.precision` has."""

N_SEEDS = 1 << 63  # seeds of torch's generators are below this number


def seed_generator(seed: int, draw: int, device: torch.device) -> None:
    """Seed torch's generator from a run's seed and `draw`, which differs for every step."""
    combined_seed = ((seed << 40) + draw) % N_SEEDS
    if device.type == "cpu":  # faster than torch.manual_seed, which seeds all devices
        torch.default_generator.manual_seed(combined_seed)
    else:
        torch.manual_seed(combined_seed)
