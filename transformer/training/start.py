"""One start of a run, new or resumed: text, model and trainer brought together, then its card."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from transformer.device import choose_device
from transformer.languages import front_matter
from transformer.model import Transformer
from transformer.run_config import FilesRun, PairsRun, TaskRun, TrainingRun
from transformer.text import Vocabulary
from transformer.training.console import Console, log
from transformer.training.data import TrainingPairs, open_prepared
from transformer.training.distributed import join_world, own_device
from transformer.training.evaluator import ProbeSet
from transformer.training.run import Progress, RunFolder, Status, load_progress
from transformer.training.trainer import Report, Trainer
from transformer.training.translation_task import TranslationTask


def train_in(
    run: RunFolder,
    asked: TrainingRun,
    corpus: Callable[[], TrainingPairs],
    begin: Callable[[TrainingPairs], ProbeSet | None],
    *,
    start: Callable[[Vocabulary], Transformer] | None = None,
    verbose: bool = True,
) -> Status:
    """Train or resume the run, on as many processes as torchrun started.

    Args:
        start: the model to begin with, of the run's vocabulary.
        corpus, begin: called in the first process, `begin` when the folder is this run's alone;
            it leaves the encoded text there.
        verbose: whether to tell on standard error how it goes.
    """
    device = own_device(choose_device(asked.device))
    with join_world(device) as world, ExitStack() as stack:
        report: Report = lambda _: None  # noqa: E731
        probe_set: ProbeSet | None = None
        if world.is_main:
            text = corpus()
            stack.enter_context(run.held())
            probe_set = begin(text)
        world.barrier()
        files = asked if isinstance(asked, FilesRun) else None
        data = open_prepared(run, list(files.added.values()) if files else [])
        model = asked.model if files else replace(asked.model, vocab_size=len(data.vocabulary))
        if world.is_main and verbose:
            report = stack.enter_context(Console())
        config, progress = asked.training, load_progress(run)
        task = TranslationTask(
            run,
            model,
            config,
            data,
            progress,
            device=device,
            world=world,
            card=lambda progress, averaged: model_card(
                replace(asked, model=model), progress, n_pairs=data.n_train, averaged=averaged
            ),
            start=start and start(data.vocabulary),
            probe_set=probe_set if world.is_main or files else ProbeSet((), ()),
        )
        trainer = Trainer(run, config, task, progress, device=device, world=world, report=report)
        if world.is_main and verbose:
            log(_summary(task))
        status = trainer.train()
    if world.is_main and verbose:
        where = f"; the model is {run.checkpoint_path}" if trainer.progress.step else ""
        log(f"{status}: {run.state()['reason']}{where}")
    return status


def _summary(task: TranslationTask) -> str:
    parameters = sum(weight.numel() for weight in task.learner.model.parameters())
    measured = " (measured: the faster here)" if task.config.precision == "auto" else ""
    size, step = task.world.size, task.progress.step
    return (
        f"{task.data.n_train:,} pairs, {parameters:,} parameters, on {task.device} in "
        f"{task.progress.precision}{measured}"
        + (f", {size} processes" if size > 1 else "")
        + (f", resuming after step {step:,}" if step else "")
    )


TASK_LANGUAGES = {"french": ("en", "fr")}
"""Tasks of our own that are languages."""


def model_card(asked: TrainingRun, progress: Progress, *, n_pairs: int, averaged: int) -> str:
    """What a run knows of its own model; people add licence and scores. Raises ValueError for
    "languages" that are none; `claim` has refused them before."""
    model, training = asked.model, asked.training
    files, begun, languages = "", "", asked.languages
    match asked:
        case TaskRun():
            options = ", ".join(f"{name} {value}" for name, value in asked.options.items())
            files = f"our task {asked.task}: {options}"
            languages = languages or TASK_LANGUAGES.get(asked.task)
        case PairsRun():
            files = asked.pairs
        case FilesRun():
            files = ", ".join(map(os.path.basename, asked.train))
            if asked.start_from:
                begun = f", begun with the weights of {os.path.basename(asked.start_from)}"
    best = f" Best validation loss {progress.best_valid:.3f} nats a token."
    return (
        f"{front_matter(languages) if languages else ''}"
        "# Model card\n\n"
        f"An encoder–decoder Transformer: {model.n_layers}+{model.n_layers} layers, "
        f"d_model {model.d_model}, {model.n_heads} heads, d_ff {model.d_ff}, "
        f"{model.vocab_size} pieces, {model.score} scores, {model.positions} positions.\n\n"
        f"Trained on {n_pairs:,} pairs ({files}){begun}: {progress.step:,} steps of at most "
        f"{training.batch_tokens:,} positions, to epoch {progress.epoch + 1}, in "
        f"{progress.seconds / 60:.1f} minutes; dropout {model.dropout}, label smoothing "
        f"{training.label_smoothing}, seed {training.seed}, {progress.precision}."
        f"{best if progress.best_valid < float('inf') else ''} The weights are the mean of the "
        f"last {averaged} saved.\n"
    )
