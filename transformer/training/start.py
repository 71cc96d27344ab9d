"""One start of a run, new or resumed: text, model and trainer brought together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from transformer.device import choose_device
from transformer.model import Transformer
from transformer.run_config import FilesRun, TrainingRun
from transformer.text import Vocabulary
from transformer.training.card import model_card
from transformer.training.console import Console, log
from transformer.training.data import TrainingPairs, open_prepared
from transformer.training.distributed import join_world, own_device
from transformer.training.evaluator import ProbeSet
from transformer.training.progress import load_progress
from transformer.training.run import RunFolder, Status
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
