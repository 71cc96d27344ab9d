"""Time of our training step and that of `torch.nn.Transformer`.

    python -m benchmarks.training [--rounds 5] [--only ours|peer] [--processor-time]

The preset "small" (d_model 256, 6+6 layers, 8 heads, d_ff 1024) with 8,000 tokens learns from 128
pairs of 16 + 16 tokens without padding. The engines take turns, so that other work on the machine
affects all equally. Each engine is a separate process, so that its peak memory is its own. Prints
medians. `--processor-time` counts the processor time of all threads, which other work affects less.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median
from typing import Any

from benchmarks.training_engines import LENGTH, PAIRS

PEER = "nn.Transformer"
# (process, step) and its label in the table.
ENGINES = {
    ("ours", "bf16"): "ours, bf16",
    ("ours", "fp32"): "ours, fp32",
    ("peer", "bf16"): f"{PEER}, bf16",
    ("peer", "bf16, dropout as in the paper"): "  dropout only where the paper has it",
    ("peer", "fp32"): f"{PEER}, fp32",
}


class Engine:
    """A process that runs training steps on request."""

    def __init__(self, name: str, clock: str) -> None:
        serve = f"serve({name!r}, {clock!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from benchmarks.training_engines import serve; {serve}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.peak_mb = 0.0
        self.ready = self._read()

    def step(self, name: str) -> float:
        """Run one step and return its seconds."""
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        result = self._read()
        self.peak_mb = result["peak_mb"]
        return float(result["seconds"])

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"an engine ended with status {self.process.wait()}")
        result: dict[str, Any] = json.loads(line)
        return result

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("ours", "peer"), help="one half of the table")
    parser.add_argument("--processor-time", action="store_true", help="of all threads")
    options = parser.parse_args()
    clock = "process_time" if options.processor_time else "perf_counter"
    chosen = {key: name for key, name in ENGINES.items() if options.only in (None, key[0])}
    engines = {name: Engine(name, clock) for name in dict.fromkeys(key[0] for key in chosen)}
    print("warming up", flush=True)
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in chosen}
    for round_ in range(-2, options.rounds):  # two rounds to warm up caches and allocators
        for key in chosen:
            elapsed = engines[key[0]].step(key[1])
            if round_ >= 0:
                seconds[key].append(elapsed)
    threads = next(iter(engines.values())).ready["threads"]
    print(
        f"{threads} threads, {options.rounds} rounds, {PAIRS} pairs of {LENGTH} + {LENGTH} tokens"
    )
    print(table(chosen, {key: median(times) for key, times in seconds.items()}))
    for name, engine in engines.items():
        print(f"peak memory of {name}: {engine.peak_mb:,.0f} MB")
        engine.close()


def table(names: dict[tuple[str, str], str], seconds_per_step: dict[tuple[str, str], float]) -> str:
    """Return a row per step, with ratios to our step and to the peer's default step (bf16)."""
    our_step, peer_step = (
        seconds_per_step.get(("ours", "bf16")),
        seconds_per_step.get(("peer", "bf16")),
    )
    lines = [
        f"{'':<40} {'ms/step':>8} {'tgt tok/s':>10} {'src+tgt':>8} {'/ ours':>7} {'/ peer':>7}"
    ]
    for key, name in names.items():
        seconds = seconds_per_step[key]
        rate = PAIRS * LENGTH / seconds
        ratios = [f"{base / seconds:7.2f}" if base else f"{'':7}" for base in (our_step, peer_step)]
        lines.append(
            f"{name:<40} {1000 * seconds:8.0f} {rate:10,.0f} {2 * rate:8,.0f} {' '.join(ratios)}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
