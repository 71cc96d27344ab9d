"""Check the code on a GPU and measure its speed there, in a few minutes (docs/gpu.md).

    python -m benchmarks.gpu                        # on a machine with an NVIDIA GPU
    python -m benchmarks.gpu --device cpu --tiny    # a rehearsal without one

In this order: everything that computes with a model, in small (`tests/device_checks.py`); greedy
translations and attention weights, compared with those of the CPU; output tokens per second of
translation; source and target tokens per second of a training step, ours and that of
`torch.nn.Transformer`. Each result is printed at once. The exit status is 1 if a check fails.
"""

from __future__ import annotations

import platform
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.harness import option_parser
from benchmarks.training import SMOOTHING, Step, Workload, our_step, peer_step
from tests.device_checks import CHECKS, TOY
from transformer import Translator
from transformer.inference.device import choose_device
from transformer.model import Transformer
from transformer.training.learner import Learner
from transformer.training.packed_rows import pack, packed_batch

ROOT = Path(__file__).resolve().parents[1]
MAX_DIFFERENCE = 1e-4
"""Allowed difference of attention weights on the device and on the CPU, in float32."""
R_DROP = 3.0


def texts(count: int, tiny: bool) -> list[str]:
    """Return sources for the checkpoint, repeated if they are too few."""
    if tiny:
        lines = [" ".join("abcdefgh"[i % 5 : i % 5 + 2 + i % 3]) for i in range(15)]
    else:
        table = (ROOT / "docs/phrases.tsv").read_text("utf-8").splitlines()
        lines = [line.split("\t")[0] for line in table]
    return [lines[i % len(lines)] for i in range(count)]


def run_checks(device: str) -> bool:
    """Run everything that computes once; return whether nothing failed."""
    translator, failed = Translator.load(TOY, device=device), 0
    for check in CHECKS:
        try:
            check(translator)
        except Exception:
            failed += 1
            traceback.print_exc()
    print(f"checks: {len(CHECKS) - failed} of {len(CHECKS)} ran", flush=True)
    return not failed


def compare_with_cpu(checkpoint: Path, device: str, sources: list[str]) -> bool:
    """Compare greedy translations and all attention weights; return whether they agree."""
    torch.set_float32_matmul_precision("highest")  # no TF32
    on_cpu, on_device = (Translator.load(checkpoint, device=name) for name in ("cpu", device))
    expected, actual = on_cpu.translate_batch(sources), on_device.translate_batch(sources)
    equal = sum(a.ids == b.ids for a, b in zip(expected, actual, strict=True))
    targets = [translation.ids for translation in expected]
    traces = [
        translator.trace_batch(sources, targets=targets, names="*hook_weights")
        for translator in (on_cpu, on_device)
    ]
    largest = max(
        float(np.abs(a[name] - b[name]).max())
        for a, b in zip(*traces, strict=True)
        for name in a.names
    )
    print(f"greedy translations equal to those of the CPU: {equal} of {len(sources)}")
    print(f"largest difference of an attention weight: {largest:.1e} (at most {MAX_DIFFERENCE})")
    return equal == len(sources) and largest <= MAX_DIFFERENCE


def seconds(work: Callable[[], object], device: str, calls: int) -> float:
    """Return the median seconds of some calls after a first one."""
    times = []
    for _ in range(calls + 1):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return median(times[1:])


def measure_translation(checkpoint: Path, device: str, tiny: bool) -> None:
    translator = Translator.load(checkpoint, device=device)

    def tokens(sources: list[str], beam_size: int) -> int:
        results = translator.translate_batch(sources, beam_size=beam_size)
        return sum(len(result.ids) for result in results)

    for count in (1, 8) if tiny else (1, 32, 256):
        for beam_size in (1, 4):
            work = partial(tokens, texts(count, tiny), beam_size)
            speed = work() / seconds(work, device, 2 if tiny else 7)
            print(f"translation, {count} sentences, beam size {beam_size}: {speed:,.0f} tokens/s")


def packed_step(work: Workload) -> Step:
    """Return a step in bf16 with R-Drop on packed rows of four pairs each."""
    model = Transformer(work.config).to(work.device)
    ids = [*range(4, 3 + work.length), work.config.eos_id]
    table = pack([(ids, ids)] * work.pairs, 4 * work.length, work.config.pad_id)
    batch = packed_batch(torch.from_numpy(table).to(work.device), work.config)
    learner = Learner(model, torch.bfloat16)

    def step() -> None:
        learner.compute_gradients(batch, SMOOTHING, r_drop=R_DROP)
        learner.update(1e-4, 1.0)

    return step


def measure_training(device: str, tiny: bool) -> None:
    """Print the speed of a step of the tiny model, or of the shape of the shipped ones."""
    work = Workload("small", pairs=512, length=32, device=device)
    if tiny:
        work = Workload("tiny", vocab_size=30, pairs=32, length=11, device=device)
    steps: dict[str, Callable[[], Step]] = {
        "ours, fp32": partial(our_step, work, torch.float32),
        "ours, bf16": partial(our_step, work, torch.bfloat16),
        "ours, bf16, packed rows, each passed twice (R-Drop)": partial(packed_step, work),
        "nn.Transformer, fp32": partial(peer_step, work, bf16=False),
        "nn.Transformer, bf16": partial(peer_step, work, bf16=True),
    }
    for name, make_step in steps.items():
        speed = 2 * work.pairs * work.length / seconds(make_step(), device, 2 if tiny else 20)
        print(f"training, {name}: {speed:,.0f} tokens/s", flush=True)


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--tiny", action="store_true", help="a toy model and few sentences")
    parser.add_argument("--checkpoint", type=Path, default=ROOT / "checkpoints/en-fr")
    options = parser.parse_args()
    device, tiny = choose_device(options.device).type, options.tiny
    checkpoint = TOY if tiny else options.checkpoint
    card = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    print(f"{card}, torch {torch.__version__}", flush=True)
    checks_ran = run_checks(device)
    agrees = compare_with_cpu(checkpoint, device, texts(15 if tiny else 200, tiny))
    measure_translation(checkpoint, device, tiny)
    measure_training(device, tiny)
    sys.exit(not (checks_ran and agrees))


if __name__ == "__main__":
    main()
