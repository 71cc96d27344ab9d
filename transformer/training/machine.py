"""Settings that depend on the machine: threads, precision (measured), random seeds."""

from __future__ import annotations

import time
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


N_SEEDS = 1 << 63  # seeds of torch's generators are below this number


def seed_generator(seed: int, draw: int, device: torch.device) -> None:
    """Seed torch's generator from a run's seed and `draw`, which differs for every step."""
    combined_seed = ((seed << 40) + draw) % N_SEEDS
    if device.type == "cpu":  # faster than torch.manual_seed, which seeds all devices
        torch.default_generator.manual_seed(combined_seed)
    else:
        torch.manual_seed(combined_seed)


def choose_precision(precision: str, device: torch.device) -> tuple[str, torch.dtype]:
    """Return the name and dtype of a precision, "auto" being the faster of "bf16" and "fp32"."""
    if precision == "auto":
        precision = "bf16" if fastest_precision(device) == torch.bfloat16 else "fp32"
    return precision, {"bf16": torch.bfloat16, "fp32": torch.float32}[precision]


def fastest_precision(device: torch.device) -> torch.dtype:
    """Return bfloat16 if it computes a feed-forward product and its gradients faster, else float32.

    The measurements alternate and the best of each counts, since other processes may disturb some.
    """
    best_seconds = {torch.float32: float("inf"), torch.bfloat16: float("inf")}
    for _ in range(4):
        for dtype in best_seconds:
            best_seconds[dtype] = min(best_seconds[dtype], _matmul_seconds(device, dtype))
    return (
        torch.bfloat16
        if best_seconds[torch.bfloat16] < 0.9 * best_seconds[torch.float32]
        else torch.float32
    )


def _matmul_seconds(device: torch.device, dtype: torch.dtype) -> float:
    """Return the seconds of one matrix product with its gradients; infinite if unsupported."""
    try:
        x = torch.ones(1024, 256, dtype=dtype, device=device, requires_grad=True)
        w = torch.ones(1024, 256, dtype=dtype, device=device, requires_grad=True)
        start = time.perf_counter()
        torch.autograd.grad((x @ w.t()).float().sum(), (x, w))[0].sum().item()
        return time.perf_counter() - start
    except (RuntimeError, TypeError):  # a device without this type
        return float("inf")
