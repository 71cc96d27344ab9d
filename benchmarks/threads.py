"""Translation with one and two threads and each OpenMP wait policy, on an idle and a busy machine.

    python -m benchmarks.threads [--checkpoint checkpoints/en-fr] [--seconds 20] [--burners 8]

Between two matrix products an OpenMP thread either spins, which occupies its core, or sleeps
(`OMP_WAIT_POLICY=PASSIVE`). Each combination is a separate process, because torch reads the policy
when it is loaded; "default" loads torch before this package can set the policy. The processes take
turns, one sentence or batch at a time, so that other work on the machine affects all of them.
Prints the median and the 95th percentile of the milliseconds for one sentence, and the target
tokens per second of a batch of eight (beam size 4, as in `evaluate`). --seconds is the computing
time of each process in each table; the last column is its number of sentences.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.busy import busy_processes

ROOT = Path(__file__).resolve().parents[1]
POLICIES = ("default", "PASSIVE")
BATCH_SIZE = 8
SENTENCES_PER_BATCH = 5
"""Number of single sentences between two batches."""


def sentence(number: int) -> str:
    """Return a sentence that no cache has."""
    return f"The {number + 11} boats of my neighbour were sold before the winter."


def serve(policy: str, checkpoint: Path) -> None:
    """Serve one process: for each input line, "one" or "batch", translate new sentences and print
    the seconds and the number of tokens."""
    import torch  # for "default": before this package sets a policy

    assert policy == "default" or os.environ["OMP_WAIT_POLICY"] == policy
    from transformer import Translator

    translator = Translator.load(checkpoint, "cpu")
    translator.translate(sentence(-1))
    print("ready", torch.get_num_threads(), flush=True)
    number = 0
    for line in sys.stdin:
        size, beam_size = (1, 1) if line.strip() == "one" else (BATCH_SIZE, 4)
        texts = [sentence(number + i) for i in range(size)]
        number += size
        start = time.perf_counter()
        results = translator.translate_batch(texts, beam_size=beam_size)
        seconds = time.perf_counter() - start
        print(seconds, sum(len(result.ids) for result in results), flush=True)


@dataclass
class TimedProcess:
    """A process with one policy and one number of threads, and its times."""

    policy: str
    threads: int
    process: subprocess.Popen[str]
    computing_seconds: float = 0.0
    milliseconds: list[float] = field(default_factory=list)
    tokens_per_second: list[float] = field(default_factory=list)

    @classmethod
    def start(cls, policy: str, threads: int, checkpoint: Path) -> TimedProcess:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        environment.pop("OMP_WAIT_POLICY", None)
        if policy != "default":
            environment["OMP_WAIT_POLICY"] = policy
        arguments = ["--checkpoint", str(checkpoint)]
        process = subprocess.Popen(
            [sys.executable, *["-m", "benchmarks.threads", "--serve"], policy, *arguments],
            env=environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        timed_process = cls(policy, threads, process)
        assert timed_process._read() == ["ready", str(threads)]
        return timed_process

    def translate(self, size: str) -> None:
        assert self.process.stdin
        print(size, file=self.process.stdin, flush=True)
        seconds, tokens = map(float, self._read())
        self.computing_seconds += seconds
        if size == "one":
            self.milliseconds.append(1000 * seconds)
        else:
            self.tokens_per_second.append(tokens / seconds)

    def row(self) -> str:
        times, speeds = sorted(self.milliseconds), self.tokens_per_second
        p95 = times[int(0.95 * (len(times) - 1))]
        speed = f"{statistics.median(speeds):9.0f}" if speeds else f"{'-':>9}"
        return (
            f"{self.policy:<9} {self.threads:>8} {statistics.median(times):8.0f} {p95:8.0f} "
            f"{speed} {len(times):>10}"
        )

    def reset(self) -> None:
        self.computing_seconds, self.milliseconds, self.tokens_per_second = 0.0, [], []

    def _read(self) -> list[str]:
        assert self.process.stdout
        return self.process.stdout.readline().split()


def measure_in_turns(title: str, processes: list[TimedProcess], seconds: float) -> None:
    """Let the processes take turns until each has computed for `seconds`; print the times."""
    print(f"\n{title} (load average {os.getloadavg()[0]:.1f} at the start)")
    turn = 0
    while active := [process for process in processes if process.computing_seconds < seconds]:
        turn += 1
        size = "batch" if turn % (SENTENCES_PER_BATCH + 1) == 0 else "one"
        for process in active:
            process.translate(size)
            time.sleep(0.05)  # let spinning threads stop
    widths = {"threads": 8, "p50 ms": 8, "p95 ms": 8, "tokens/s": 9, "sentences": 10}
    print(f"{'policy':<9}", *(f"{name:>{width}}" for name, width in widths.items()))
    for process in processes:
        print(process.row(), flush=True)
        process.reset()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checkpoint", type=Path, default=ROOT / "checkpoints" / "en-fr")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--burners", dest="busy_processes", type=int, default=8)
    parser.add_argument("--serve", choices=POLICIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.checkpoint)
    processes = [
        TimedProcess.start(policy, threads, options.checkpoint)
        for policy in POLICIES
        for threads in (1, 2)
    ]
    try:
        measure_in_turns("without added load", processes, options.seconds)
        with busy_processes(options.busy_processes):
            measure_in_turns(
                f"with {options.busy_processes} busy processes", processes, options.seconds
            )
    finally:
        for timed_process in processes:
            timed_process.process.kill()
            timed_process.process.wait()


if __name__ == "__main__":
    main()
