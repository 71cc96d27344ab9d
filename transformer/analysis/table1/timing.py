"""How the time of the layers of Table 1 grows with the sequence length."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import nn

from transformer.analysis.table1.complexity import count_multiplications
from transformer.model.table1_layers import TABLE1_LAYERS, LayerConfig

LENGTHS = tuple(2**power for power in range(7, 13))
"""From 128 to 4096 positions."""
BUDGET = 15.0
"""Approximate CPU seconds for all layers and lengths together."""
MAX_WAIT_FACTOR = 2.5
"""Maximum elapsed time as a multiple of the budget."""
MAX_MEMORY_BYTES = 200_000_000
"""Approximate memory of one pass in bytes; lengths that need more are left out."""
Numbers = npt.NDArray[np.float64]
PASSES = ("forward", "backward", "products")
MAX_PASSES = 20
"""Maximum number of timed passes per layer and length."""
MIN_FITTED_LENGTH = 256
"""Slopes are fitted from this length on; for shorter sequences the overhead of a call dominates."""


@dataclass(frozen=True)
class Timing:
    """Seconds of one layer for one sequence of n vectors, the median of `runs` passes.

    They are CPU seconds of this process (`time.process_time`), on one thread: other processes on
    the machine delay it but do not count.

    Attributes:
        products: multiplications of the forward pass, counted (`complexity.count_multiplications`).
    """

    layer: str
    n: int
    forward: float
    backward: float
    products: int
    runs: int


@dataclass(frozen=True)
class Slope:
    """A fitted power law: seconds grow as n to the `slope`.

    Attributes:
        error: standard error of the slope; NaN with fewer than three lengths, because a line always
            fits two points.
        lengths: number of lengths in the fit.
    """

    slope: float
    error: float
    lengths: int


def measure(d: int = 64, k: int = 3, r: int = 15, budget: float = BUDGET) -> Iterator[Timing]:
    """Time forward and backward passes of every layer, for one length after the other, the shortest
    first.

    For a process with one thread (`torch.set_num_threads(1)`): CPU seconds of several threads would
    be added up. Each measurement is repeated for its share of the budget, at least three times
    after a warm-up. A layer stops when its next length would not fit the remaining budget or
    `MAX_MEMORY_BYTES`; all stop when, on a busy machine, `MAX_WAIT_FACTOR` times the budget has
    passed. Raises ValueError for invalid sizes.
    """
    config = LayerConfig(d, k=k, r=r)
    layers = {name: TABLE1_LAYERS[name](config) for name in TABLE1_LAYERS}
    share = budget / (len(LENGTHS) * len(layers))
    last = dict.fromkeys(layers, 0.0)  # seconds of its last pass; infinite: stopped
    began, deadline = time.process_time(), time.perf_counter() + MAX_WAIT_FACTOR * budget
    for n in LENGTHS:
        for name, layer in layers.items():
            remaining = budget - (time.process_time() - began)
            # A doubled length takes up to four times as long, and there are four passes or more.
            if memory(name, n, config) > MAX_MEMORY_BYTES or 16 * last[name] > remaining:
                last[name] = math.inf
                continue
            if time.perf_counter() > deadline:
                return
            yield (timing := _timed(name, layer, n, config, share))
            last[name] = timing.forward + timing.backward


def memory(name: str, n: int, config: LayerConfig) -> int:
    """Return a generous estimate of the bytes in float32 that a forward and backward pass keep."""
    d, k, r = config.d, config.k, config.r
    numbers = {
        "self-attention": 4 * n**2 + 12 * n * d,
        "recurrent": 8 * n * d,
        "convolutional": 2 * k * n * d + 4 * n * d,
        "restricted": 6 * r * n * d + 12 * n * d,
    }
    return 4 * (numbers[name] + 2 * k * d**2 + 8 * d**2)


def timing_table(timings: list[Timing]) -> pd.DataFrame:
    """Return a row for each measurement: layer, n, forward, backward (seconds), runs."""
    return pd.DataFrame(
        [asdict(timing) for timing in timings], columns=list(Timing.__annotations__)
    )


def slope(n: Numbers, seconds: Numbers) -> Slope:
    """Fit log(seconds) over log(n) by least squares; the error is from the residuals."""
    x, y = np.log(np.asarray(n, float)), np.log(np.asarray(seconds, float))
    if len(x) < 2:
        return Slope(math.nan, math.nan, len(x))
    x = x - x.mean()
    fitted_slope = float(x @ y / (x @ x))
    residuals = y - y.mean() - fitted_slope * x
    error = (
        math.sqrt(float(residuals @ residuals) / (len(x) - 2) / float(x @ x))
        if len(x) > 2
        else math.nan
    )
    return Slope(fitted_slope, error, len(x))


def slopes(timings: list[Timing]) -> dict[str, dict[str, Slope]]:
    """Return the slopes by layer and by `PASSES`, over lengths of at least `MIN_FITTED_LENGTH`.

    The seconds would have the slope of the multiplications if each multiplication took equally
    long.
    """
    by_layer: dict[str, dict[str, Slope]] = {}
    for name in TABLE1_LAYERS:
        points = [
            timing for timing in timings if timing.layer == name and timing.n >= MIN_FITTED_LENGTH
        ]
        n = np.array([timing.n for timing in points], float)
        by_layer[name] = {
            pass_name: slope(n, np.array([getattr(timing, pass_name) for timing in points], float))
            for pass_name in PASSES
        }
    return by_layer


def _timed(name: str, layer: nn.Module, n: int, config: LayerConfig, seconds: float) -> Timing:
    x = torch.randn(1, n, config.d, requires_grad=True)
    passes: list[tuple[float, float]] = []
    while len(passes) < 4 or (sum(map(sum, passes[1:])) < seconds and len(passes) <= MAX_PASSES):
        began = time.process_time()
        out = layer(x).sum()
        between = time.process_time()
        torch.autograd.grad(out, [x, *layer.parameters()])
        passes.append((between - began, time.process_time() - between))
    forward, backward = (median(times) for times in zip(*passes[1:], strict=True))
    products = count_multiplications(name, n, config.d, config.k, config.r).total
    return Timing(name, n, forward, backward, products, len(passes) - 1)


def compute(sizes: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Run all measurements at the given sizes "d", "k" and "r", in their own process, on one core.

    Results so far are passed to the progress callback.
    """
    torch.set_num_threads(1)
    timings: list[dict[str, Any]] = []
    for timing in measure(**sizes):
        timings.append(asdict(timing))
        done = len(timings) / (len(LENGTHS) * len(TABLE1_LAYERS))
        progress(done, f"measuring {timing.layer}", {"timings": timings})
    return {"timings": timings}
