"""Forward and backward time of the layers of the paper's Table 1 as n grows, with slopes.

    python -m benchmarks.layers [--width 64] [--kernel 3] [--neighbourhood 15] [--csv layers.csv]

The same measurement as on the page (Why self-attention: Time), with more time for each layer. Times
are CPU time of one core.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch

from transformer.analysis.table1.timing import (
    MIN_FITTED_LENGTH,
    PASSES,
    Slope,
    measure,
    slopes,
    timing_table,
)

EXPECTED_EXPONENTS = {"self-attention": 2, "recurrent": 1, "convolutional": 1, "restricted": 1}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=64, help="d")
    parser.add_argument("--kernel", type=int, default=3, help="k, odd")
    parser.add_argument("--neighbourhood", type=int, default=15, help="r, odd")
    parser.add_argument("--seconds", type=float, default=60.0, help="time of all measurements")
    parser.add_argument("--csv", type=Path, help="write every measurement here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, one of them used; load {load} before the first layer")
    sizes = (options.width, options.kernel, options.neighbourhood)
    print("d = {}, k = {}, r = {}; forward / backward, milliseconds".format(*sizes))
    timings = list(measure(*sizes, budget=options.seconds))
    table = timing_table(timings)
    cells = [f"{1e3 * timing.forward:.3g} / {1e3 * timing.backward:.3g}" for timing in timings]
    by_length = table.assign(ms=cells).pivot(index="n", columns="layer", values="ms")
    print(by_length[list(EXPECTED_EXPONENTS)].fillna("").to_string())
    print(f"\nslopes from n = {MIN_FITTED_LENGTH} on, with their standard errors")
    print(f"{'':<16} {'Table 1':>8} {'counted':>8} {'forward':>14} {'backward':>14}")
    for name, fit in slopes(timings).items():
        forward, backward = (slope_text(fit[direction]) for direction in PASSES[:2])
        counted = f"{fit['products'].slope:.2f}"
        exponent = EXPECTED_EXPONENTS[name]
        print(f"{name:<16} {exponent:>8} {counted:>8} {forward:>14} {backward:>14}")
    if options.csv:
        table.to_csv(options.csv, index=False)


def slope_text(slope: Slope) -> str:
    return f"{slope.slope:.2f} ± {slope.error:.2f}"


if __name__ == "__main__":
    main()
