"""Training from scratch in minutes on a GPU that is available only for minutes (docs/gpu.md).

    python -m benchmarks.gpu_training prepare .gpu --train train.tsv.gz --valid val.tsv.gz
    python -m benchmarks.gpu_training train .gpu results --seconds 480       # on the GPU machine
    python -m benchmarks.gpu_training join .gpu results checkpoints/new --languages en fr

`prepare` encodes the text and packs several pairs into each row of a fixed length, so that all
steps have the same shape, nothing is padding, and a step needs no Python but one index: the rows
stay on the GPU (`packed_rows.py`). `train` needs only the folder that `prepare` wrote. Every minute
it writes the mean of its last weights, if it is the best so far, so a run that is cut off loses a
minute at most.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import lzma
import math
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from benchmarks.packed_rows import Pair, Rows, pack, packed_loss
from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig, TrainingConfig
from transformer.inference.device import choose_device
from transformer.model import Transformer
from transformer.model.positions import SinusoidalPositions
from transformer.text import Vocabulary
from transformer.text.examples import Pairs
from transformer.text.languages import front_matter
from transformer.training.command import check_start_checkpoint
from transformer.training.data import TrainingPairs, prepare_data
from transformer.training.run_folder import RunFolder
from transformer.training.schedule import learning_rate
from transformer.training.train_folder import load_start_weights

MAX_FILE_BYTES, MAX_WEIGHT_FILES = 15_000_000, 3
SMOOTHING = 0.1


@dataclass
class Results:
    """Files of a run: log.jsonl, and the best weights so far in float16, in a few small files."""

    folder: Path
    best: float = math.inf
    start: float = field(default_factory=time.perf_counter)

    def log(self, **figures: Any) -> None:
        line = json.dumps({"elapsed": round(time.perf_counter() - self.start, 1), **figures})
        print(line, flush=True)
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def write_weights(self, model: Transformer, step: int) -> None:
        """Write the weights of this step, then delete the files of an earlier step."""
        parts = split_weights(model)
        for number, part in enumerate(parts, start=1):
            path = self.folder / f"weights-{step:07d}-{number}-of-{len(parts)}.safetensors"
            save_file(part, path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)
        for path in self.folder.glob("weights-*"):
            if f"-{step:07d}-" not in path.name:
                path.unlink()


def split_weights(model: Transformer) -> list[dict[str, Tensor]]:
    """Return the weights in float16, in parts of at most `MAX_FILE_BYTES`."""
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, weight in model.named_parameters():
        n_bytes = 2 * weight.numel()
        if size + n_bytes > MAX_FILE_BYTES and parts[-1]:
            parts.append({})
            size = 0
        parts[-1][name] = weight.detach().to("cpu", torch.float16).contiguous()
        size += n_bytes
    return parts


def complete_weights(folder: Path) -> dict[str, Tensor]:
    """Return the last weights in `folder` that have all their parts. Raises ValueError."""
    for first in sorted(folder.glob("weights-*-1-of-*.safetensors"), reverse=True):
        step, count = first.stem.split("-")[1], int(first.stem.split("-")[-1])
        files = [folder / f"weights-{step}-{n + 1}-of-{count}.safetensors" for n in range(count)]
        if all(path.is_file() for path in files):
            return dict(item for path in files for item in load_file(path).items())
    raise ValueError(f"{folder} has no complete weights")


def batches(rows: Tensor, size: int) -> Iterator[Tensor]:
    """Yield batches of `size` rows for ever, in another order each time."""
    while True:
        order = torch.randperm(len(rows), device=rows.device)
        for start in range(0, len(rows) - size + 1, size):
            yield rows[order[start : start + size]]


def save_rows(path: Path, train: Rows, valid: Rows) -> None:
    """Write the rows for training and for validation, compressed.

    The window reaches over all samples of the examples, whose targets are the same: 45 million ids
    of three samples need 26 MiB, and 54 MiB with zlib. Writing takes minutes, reading seconds.
    """
    window = {"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 2**27, "lc": 0, "lp": 1, "pb": 1}
    with lzma.open(path, "wb", filters=[window]) as file:
        for rows in (train, valid):
            np.save(file, rows)


def load_rows(path: Path, device: torch.device) -> list[Tensor]:
    """Copy the rows for training and for validation to the device, as int32."""
    with lzma.open(path) as file:
        return [torch.from_numpy(np.load(file).astype(np.int32)).to(device) for _ in range(2)]


def compiled(function: Callable[..., Tensor], example: tuple[Any, ...]) -> Callable[..., Tensor]:
    """Return the compiled function, or the function itself if it cannot be compiled here."""
    try:
        faster: Callable[..., Tensor] = torch.compile(function)
        faster(*example).backward()
        return faster
    except Exception as error:  # whatever is wrong with the compiler, training can go on without
        print(f"not compiled: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return function


def train(options: argparse.Namespace) -> None:
    """Train until `seconds` after the start of the command, or for `steps`."""
    results = Results(options.results)
    options.results.mkdir(parents=True, exist_ok=True)
    device = choose_device(options.device)
    config = ModelConfig.from_dict(json.loads((options.folder / "config.json").read_text("utf-8")))
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")  # TF32 where autocast keeps float32
    model = Transformer(config).to(device).train()
    if not isinstance(model.encoder.embed.positions, SinusoidalPositions):
        raise ValueError(f"positions must be sinusoidal, not {config.positions}")
    if len(split_weights(model)) > MAX_WEIGHT_FILES:
        raise ValueError(
            f"the weights need more than {MAX_WEIGHT_FILES} files; use a smaller model"
        )
    if options.start_from:
        check_start_checkpoint(options.start_from, config, own_vocabulary=True)
        vocabulary = Vocabulary.load(options.folder / "vocabulary.model")
        load_start_weights(model, vocabulary, options.start_from)
    rows, valid = load_rows(options.folder / "rows.npy.xz", device)
    size = min(len(rows), max(1, options.batch_tokens // (2 * rows.shape[2])))
    size = max(1, size // 2) if options.r_drop else size
    averaged, saves = copy.deepcopy(model).eval(), deque[list[Tensor]](maxlen=options.average)
    weights = list(model.parameters())
    adam = torch.optim.Adam(weights, betas=(0.9, 0.98), eps=1e-9, fused=device.type != "mps")

    def autocast() -> AbstractContextManager[Any]:
        return torch.autocast(device.type, torch.bfloat16)

    def evaluate(step: int) -> None:
        """Write the mean of the last saves if its validation loss is the best so far."""
        with torch.no_grad():
            for weight, *saved in zip(averaged.parameters(), *saves, strict=True):
                weight.copy_(torch.stack(saved).mean(0))
            with autocast():
                parts = [packed_loss(averaged, part) for part in valid.split(size)]
            loss = float(torch.stack(parts).mean())
        results.log(step=step, valid_loss=loss, best=loss < results.best)
        if loss < results.best:
            results.best = loss
            results.write_weights(averaged, step)

    stream = batches(rows, size)
    compute_loss: Callable[..., Tensor] = packed_loss
    if options.compile:
        with autocast():
            compute_loss = compiled(packed_loss, (model, next(stream), SMOOTHING, options.r_drop))
        adam.zero_grad()
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    per_batch = size * rows.shape[2] * 2 * (2 if options.r_drop else 1)
    filled = float((rows != config.pad_id).float().mean())
    results.log(gpu=gpu, torch=torch.__version__, rows=len(rows), filled=filled, batch=per_batch)
    began = time.perf_counter()
    deadline = results.start + options.seconds
    next_save = next_log = next_write = 0.0
    for step in itertools.count(1):
        now = time.perf_counter()
        progress = max((now - began) / (deadline - began), (step - 1) / options.steps)
        if progress >= 1:
            break
        rate = learning_rate(
            step,
            d_model=config.d_model,
            warmup=options.warmup,
            peak=options.learning_rate,
            progress=progress,
            cooldown=options.cooldown,
        )
        for group in adam.param_groups:
            group["lr"] = rate
        with autocast():
            loss = compute_loss(model, next(stream), SMOOTHING, options.r_drop)
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        adam.zero_grad()
        if now >= next_log:  # reading the loss waits for the GPU
            next_log = now + options.log_seconds
            if not math.isfinite(value := loss.item()):
                results.log(step=step, loss=value, stopped="the loss is not finite")
                return
            speed = step * per_batch / (time.perf_counter() - began)
            results.log(step=step, loss=value, rate=rate, positions_per_second=round(speed))
        if now >= next_save:
            next_save = now + options.save_seconds
            saves.append([weight.detach().clone() for weight in weights])
        if now >= next_write:
            next_write = now + options.write_seconds
            evaluate(step)
    saves.append([weight.detach().clone() for weight in weights])
    evaluate(step)


def prepare(options: argparse.Namespace) -> None:
    """Write config.json, vocabulary.model and rows.npy.xz, and print their size."""
    added = [value.rpartition("=") for value in options.add]
    corpus = TrainingPairs.from_files(
        [options.train], [options.valid], {path: float(weight) for path, _, weight in added}
    )
    settings = TrainingConfig(
        concat_prob=options.concat_prob,
        typing_noise=options.typing_noise,
        subword_alpha=options.subword_alpha,
        seed=options.seed,
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(folder)
        if options.vocabulary:
            shutil.copy(options.vocabulary, run.vocabulary_path)
        max_len = options.length - 1
        size = options.vocab_size
        data = prepare_data(run, corpus, vocab_size=size, max_len=max_len, log=print)
        epochs = (data.epoch(settings, epoch) for epoch in range(options.epochs))
        rows = pack(itertools.chain.from_iterable(map(_pairs, epochs)), options.length)
        valid = pack(_pairs(data.valid), options.length)
        save_rows(options.folder / "rows.npy.xz", rows, valid)
        data.vocabulary.save(options.folder / "vocabulary.model")
    config = ModelConfig.preset(options.preset, vocab_size=len(data.vocabulary))
    (options.folder / "config.json").write_text(json.dumps(config.to_dict(), indent=2), "utf-8")
    size = sum(path.stat().st_size for path in options.folder.iterdir())
    filled = (rows != 0).mean()
    print(f"{len(rows):,} rows, {filled:.1%} filled, {filled * rows.size / 1e6:.1f} million ids")
    print(f"{options.folder}: {size / 2**20:.1f} MiB")


def _pairs(pairs: Pairs) -> Iterator[Pair]:
    for index in range(len(pairs)):
        src, tgt = pairs.pair(index)
        yield src.tolist(), tgt.tolist()


def join(options: argparse.Namespace) -> None:
    """Make a checkpoint of the weights in `results`."""
    config = ModelConfig.from_dict(json.loads((options.folder / "config.json").read_text("utf-8")))
    model = Transformer(config)
    weights = {name: weight.float() for name, weight in complete_weights(options.results).items()}
    model.load_state_dict(weights)
    vocabulary = Vocabulary.load(options.folder / "vocabulary.model")
    card = f"{front_matter(options.languages)}# Trained by `benchmarks.gpu_training`\n"
    save_checkpoint(options.checkpoint, model, vocabulary, card, dtype=torch.float16)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("prepare")
    command.set_defaults(run=prepare)
    command.add_argument("folder", type=Path)
    command.add_argument("--train", type=Path, required=True, help="pairs, one a line")
    command.add_argument("--valid", type=Path, required=True)
    command.add_argument("--add", action="append", default=[], metavar="FILE=WEIGHT")
    command.add_argument("--epochs", type=int, default=3, help="samples of the examples")
    command.add_argument("--vocabulary", type=Path, help="default: learned from the pairs")
    command.add_argument("--vocab-size", type=int, default=8000)
    command.add_argument("--preset", default="small")
    command.add_argument("--length", type=int, default=128, help="ids of a row on each side")
    command.add_argument("--concat-prob", type=float, default=0.25)
    command.add_argument("--typing-noise", type=float, default=0.15)
    command.add_argument("--subword-alpha", type=float, default=0.2)
    command.add_argument("--seed", type=int, default=1)
    command = commands.add_parser("train")
    command.set_defaults(run=train)
    command.add_argument("folder", type=Path, help="what `prepare` wrote")
    command.add_argument("results", type=Path)
    command.add_argument(
        "--start-from",
        metavar="CHECKPOINT",
        help="of the same shape; shared tokens keep their vectors",
    )
    command.add_argument("--device", default="auto")
    command.add_argument("--seconds", type=float, default=480, help="of the whole command")
    command.add_argument("--steps", type=float, default=math.inf, help="maximum")
    command.add_argument("--batch-tokens", type=int, default=65_536, help="source plus target")
    command.add_argument("--learning-rate", type=float, default=0.001, help="peak")
    command.add_argument("--warmup", type=int, default=500, help="steps")
    command.add_argument("--cooldown", type=float, default=0.6, help="final fraction of the run")
    command.add_argument("--r-drop", type=float, default=0.0, help="α; the paper's is 5")
    command.add_argument("--average", type=int, default=5, help="number of saves")
    command.add_argument("--save-seconds", type=float, default=10)
    command.add_argument("--write-seconds", type=float, default=60)
    command.add_argument("--log-seconds", type=float, default=5)
    command.add_argument("--no-compile", dest="compile", action="store_false")
    command.add_argument("--seed", type=int, default=1)
    command = commands.add_parser("join")
    command.set_defaults(run=join)
    command.add_argument("folder", type=Path, help="what `prepare` wrote")
    command.add_argument("results", type=Path, help="what `train` wrote")
    command.add_argument("checkpoint", type=Path)
    command.add_argument("--languages", nargs=2, default=("en", "fr"))
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    options.run(options)


if __name__ == "__main__":
    main()
