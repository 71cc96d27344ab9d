"""What the machine at hand does fast, measured rather than guessed from its name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from transformer.config import shares_out
from transformer.training.distributed import World


@contextmanager
def fitting_threads(weights: int, batch_tokens: int) -> Iterator[None]:
    """One thread for steps too small to share out, as many as torch has now for others.

    A step of a tiny model is hundreds of products of some microseconds. On an idle machine a
    second thread gains them little; where another process wants the same core, each product waits
    for the slower half, and a step takes several times as long.
    """
    before = torch.get_num_threads()
    if not shares_out(weights, batch_tokens):
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def made_with() -> dict[str, Any]:
    """What a run's numbers depend on besides its config: threads, torch, and the processor's vector
    units, whose sums round differently. With all of it the same, a seed gives the same model."""
    return {
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "units": torch.backends.cpu.get_cpu_capability(),
    }


SEEDS = 1 << 63  # torch's generators take no larger number


def seed_draw(seed: int, draw: int, device: torch.device) -> None:
    """Begin a draw of random numbers that depends on nothing but these two."""
    number = ((seed << 40) + draw) % SEEDS
    if device.type == "cpu":  # torch.manual_seed asks every other kind of device as well
        torch.default_generator.manual_seed(number)
    else:
        torch.manual_seed(number)


def choose_precision(asked: str, device: torch.device, world: World) -> tuple[str, torch.dtype]:
    """ "bf16" or "fp32" as asked, or for "auto" the faster one; the same on every process."""
    if asked == "auto":
        faster = float(fastest_precision(device) == torch.bfloat16)
        asked = "bf16" if world.broadcast([faster], device)[0] else "fp32"
    return asked, {"bf16": torch.bfloat16, "fp32": torch.float32}[asked]


def fastest_precision(device: torch.device) -> torch.dtype:
    """bfloat16 where a product of feed-forward size and its gradients run faster, or float32. They
    take turns and the best of each counts: another process may disturb some of them."""
    took = {torch.float32: float("inf"), torch.bfloat16: float("inf")}
    for _ in range(4):
        for dtype in took:
            took[dtype] = min(took[dtype], _seconds(device, dtype))
    return torch.bfloat16 if took[torch.bfloat16] < 0.9 * took[torch.float32] else torch.float32


def _seconds(device: torch.device, dtype: torch.dtype) -> float:
    """One product, forward and backward; infinite if it cannot."""
    try:
        x = torch.ones(1024, 256, dtype=dtype, device=device, requires_grad=True)
        w = torch.ones(1024, 256, dtype=dtype, device=device, requires_grad=True)
        start = time.perf_counter()
        torch.autograd.grad((x @ w.t()).float().sum(), (x, w))[0].sum().item()
        return time.perf_counter() - start
    except (RuntimeError, TypeError):  # a device without this type
        return float("inf")
