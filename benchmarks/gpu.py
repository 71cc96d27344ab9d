"""Check and measure the code on a GPU, with one command and in a few minutes.

    python -m benchmarks.gpu --out results                        # on a machine with an NVIDIA GPU
    python -m benchmarks.gpu --out results --device cpu --tiny    # a rehearsal without one

In this order: the fast tests of the model, of inference and of training on the device; everything
that computes, in small (`device_checks.py`); parity with the CPU; speed and memory of translation
beside `transformers`, and of training beside `torch.nn.Transformer` and `transformers`.

Each result is appended to results.jsonl at once, and each failure of a test with its traceback to
failed_tests.txt, so that a run that is cut off keeps what it has; at the end, results.md has the
results as tables. An error ends only its part, and the exit status is 1.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.device_checks import CHECKS
from benchmarks.harness import option_parser
from benchmarks.packed_rows import pack, packed_loss
from benchmarks.quality import EVERYDAY_SENTENCES
from benchmarks.training import (
    SMOOTHING,
    Step,
    Workload,
    logits_loss,
    our_step,
    peer_step,
    typical_step,
)
from transformer import Translator
from transformer.exchange import export_marian
from transformer.inference.device import choose_device
from transformer.model import Transformer

ROOT = Path(__file__).resolve().parents[1]
TOY = ROOT / "checkpoints/runs/toy-reverse/checkpoint"
TESTS = ("tests/model", "tests/inference", "tests/training")
MAX_DIFFERENCE = 1e-4
"""Allowed difference of attention weights on the device and on the CPU, in float32."""
MIB = 2**20


@dataclass
class Run:
    """Options of the command, and its results."""

    device: str
    tiny: bool
    checkpoint: Path
    out: Path
    failed: bool = False
    results: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, part: str, name: str, **figures: Any) -> None:
        """Append a result to results.jsonl and print it."""
        result = {"name": name, **figures}
        self.results.setdefault(part, []).append(result)
        with (self.out / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"part": part, **result}) + "\n")
        print(f"{part}: {result}", flush=True)

    @contextlib.contextmanager
    def errors_as_results(self, part: str, name: str) -> Iterator[None]:
        """Record an error of the block as a result."""
        try:
            yield
        except Exception as error:
            self.failed = True
            traceback.print_exc()
            self.add(part, name, error=f"{type(error).__name__}: {error}"[:2000])

    def table(self) -> str:
        """Return the results as Markdown, one table a part."""
        text = []
        for part, results in self.results.items():
            columns = [*dict.fromkeys(name for result in results for name in result)]
            rows = [[str(result.get(name, "")) for name in columns] for result in results]
            lines = [columns, ["---"] * len(columns), *rows]
            text.append(f"## {part}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in lines))
        return "\n".join(text)

    def synchronize(self) -> None:
        """Wait until the device has finished its work."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def measure(self, work: Callable[[], object]) -> tuple[float, float | None]:
        """Return the median seconds of some calls after a first one, and the peak memory in MiB."""
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        times = []
        for _ in range(3 if self.tiny else 8):
            self.synchronize()
            start = time.perf_counter()
            work()
            self.synchronize()
            times.append(time.perf_counter() - start)
        peak = torch.cuda.max_memory_allocated() / MIB if self.device == "cuda" else None
        return statistics.median(times[1:]), peak and round(peak)

    def load(self, path: Path, device: str | None = None) -> Translator:
        """Load a model that computes in float32."""
        return Translator.load(path, device=device or self.device)

    def texts(self, count: int) -> list[str]:
        """Return sources for the checkpoint, from the repository; repeated if they are too few."""
        if self.tiny:
            texts = [" ".join("abcdefgh"[i % 5 : i % 5 + 2 + i % 3]) for i in range(15)]
        else:
            lines = (ROOT / "docs/phrases.tsv").read_text("utf-8").splitlines()
            texts = EVERYDAY_SENTENCES + [line.split("\t")[0] for line in lines]
        return [texts[i % len(texts)] for i in range(count)]


def run_tests(run: Run) -> None:
    """Run the tests in a process of their own: a failed GPU kernel makes its process useless."""
    paths = ["tests/model/test_attention.py"] if run.tiny else TESTS
    options = ["-q", "-rfE", "--tb=short", "--continue-on-collection-errors"]
    # Another torch than the pinned one may warn of something else; the cache is not needed.
    options += ["-o", "filterwarnings=default", "-o", "minversion=0", "-p", "no:cacheprovider"]
    if importlib.util.find_spec("xdist"):
        options += ["-n", str(min(8, os.cpu_count() or 1))]
    output, failed = run.out / "tests.txt", run.out / "failed_tests.txt"
    environment = {"TEST_DEVICE": run.device, "FAILED_TESTS": str(failed)}
    options += ["-p", "benchmarks.failed_tests"]
    with output.open("w", encoding="utf-8") as file:
        status = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "-m", "not slow and not browser", *paths],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=240,
        ).returncode
    lines = output.read_text("utf-8").splitlines()
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    run.failed |= status != 0
    run.add("tests", " ".join(paths), summary=lines[-1], failures=len(failures))
    for line in failures[:50]:
        run.add("tests", line[:200])


def run_checks(run: Run) -> None:
    """Run everything that computes once."""
    translator = run.load(TOY)
    for check in CHECKS:
        with run.errors_as_results("checks", check.__name__):
            start = time.perf_counter()
            check(translator)
            seconds = time.perf_counter() - start
            run.add("checks", check.__name__, seconds=round(seconds, 2))


def compare_with_cpu(run: Run) -> None:
    """Compare attention weights and greedy translations of the device with those of the CPU."""
    torch.set_float32_matmul_precision("highest")  # no TF32
    texts = run.texts(15 if run.tiny else 200)
    on_cpu, on_device = run.load(run.checkpoint, "cpu"), run.load(run.checkpoint)
    expected, actual = on_cpu.translate_batch(texts), on_device.translate_batch(texts)
    different = sum(a.ids != b.ids for a, b in zip(expected, actual, strict=True))
    run.add("parity", "greedy translations", sentences=len(texts), different=different)
    targets = [translation.ids for translation in expected]
    traces = [
        translator.trace_batch(texts, targets=targets, names="*hook_weights")
        for translator in (on_cpu, on_device)
    ]
    largest = max(
        float(np.abs(a[name] - b[name]).max())
        for a, b in zip(*traces, strict=True)
        for name in a.names
    )
    run.add("parity", "attention weights", sentences=len(texts), largest_difference=largest)
    if different or largest > MAX_DIFFERENCE:
        raise ValueError(
            f"{different} translations and weights by {largest:.1e} differ from the CPU"
        )


def measure_translation(run: Run) -> None:
    """Measure output tokens per second, beside `transformers`, for 1, 32 and 256 sentences."""
    from transformers import MarianMTModel, MarianTokenizer

    translator = run.load(run.checkpoint)
    with tempfile.TemporaryDirectory() as folder:
        export_marian(run.checkpoint, Path(folder) / "marian")
        peer: Any = MarianMTModel.from_pretrained(f"{folder}/marian")
        peer.to(run.device).eval()
        tokenizer = MarianTokenizer.from_pretrained(f"{folder}/marian")

    def translate(texts: Sequence[str], beam_size: int) -> int:
        options: dict[str, Any] = {"beam_size": beam_size} if beam_size > 1 else {}
        return sum(len(result.ids) for result in translator.translate_batch(texts, **options))

    def trace(texts: Sequence[str]) -> int:
        return sum(len(result.predicted_ids) for result in translator.trace_batch(texts))

    def generate(texts: Sequence[str], beam_size: int) -> int:
        inputs = tokenizer(texts, return_tensors="pt", padding=True).to(run.device)
        with torch.inference_mode():
            output = peer.generate(**inputs, num_beams=beam_size, max_length=64)
        return int((output[:, 1:] != tokenizer.pad_token_id).sum())

    for count in (1, 8) if run.tiny else (1, 32, 256):
        texts = run.texts(count)
        calls: dict[str, Callable[[], int]] = {
            "ours": partial(translate, texts, 1),
            "ours, beam of 4": partial(translate, texts, 4),
            "ours, with traces": partial(trace, texts),
            "transformers": partial(generate, texts, 1),
            "transformers, beam of 4": partial(generate, texts, 4),
        }
        for name, call in calls.items():
            with run.errors_as_results("translation", name):
                seconds, peak = run.measure(call)
                speed = round(call() / seconds)
                run.add(
                    "translation",
                    name,
                    sentences=count,
                    ms=round(seconds * 1e3, 1),
                    tokens_per_second=speed,
                    peak_mib=peak,
                )


def packed_step(work: Workload, compiled: bool) -> Step:
    """Return a step of `gpu_training.py`, which packs several pairs into each row."""
    model = Transformer(work.config)
    ids = [*range(4, 3 + work.length), 2]
    rows = torch.from_numpy(pack([(ids, ids)] * work.pairs, 4 * work.length + 1).astype(np.int64))
    function = torch.compile(packed_loss) if compiled else packed_loss
    rows = rows.to(work.device)
    return typical_step(work, True, model, lambda: function(model, rows, SMOOTHING))


def transformers_step(work: Workload) -> Step:
    """Return a step of `transformers`' Marian model of the same shape."""
    from transformers import MarianConfig, MarianMTModel

    shape = work.config
    sizes: dict[str, Any] = {"d_model": shape.d_model, "vocab_size": shape.vocab_size}
    for part in ("encoder", "decoder"):
        sizes[f"{part}_layers"] = shape.n_layers
        sizes[f"{part}_attention_heads"] = shape.n_heads
        sizes[f"{part}_ffn_dim"] = shape.d_ff
    special: dict[str, Any] = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = MarianConfig(
        **sizes, **special, activation_function="relu", scale_embedding=True, dropout=shape.dropout
    )
    model: Any = MarianMTModel(config)

    def forward(src: Tensor, tgt: Tensor) -> Tensor:
        logits: Tensor = model(input_ids=src, decoder_input_ids=tgt).logits
        return logits

    return typical_step(work, True, model, logits_loss(work, forward))


def measure_training(run: Run) -> None:
    """Measure source and target tokens per second of a step, for a toy model and our 13M model."""
    toy = Workload("tiny", vocab_size=30, pairs=32, length=11, device=run.device)
    large = Workload("small", pairs=512, length=32, device=run.device)
    for work in (toy,) if run.tiny else (toy, large):
        steps: dict[str, Callable[[], Step]] = {
            "ours, fp32": partial(our_step, work, torch.float32),
            "ours, bf16": partial(our_step, work, torch.bfloat16),
            "nn.Transformer, fp32": partial(peer_step, work, bf16=False),
            "nn.Transformer, bf16": partial(peer_step, work, bf16=True),
            "transformers, bf16": partial(transformers_step, work),
            "packed rows, bf16": partial(packed_step, work, compiled=False),
        }
        if work is large:  # compiling takes longer than a toy model trains
            steps["packed rows, bf16, compiled"] = partial(packed_step, large, compiled=True)
        for name, make in steps.items():
            with run.errors_as_results("training", name):
                seconds, peak = run.measure(make())
                run.add(
                    "training",
                    name,
                    model=work.preset,
                    ms=round(seconds * 1e3, 1),
                    tokens_per_second=round(2 * work.pairs * work.length / seconds),
                    peak_mib=peak,
                )


PARTS: dict[str, Callable[[Run], None]] = {
    "tests": run_tests,
    "checks": run_checks,
    "parity": compare_with_cpu,
    "translation": measure_translation,
    "training": measure_training,
}


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--tiny", action="store_true", help="a toy model and few sentences")
    parser.add_argument("--checkpoint", type=Path, default=ROOT / "checkpoints/en-fr")
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    device = choose_device(options.device)
    checkpoint = TOY if options.tiny else options.checkpoint
    run = Run(options.device, options.tiny, checkpoint, options.out)
    card = torch.cuda.get_device_name(device) if options.device == "cuda" else platform.machine()
    run.add("machine", card, torch=torch.__version__, python=platform.python_version())
    for part in options.parts:
        start = time.perf_counter()
        with run.errors_as_results(part, part):
            PARTS[part](run)
        run.add("seconds", part, seconds=round(time.perf_counter() - start, 1))
        (run.out / "results.md").write_text(run.table(), encoding="utf-8")
    sys.exit(int(run.failed))


if __name__ == "__main__":
    main()
