"""What `python -m transformer train` does, in one process or in several under torchrun."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig, TrainingConfig
from transformer.device import choose_device
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.training.console import Console, say
from transformer.training.data import Corpus, open_prepared, prepare
from transformer.training.distributed import join_world, own_device
from transformer.training.run import RunError, RunFolder
from transformer.training.saving import Progress
from transformer.training.trainer import Report, Trainer


def train_command(
    *,
    train: list[str],
    valid: list[str] | None,
    run_path: str,
    model_config: ModelConfig,
    config: TrainingConfig,
    max_pieces: int,
    device_name: str,
    start_from: str | None = None,
) -> int:
    """Prepare the text, then train or resume; 0 when the run ended as asked.

    Several processes read one run folder, so several machines need it on a disk they share.
    Raises ValueError, OSError or RuntimeError with a sentence for the user.
    """
    device = own_device(choose_device(device_name))
    run = RunFolder(run_path)
    asked = {
        "model": model_config.to_dict(),
        "training": config.to_dict(),
        "data": {
            "train": train,
            "valid": valid,
            "max_pieces": max_pieces,
            "start_from": start_from,
        },
    }
    start = load_start(start_from, model_config)
    with join_world(device) as world, ExitStack() as stack:
        report: Report = lambda _: None  # noqa: E731
        if world.leads:
            corpus = Corpus.of_files(train, valid)
            stack.enter_context(run.held())
            claim(run, asked)
            if start and not run.vocabulary_path.is_file():
                start[1].save(run.vocabulary_path)
            prepare(run, corpus, vocab_size=model_config.vocab_size, max_len=max_pieces, tell=say)
        world.wait()
        data = open_prepared(run)
        if world.leads:
            report = stack.enter_context(Console())
        trainer = Trainer(
            run,
            model_config,
            config,
            data,
            device=device,
            world=world,
            card=lambda progress, averaged: model_card(
                asked, progress, n_pairs=len(data.train), averaged=averaged
            ),
            report=report,
            start=start[0] if start else None,
        )
        if world.leads:
            say(_summary(trainer, config))
        status = trainer.train()
    if world.leads:
        where = f"; the model is {run.checkpoint_path}" if trainer.progress.step else ""
        say(f"{status}: {run.state()['reason']}{where}")
    return 0


def load_start(
    folder: str | None, model_config: ModelConfig
) -> tuple[Transformer, Vocabulary] | None:
    """The checkpoint that a run begins with.

    Raises:
        CheckpointError: if there is none.
        ValueError: if its shape is not the one asked for; dropout may differ.
    """
    if folder is None:
        return None
    model, vocabulary = load_checkpoint(folder)
    has = {**model.config.to_dict(), "dropout": model_config.dropout}
    if changes := _differences(has, model_config.to_dict()):
        name, old, new = changes[0]
        raise ValueError(
            f"{folder} has {name} {old!r}; a run that starts from it cannot have {new!r}"
        )
    return model, vocabulary


def claim(run: RunFolder, asked: dict[str, Any]) -> None:
    """Write what is asked into the run's config.json.

    Training settings may differ from the last time. Model and text may not, once the text is
    encoded: a start that failed before (at a mistake in the text, say) binds nobody.

    Raises:
        RunError: naming what differs.
    """
    if run.exists:
        before = run.config()
        changes = [
            f"{name} {old!r}, not {new!r}"
            for part in ("model", "data")
            for name, old, new in _differences(before.get(part), asked[part])
        ]
        if changes and run.is_prepared:
            raise RunError(
                f"{run.path} was started with {'; '.join(changes)}: resume it with the same, or "
                "give another run folder"
            )
        if changes:
            run.forget_text()
    run.write_config(asked)


def _differences(before: Any, asked: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """(name, old, new) of what is not the same; a name that one side lacks has its default."""
    old = before if isinstance(before, dict) else {}
    return [
        (name, old[name], asked[name])
        for name in asked
        if old.get(name, asked[name]) != asked[name]
    ]


def _summary(trainer: Trainer, config: TrainingConfig) -> str:
    parameters = sum(weight.numel() for weight in trainer.learner.model.parameters())
    measured = " (measured: the faster here)" if config.precision == "auto" else ""
    size, step = trainer.world.size, trainer.progress.step
    return (
        f"{len(trainer.data.train):,} pairs, {parameters:,} parameters, on {trainer.device} in "
        f"{trainer.progress.precision}{measured}"
        + (f", {size} processes" if size > 1 else "")
        + (f", resuming after step {step:,}" if step else "")
    )


def model_card(asked: dict[str, Any], progress: Progress, *, n_pairs: int, averaged: int) -> str:
    """What a run knows of its own model; people add licence and scores."""
    model, training = asked["model"], asked["training"]
    files = ", ".join(os.path.basename(path) for path in asked["data"]["train"])
    layers = f"{model['n_layers']}+{model['n_layers']}"
    start = asked["data"].get("start_from")
    begun = f", begun with the weights of {os.path.basename(start)}" if start else ""
    best = f" Best validation loss {progress.best_valid:.3f} nats a token."
    return (
        "# Model card\n\n"
        f"An encoder–decoder Transformer: {layers} layers, d_model {model['d_model']}, "
        f"{model['n_heads']} heads, d_ff {model['d_ff']}, {model['vocab_size']} pieces, "
        f"{model['score']} scores, {model['positions']} positions.\n\n"
        f"Trained on {n_pairs:,} pairs ({files}){begun}: {progress.step:,} steps of at most "
        f"{training['batch_tokens']:,} positions, to epoch {progress.epoch + 1}, in "
        f"{progress.seconds / 60:.1f} minutes; dropout {model['dropout']}, label smoothing "
        f"{training['label_smoothing']}, seed {training['seed']}, {progress.precision}."
        f"{best if progress.best_valid < float('inf') else ''} The weights are the mean of the "
        f"last {averaged} saved.\n"
    )
