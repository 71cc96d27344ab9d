"""How long the layers of Table 1 take as the sequence grows, and how steeply that grows."""

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

from transformer.analysis.table1.complexity import count
from transformer.model.rivals import RIVALS, RivalConfig

LENGTHS = tuple(2**power for power in range(7, 13))
"""From 128 to 4096 positions."""
BUDGET = 15.0
"""Seconds of a core for all layers and lengths together, roughly."""
PATIENCE = 2.5
MEMORY = 200_000_000
"""Bytes that one pass may keep, roughly; lengths that need more are left out."""
Numbers = npt.NDArray[np.float64]
PASSES = ("forward", "backward", "products")
MAX_PASSES = 20
"""Passes that are timed of one layer and length, at most."""
FITTED = 256
"""Slopes are fitted from this length on: below, calling an operation costs more than doing it."""


@dataclass(frozen=True)
class Timing:
    """Seconds of one layer for one sequence of n vectors, the median of `runs` passes.

    They are seconds of this process's own work (`time.process_time`), on one thread those of a
    core: what others do on the machine meanwhile makes it wait, and does not count.

    Attributes:
        products: multiplications of the forward pass, counted (`complexity.count`).
    """

    layer: str
    n: int
    forward: float
    backward: float
    products: int
    runs: int


@dataclass(frozen=True)
class Slope:
    """A power law fitted: seconds grow as n to the `slope`.

    Attributes:
        error: standard error of the slope; NaN with fewer than three lengths, for two points lie on
            a line whatever they are.
        lengths: how many lengths it was fitted to.
    """

    slope: float
    error: float
    lengths: int


def measure(d: int = 64, k: int = 3, r: int = 15, budget: float = BUDGET) -> Iterator[Timing]:
    """Forward and backward time of every layer, a length after the other, the shortest first.

    For a process with one thread (`torch.set_num_threads(1)`): the seconds of several would be
    added up. Each is repeated for its share of the budget, at least three times after one that does
    not count. A layer goes no further when its next length would not fit into what is left, or not
    into `MEMORY`; all end when a busy machine has let `PATIENCE` times the budget pass. Raises
    ValueError for sizes that cannot be.
    """
    config = RivalConfig(d, k=k, r=r)
    layers = {name: RIVALS[name](config) for name in RIVALS}
    share = budget / (len(LENGTHS) * len(layers))
    last = dict.fromkeys(layers, 0.0)  # of its last pass; infinite: it went as far as it can
    began, deadline = time.process_time(), time.perf_counter() + PATIENCE * budget
    for n in LENGTHS:
        for name, layer in layers.items():
            left = budget - (time.process_time() - began)
            # A doubled length takes up to four times as long, and there are four passes or more.
            if memory(name, n, config) > MEMORY or 16 * last[name] > left:
                last[name] = math.inf
                continue
            if time.perf_counter() > deadline:
                return
            yield (found := _timed(name, layer, n, config, share))
            last[name] = found.forward + found.backward


def memory(name: str, n: int, config: RivalConfig) -> int:
    """Bytes in float32 that a forward and backward pass keep, an estimate on the large side."""
    d, k, r = config.d, config.k, config.r
    numbers = {
        "self-attention": 4 * n**2 + 12 * n * d,
        "recurrent": 8 * n * d,
        "convolutional": 2 * k * n * d + 4 * n * d,
        "restricted": 6 * r * n * d + 12 * n * d,
    }
    return 4 * (numbers[name] + 2 * k * d**2 + 8 * d**2)


def frame(timings: list[Timing]) -> pd.DataFrame:
    """A row a measurement: layer, n, forward, backward (seconds), runs."""
    return pd.DataFrame([asdict(one) for one in timings], columns=list(Timing.__annotations__))


def slope(n: Numbers, seconds: Numbers) -> Slope:
    """Least squares of log(seconds) over log(n); the error from the scatter around the line."""
    x, y = np.log(np.asarray(n, float)), np.log(np.asarray(seconds, float))
    if len(x) < 2:
        return Slope(math.nan, math.nan, len(x))
    x = x - x.mean()
    steep = float(x @ y / (x @ x))
    rest = y - y.mean() - steep * x
    error = math.sqrt(float(rest @ rest) / (len(x) - 2) / float(x @ x)) if len(x) > 2 else math.nan
    return Slope(steep, error, len(x))


def slopes(timings: list[Timing]) -> dict[str, dict[str, Slope]]:
    """By layer and by `PASSES`, over lengths of `FITTED` and more. What the slope of the
    multiplications is, the slopes of the seconds would be if each took equally long."""
    found: dict[str, dict[str, Slope]] = {}
    for name in RIVALS:
        points = [one for one in timings if one.layer == name and one.n >= FITTED]
        n = np.array([one.n for one in points], float)
        found[name] = {
            way: slope(n, np.array([getattr(one, way) for one in points], float)) for way in PASSES
        }
    return found


def _timed(name: str, layer: nn.Module, n: int, config: RivalConfig, seconds: float) -> Timing:
    x = torch.randn(1, n, config.d, requires_grad=True)
    passes: list[tuple[float, float]] = []
    while len(passes) < 4 or (sum(map(sum, passes[1:])) < seconds and len(passes) <= MAX_PASSES):
        began = time.process_time()
        out = layer(x).sum()
        between = time.process_time()
        torch.autograd.grad(out, [x, *layer.parameters()])
        passes.append((between - began, time.process_time() - between))
    forward, backward = (median(times) for times in zip(*passes[1:], strict=True))
    products = count(name, n, config.d, config.k, config.r).whole
    return Timing(name, n, forward, backward, products, len(passes) - 1)


def compute(given: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """All measurements at the sizes `given`, "d", "k" and "r", in a process of its own, on one
    core; what there is already is told with the progress."""
    torch.set_num_threads(1)
    timings: list[dict[str, Any]] = []
    for one in measure(**given):
        timings.append(asdict(one))
        done = len(timings) / (len(LENGTHS) * len(RIVALS))
        progress(done, f"measuring {one.layer}", {"timings": timings})
    return {"timings": timings}
