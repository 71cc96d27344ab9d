"""Time of a training step, compared with `torch.nn.Transformer`, and of learning a task.

    python -m benchmarks.training [--rounds 5] [--processor-time] [--seeds 3]

The preset "small" (d_model 256, 6+6 layers, 8 heads, d_ff 1024) with 8,000 tokens learns from 128
pairs of 16 + 16 tokens without padding. The steps take turns, so that other work on the machine
affects all equally. Prints medians. `--processor-time` counts the processor time of all threads,
which other work affects less.

Then a model learns to reverse sequences of 1 to 10 letters, with the defaults of the Train page,
until 99% of whole held-out sequences are correct in free decoding; all evaluations are counted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.harness import option_parser
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.model.attention import causal_mask
from transformer.model.positions import sinusoidal
from transformer.text.batching import Batch
from transformer.training.learner import Learner
from transformer.training.recipe import make_run_config
from transformer.training.run_folder import RunFolder
from transformer.training.train_folder import train_run

GOAL = 0.99
"""Fraction of whole reversed sequences that are correct."""
RATE, SMOOTHING = 1e-4, 0.1
Step = Callable[[], object]


@dataclass(frozen=True)
class Workload:
    """The model that is trained, the shape of its batch, and the device."""

    preset: str = "small"
    vocab_size: int = 8000
    pairs: int = 128
    length: int = 16
    """Tokens of a pair on each side."""
    device: str = "cpu"

    @property
    def config(self) -> ModelConfig:
        return ModelConfig.preset(self.preset, vocab_size=self.vocab_size)

    def batch(self) -> Batch:
        """Return pairs of random tokens."""
        src, tgt_out = torch.randint(4, self.vocab_size, (2, self.pairs, self.length))
        start = torch.full((self.pairs, 1), 1)
        return Batch(src, torch.cat([start, tgt_out[:, :-1]], 1), tgt_out).to(self.device)


def our_step(work: Workload, dtype: torch.dtype) -> Step:
    """Return a step as the trainer runs it: seed, gradients, clipping, Adam, working copy."""
    model = Transformer(work.config).to(work.device)
    learner, batch = Learner(model, dtype), work.batch()

    def step() -> None:
        torch.manual_seed(1)
        learner.compute_gradients(batch, SMOOTHING)
        learner.update(RATE, 1.0)

    return step


class Peer(nn.Module):
    """`nn.Transformer` with the parts that it lacks: embedding, positions, tied output."""

    def __init__(self, shape: ModelConfig, longest: int) -> None:
        super().__init__()
        d, layers, rate = shape.d_model, shape.n_layers, shape.dropout
        self.embedding = nn.Embedding(shape.vocab_size, d)
        nn.init.normal_(self.embedding.weight, std=d**-0.5)
        self.dropout = nn.Dropout(rate)
        self.body = nn.Transformer(
            d, shape.n_heads, layers, layers, shape.d_ff, rate, batch_first=True
        )
        self.register_buffer("positions", sinusoidal(longest, d))

    def embed(self, ids: Tensor) -> Tensor:
        scale = self.embedding.embedding_dim**0.5
        assert isinstance(self.positions, Tensor)
        embedded: Tensor = self.dropout(
            self.embedding(ids) * scale + self.positions[: ids.shape[1]]
        )
        return embedded

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src_padding, tgt_padding = src == 0, tgt == 0
        future = ~causal_mask(tgt.shape[1], tgt.device)
        states = self.body(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=future,
            src_key_padding_mask=src_padding,
            tgt_key_padding_mask=tgt_padding,
            memory_key_padding_mask=src_padding,
            tgt_is_causal=True,
        )
        return functional.linear(states, self.embedding.weight)


def peer_step(work: Workload, bf16: bool) -> Step:
    """Return a typical step of `Peer`, with autocast, clipping and fused Adam."""
    model, batch = Peer(work.config, work.length).to(work.device).train(), work.batch()
    adam = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step() -> float:
        adam.zero_grad()
        with torch.autocast(work.device, torch.bfloat16) if bf16 else nullcontext():
            loss = functional.cross_entropy(
                model(batch.src, batch.tgt_in).flatten(0, 1),
                batch.tgt_out.flatten(),
                ignore_index=0,
                label_smoothing=SMOOTHING,
            )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        return loss.item()

    return step


def time_steps(rounds: int, clock: Callable[[], float]) -> None:
    """Print a row per step: its time, tokens/s and ratios to our step and to the peer's (bf16)."""
    work = Workload()
    steps = {
        "ours, bf16": our_step(work, torch.bfloat16),
        "ours, fp32": our_step(work, torch.float32),
        "nn.Transformer, bf16": peer_step(work, bf16=True),
        "nn.Transformer, fp32": peer_step(work, bf16=False),
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for round_ in range(-2, rounds):  # two rounds to warm up caches and allocators
        for name, step in steps.items():
            start = clock()
            step()
            if round_ >= 0:
                times[name].append(clock() - start)
    print(f"on the CPU, threads: {torch.get_num_threads()}")
    print(f"{rounds} rounds, {work.pairs} × ({work.length} × 2)")
    print(f"{'':<40} {'ms/step':>8} {'tgt tok/s':>10} {'/ ours':>7} {'/ peer':>7}")
    ours, peer = median(times["ours, bf16"]), median(times["nn.Transformer, bf16"])
    for name in steps:
        seconds = median(times[name])
        rate = work.pairs * work.length / seconds
        print(
            f"{name:<40} {1000 * seconds:8.0f} {rate:10,.0f} "
            f"{ours / seconds:7.2f} {peer / seconds:7.2f}"
        )


def learn_ours(seed: int, task: str = "reverse", goal: float = GOAL) -> float:
    """Return the seconds until the goal is first met, infinite if it is not."""
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder) / task)
        run.write_config(make_run_config(task, settings={"seed": seed}))
        if train_run(run.path) != "finished":
            sys.exit(run.state()["reason"])
        for line in run.metrics():
            if line.get("sequence_accuracy", 0.0) >= goal:
                return float(line["elapsed"])
    return float("inf")


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processor-time", action="store_true", help="of all threads")
    parser.add_argument("--seeds", type=int, default=3, help="how often reversing is learned")
    options = parser.parse_args()
    torch.manual_seed(0)
    time_steps(options.rounds, time.process_time if options.processor_time else time.perf_counter)
    if times := [learn_ours(seed) for seed in range(1, options.seeds + 1)]:
        label = f"ours, until {GOAL:.0%} of reversed sequences are correct"
        print(f"{label:<58} {median(times):6.1f} s   {[round(s, 1) for s in times]}")


if __name__ == "__main__":
    main()
