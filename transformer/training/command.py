"""What `python -m transformer train` does, in one process or in several under torchrun."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from tqdm import tqdm

from transformer.config import ModelConfig, TrainingConfig
from transformer.device import choose_device
from transformer.training.data import Corpus, open_prepared, prepare
from transformer.training.distributed import World, join_world
from transformer.training.run import RunError, RunFolder
from transformer.training.saving import Progress
from transformer.training.trainer import Trainer


def train_command(
    *,
    train: list[str],
    valid: list[str] | None,
    run_path: str,
    model_config: ModelConfig,
    config: TrainingConfig,
    max_pieces: int,
    device_name: str,
) -> int:
    """Prepare the text, then train or resume; 0 when the run ended as asked."""
    device = choose_device(device_name)
    run = RunFolder(run_path)
    with join_world(device) as world:
        asked = {
            "model": model_config.to_dict(),
            "training": config.to_dict(),
            "data": {"train": train, "valid": valid, "max_pieces": max_pieces},
        }
        if world.leads:
            _claim(run, asked)
            corpus = Corpus.of_files(list(train), list(valid) if valid else None)
            prepare(
                run, corpus, vocab_size=model_config.vocab_size, max_len=max_pieces, progress=_say
            )
        world.wait()
        data = open_prepared(run)
        with _bar(config, world) as report:
            trainer = Trainer(
                run,
                model_config,
                config,
                data,
                device=device,
                world=world,
                card=lambda progress: model_card(asked, progress, len(data.train)),
                report=report,
            )
            if world.leads:
                parameters = sum(p.numel() for p in trainer.learner.model.parameters())
                _say(
                    f"{len(data.train)} pairs, {parameters:,} parameters, {device} in "
                    f"{str(trainer.dtype).removeprefix('torch.')}, {world.size} process(es)"
                )
            status = trainer.train()
        if world.leads:
            _say(f"{status}: {run.state()['reason']}; {run.checkpoint_path}")
    return 0


def _claim(run: RunFolder, asked: dict[str, Any]) -> None:
    """A new folder takes what is asked; an old one must have been asked the same model and text.

    Raises:
        RunError: naming what differs.
    """
    if not run.exists:
        run.write_config(asked)
        return
    before = run.config()
    for part in ("model", "data"):
        if before.get(part) != asked[part]:
            raise RunError(
                f"{run.path} was started with {part} {before.get(part)}, not {asked[part]}: "
                "resume with the same, or give another --run"
            )
    run.write_config(asked)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Bar:
    """tqdm over steps, or over the minutes when they are what ends the run."""

    def __init__(self, config: TrainingConfig) -> None:
        self.bar = tqdm(total=100.0, unit="%", file=sys.stderr, bar_format=_FORMAT, mininterval=1)
        self.speed = 0.0
        self.valid = ""

    def __enter__(self) -> Callable[[dict[str, Any]], None]:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def __call__(self, line: dict[str, Any]) -> None:
        if "valid_loss" in line:
            self.valid = f" valid {line['valid_loss']:.3f}"
            return
        speed = line["tokens"] / line["seconds"]
        self.speed = 0.95 * self.speed + 0.05 * speed if self.speed else speed
        self.bar.set_postfix_str(
            f"step {line['step']} loss {line['loss']:.3f}{self.valid} {self.speed:,.0f} tokens/s"
        )
        self.bar.update(100 * line["share"] - self.bar.n)


_FORMAT = "{percentage:3.1f}% {bar} {elapsed}, {remaining} left {postfix}"


def _bar(config: TrainingConfig, world: World) -> Any:
    return _Bar(config) if world.leads else nullcontext(lambda _: None)


def model_card(asked: dict[str, Any], progress: Progress, n_pairs: int) -> str:
    """What a run knows of its own model; people add licence and scores."""
    model, training = asked["model"], asked["training"]
    files = ", ".join(os.path.basename(path) for path in asked["data"]["train"])
    shape = (
        f"{model['n_layers']}+{model['n_layers']} layers, d_model {model['d_model']}, "
        f"{model['n_heads']} heads, d_ff {model['d_ff']}, {model['vocab_size']} pieces, "
        f"{model['score']} scores, {model['positions']} positions"
    )
    return (
        "# Model card\n\n"
        f"An encoder–decoder Transformer: {shape}.\n\n"
        f"Trained on {n_pairs:,} pairs ({files}): {progress.step:,} steps of "
        f"{training['batch_tokens']:,} positions, epoch {progress.epoch + 1}, "
        f"{progress.seconds / 60:.0f} minutes, dropout {model['dropout']}, label smoothing "
        f"{training['label_smoothing']}, seed {training['seed']}. Best validation loss "
        f"{progress.best_valid:.3f} nats a token; the weights are the mean of the last "
        f"{training['average']} saved.\n"
    )
