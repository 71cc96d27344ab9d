"""Compare the estimated and the true effects of connections between heads, at the steps of runs.

    python -m benchmarks.connections [toy-induction …] [--keep]

Each included run is trained again with its own settings and seed, and its weights are stored at the
steps of its film. The attention of the new run is compared with the film; it is equal only in
float32 and on the same type of machine. At every step the 24 connections with the largest scores
are patched, which the app draws; at the last step all connections are patched.

The table has for each step: the share of positions where the right token is the most probable one,
the sum of the 24 effects, and Spearman's rank correlation of score and effect over the 24
connections, with signs and of absolute values. Below it, for the last step: the same correlations
over all connections, how many of the 24 largest effects are among the 24 largest scores, and the
largest effect of a connection between two heads.

`--keep` writes the connections into the run's folder, where the Train page shows them, if the new
run has the attention of the film at every step. Run it again when an included run is replaced.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np

from transformer.analysis.circuits import find_connections
from transformer.analysis.circuits.connections import N_DRAWN, Connections
from transformer.app_folders import SHIPPED_RUNS, checkpoints_folder
from transformer.training import evaluation_callback, step_weights
from transformer.training.connections import held_out_pairs, run_connections
from transformer.training.run import RunFolder
from transformer.training.step_weights import StepWeights
from transformer.training.train_folder import train_run

DEFAULT_RUNS = ("toy-induction", "toy-reverse-learned", "toy-modular")
"""Runs in float32, which can be repeated exactly."""
HEAD = r"(encoder|decoder|cross)\.\d+\.\d+"
"""Name of a head's node."""
TOLERANCE = 1 / 1024
"""Maximum difference of attention weights; a film rounds them to multiples of 1/1024."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="*", default=DEFAULT_RUNS, metavar="RUN")
    parser.add_argument("--keep", action="store_true", help="write them into the runs' folders")
    options = parser.parse_args()
    # All snapshots of the film and all weights are needed, regardless of the time.
    evaluation_callback.FREE_SECONDS = math.inf
    step_weights.MAX_STEPS = 10**6
    for name in options.runs:
        measure(checkpoints_folder() / SHIPPED_RUNS / name, keep=options.keep)


def measure(shipped_path: Path, *, keep: bool) -> None:
    """Repeat a run, print its table, and with `keep` store its connections."""
    shipped = RunFolder(shipped_path)
    with tempfile.TemporaryDirectory() as folder:
        repeat = RunFolder(Path(folder) / "run")
        repeat.path.mkdir()
        repeat.write_config(shipped.config())
        start = time.perf_counter()
        status = train_run(repeat.path)
        print(f"\n{shipped_path.name}: {status} in {time.perf_counter() - start:.0f} s")
        differences = [_difference(shipped, repeat, step) for step in shipped.snapshots()]
        is_same = max(differences) <= TOLERANCE
        print(
            f"largest difference of attention from the film: {max(differences):.4f} "
            f"({'the same run' if is_same else 'another run'})"
        )
        start = time.perf_counter()
        connections = run_connections(repeat.path, shipped.snapshots())
        seconds = (time.perf_counter() - start) / len(connections)
        print(f"{seconds:.2f} s a step for scores and {N_DRAWN} patched connections")
        print("step   right  effect  rank correlation  of absolute values")
        for step, result in connections.items():
            effect = result.patched["effect"].sum()
            print(
                f"{step:5d}  {result.accuracy:5.0%}  {effect:6.2f}  "
                f"{result.rank_correlation:16.2f}  {result.absolute_rank_correlation:18.2f}"
            )
        _print_all_edges(repeat, max(connections))
        if keep and is_same:
            _keep(repeat, shipped)
        elif keep:
            print("not written: the film shows another run")


def _difference(shipped: RunFolder, repeat: RunFolder, step: int) -> float:
    """Return the largest difference of attention weights at a step; infinity if it is missing."""
    film, repeated = shipped.snapshot(step), repeat.snapshot(step)
    if film.keys() != repeated.keys():
        return math.inf
    return max(float(np.abs(film[name].astype(np.float32) - repeated[name]).max()) for name in film)


def _print_all_edges(run: RunFolder, step: int) -> None:
    config = run.config()
    model = StepWeights(run).load(config.model, step)  # type: ignore[attr-defined]
    all_connections: Connections = find_connections(model, held_out_pairs(run), patched=None)
    effect_sizes = all_connections.table["effect"].abs()
    largest = {*effect_sizes.nlargest(N_DRAWN).index}
    print(
        f"step {step}, all {len(all_connections.table)} connections: rank correlation "
        f"{all_connections.rank_correlation:.2f}, of absolute values "
        f"{all_connections.absolute_rank_correlation:.2f}; "
        f"{len(largest & {*range(N_DRAWN)})} of the {N_DRAWN} largest effects are drawn"
    )
    ends = all_connections.table[["upstream", "downstream"]]
    between_heads = ends.apply(lambda names: names.str.fullmatch(HEAD)).all(axis=1)
    print(
        f"largest effect between two heads: {effect_sizes[between_heads].max():.2f} of "
        f"{effect_sizes.max():.2f}"
    )


def _keep(repeat: RunFolder, shipped: RunFolder) -> None:
    shipped.connections_path.mkdir(exist_ok=True)
    for old_file in shipped.connections_path.glob("*.json"):
        old_file.unlink()
    for path in sorted(repeat.connections_path.glob("*.json")):
        (shipped.connections_path / path.name).write_bytes(path.read_bytes())
    print(f"written: {shipped.connections_path}")


if __name__ == "__main__":
    main()
