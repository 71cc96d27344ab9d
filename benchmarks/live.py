"""Live training: seconds of training until freely decoded outputs are correct.

    python -m benchmarks.live [--seeds 3] [--only reverse|french|peer]

Trains as the Train page does, with its defaults and including evaluations, until 99% of held-out
pairs are correct for reverse (sequences of 1 to 10 letters), or 95% for the French grammar. For
comparison, `torch.nn.Transformer` learns reverse with the same shape, batches, Adam, schedule and
evaluation interval, but its evaluation is teacher-forced, because it has no decoding. Prints
medians over the seeds, and seconds of CPU time, which do not depend on other work on the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

GOALS = {"reverse": 0.99, "french": 0.95}
NEVER = math.inf


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=(*GOALS, "peer"))
    parser.add_argument("--one", help=argparse.SUPPRESS)  # name and seed of the child process
    options = parser.parse_args()
    if options.one:
        name, seed = options.one.split(":")
        print(json.dumps(run_peer(int(seed)) if name == "peer" else run_ours(name, int(seed))))
        return
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load} before the first run")
    print(f"{'':<28} {'goal':>6} {'median':>8}   each seed")
    for name in (*GOALS, "peer"):
        if options.only in (None, name):
            results = [run_in_process(name, seed) for seed in range(1, options.seeds + 1)]
            print(row(name, results), flush=True)


def run_in_process(name: str, seed: int) -> dict[str, Any]:
    """Train once in a new process; return its times and accuracy."""
    command = [sys.executable, "-m", "benchmarks.live", "--one", f"{name}:{seed}"]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def row(name: str, results: list[dict[str, Any]]) -> str:
    label = "nn.Transformer, reverse" if name == "peer" else f"ours, {name}"
    goal = GOALS.get(name, GOALS["reverse"])
    details = ", ".join(
        f"{run['seconds']:.1f} s ({run['cpu_seconds']:.1f} s of CPU time; step {run['step']}, "
        f"at the end {run['final_accuracy']:.1%})"
        for run in results
    )
    return f"{label:<28} {goal:6.0%} {median(run['seconds'] for run in results):6.1f} s   {details}"


def run_ours(task: str, seed: int) -> dict[str, Any]:
    """Return the seconds of training, evaluations included, until the goal is first met."""
    from transformer.training.recipe import make_run_config
    from transformer.training.run import RunFolder
    from transformer.training.train_folder import train_run

    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder) / task)
        run.write_config(make_run_config(task, settings={"seed": seed}))
        cpu_start = time.process_time()
        if train_run(run.path) != "finished":
            sys.exit(run.state()["reason"])
        cpu_seconds = time.process_time() - cpu_start
        evaluations = [line for line in run.metrics() if "sequence_accuracy" in line]
    goal_evaluations = [line for line in evaluations if line["sequence_accuracy"] >= GOALS[task]]
    goal_step = goal_evaluations[0]["step"] if goal_evaluations else 0
    return {
        "seconds": goal_evaluations[0]["elapsed"] if goal_evaluations else NEVER,
        "step": goal_step,
        "final_accuracy": evaluations[-1]["sequence_accuracy"],
        "cpu_seconds": cpu_seconds * (goal_step or NEVER) / evaluations[-1]["step"],
    }


def run_peer(seed: int) -> dict[str, Any]:
    """Train torch.nn.Transformer in float32 with the same loop."""
    import torch
    from torch import nn

    from benchmarks.training_engines import Peer
    from transformer.run_config import TaskRun
    from transformer.text.batching import make_batch
    from transformer.training.data import TrainingPairs, epoch_plan, prepare_data
    from transformer.training.recipe import make_run_config
    from transformer.training.run import RunFolder
    from transformer.training.schedule import learning_rate
    from transformer.training.train_folder import fit_vocabulary

    run_config = make_run_config("reverse", settings={"seed": seed})
    assert isinstance(run_config, TaskRun)
    shape, config = run_config.model, run_config.training
    torch.manual_seed(seed)
    torch.backends.mha.set_fastpath_enabled(False)  # it is a prototype and emits warnings

    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(folder)
        corpus = TrainingPairs.from_task("reverse", run_config.options, seed)
        fit_vocabulary(corpus, 0).save(run.vocabulary_path)
        data = prepare_data(run, corpus, vocab_size=shape.vocab_size, max_len=128)
        model = Peer(shape, 64)
        adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
        ids = {"pad_id": shape.pad_id, "bos_id": shape.bos_id}
        held_out = make_batch(data.valid, range(128), **ids)

        @torch.no_grad()
        def accuracy() -> float:
            """Return the fraction of held-out sequences that are completely correct."""
            model.eval()
            predictions = model(held_out.src, held_out.tgt_in).argmax(-1)
            padding = held_out.tgt_out == shape.pad_id
            return float(((predictions == held_out.tgt_out) | padding).all(1).float().mean())

        result: dict[str, Any] = {"seconds": NEVER, "step": 0, "final_accuracy": 0.0}
        start, step, epoch = time.perf_counter(), 0, 0
        cpu_start = time.process_time()
        while step < config.steps:
            for indices in epoch_plan(data.train, config.batch_tokens, seed, epoch):
                batch = make_batch(data.train, indices, **ids)
                model.train()
                logits = model(batch.src, batch.tgt_in)
                loss = nn.functional.cross_entropy(
                    logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=shape.pad_id
                )
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
                for group in adam.param_groups:
                    group["lr"] = learning_rate(
                        step + 1,
                        d_model=shape.d_model,
                        warmup=config.warmup,
                        peak=config.learning_rate,
                        progress=step / config.steps,
                        cooldown=config.cooldown,
                    )
                adam.step()
                step += 1
                if step % (config.steps // 40) == 0 and result["seconds"] == NEVER:
                    result["final_accuracy"] = accuracy()
                    if result["final_accuracy"] >= GOALS["reverse"]:
                        result |= {"seconds": time.perf_counter() - start, "step": step}
                if step == config.steps:
                    break
            epoch += 1
        cpu_seconds = time.process_time() - cpu_start
        return result | {
            "final_accuracy": accuracy(),
            "cpu_seconds": cpu_seconds * result["step"] / config.steps,
        }


if __name__ == "__main__":
    main()
