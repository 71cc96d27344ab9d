"""Start or resume a run: prepare text and model, train, write the model card."""

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
from transformer.training.data import TrainingPairs, open_prepared_data
from transformer.training.evaluator import ProbeSet
from transformer.training.run import LoopState, RunFolder, Status, load_loop_state
from transformer.training.trainer import Report, Trainer
from transformer.training.translation_task import TranslationTask


def start_training(
    run: RunFolder,
    run_config: TrainingRun,
    load_corpus: Callable[[], TrainingPairs],
    prepare_run: Callable[[TrainingPairs], ProbeSet | None],
    *,
    initial_model: Callable[[Vocabulary], Transformer] | None = None,
    verbose: bool = True,
) -> Status:
    """Train or resume the run.

    Args:
        load_corpus: called before the run folder is locked.
        prepare_run: called with the corpus, after the folder is locked; writes the encoded text and
            returns the sentences to evaluate.
        initial_model: returns the model to start from, for the run's vocabulary.
        verbose: whether to report progress on standard error.
    """
    device = choose_device(run_config.device)
    corpus = load_corpus()
    with run.locked(), ExitStack() as stack:
        probe_set = prepare_run(corpus)
        files = run_config if isinstance(run_config, FilesRun) else None
        data = open_prepared_data(run, list(files.added.values()) if files else [])
        model = (
            run_config.model
            if files
            else replace(run_config.model, vocab_size=len(data.vocabulary))
        )
        config, loop = run_config.training, load_loop_state(run)
        report: Report = stack.enter_context(Console()) if verbose else lambda _: None
        task = TranslationTask(
            run,
            model,
            config,
            data,
            loop,
            device=device,
            card=lambda loop, averaged: model_card(
                replace(run_config, model=model), loop, n_pairs=data.n_train, averaged=averaged
            ),
            start=initial_model and initial_model(data.vocabulary),
            probe_set=probe_set,
        )
        trainer = Trainer(run, config, task, loop, device=device, report=report)
        if verbose:
            log(_summary(task))
        status = trainer.train()
    if verbose:
        checkpoint_note = f"; the model is {run.checkpoint_path}" if trainer.loop.step else ""
        log(f"{status}: {run.state()['reason']}{checkpoint_note}")
    return status


def _summary(task: TranslationTask) -> str:
    parameters = sum(weight.numel() for weight in task.learner.model.parameters())
    precision_note = " (measured as faster)" if task.config.precision == "auto" else ""
    step = task.loop.step
    return (
        f"{task.data.n_train:,} pairs, {parameters:,} parameters, on {task.device} in "
        f"{task.loop.precision}{precision_note}"
        + (f", resuming after step {step:,}" if step else "")
    )


TASK_LANGUAGES = {"french": ("en", "fr")}
"""Language codes of the toy tasks that translate between languages."""


def model_card(config: TrainingRun, loop: LoopState, *, n_pairs: int, averaged: int) -> str:
    """Return the model card of a run; licence and scores are added by hand.

    Raises ValueError for invalid language codes.
    """
    model, training = config.model, config.training
    source, initialization, languages = "", "", config.languages
    match config:
        case TaskRun():
            options = ", ".join(f"{name}={value}" for name, value in config.options.items())
            source = f"the task {config.task} with {options}"
            languages = languages or TASK_LANGUAGES.get(config.task)
        case PairsRun():
            source = config.pairs
        case FilesRun():
            source = ", ".join(map(os.path.basename, config.train))
            if config.start_from:
                initialization = f", initialised from {os.path.basename(config.start_from)}"
    best_loss = f" Best validation loss {loop.best_valid:.3f} nats per token."
    return (
        f"{front_matter(languages) if languages else ''}"
        "# Model card\n\n"
        f"An encoder–decoder Transformer: {model.n_layers}+{model.n_layers} layers, "
        f"d_model {model.d_model}, {model.n_heads} heads, d_ff {model.d_ff}, "
        f"a vocabulary of {model.vocab_size:,} tokens, score function {model.score}, "
        f"positional encoding {model.positions}.\n\n"
        f"Trained on {n_pairs:,} pairs ({source}){initialization}: {loop.step:,} steps of at most "
        f"{training.batch_tokens:,} source and target positions, "
        f"ending in epoch {loop.epoch + 1:,}, in {loop.seconds / 60:.1f} minutes; "
        f"dropout {model.dropout}, label smoothing {training.label_smoothing}, "
        f"seed {training.seed}, precision {loop.precision}."
        f"{best_loss if loop.best_valid < float('inf') else ''} The weights are "
        f"{f'the mean of the last {averaged} saves' if averaged > 1 else 'those of the last save'}"
        ".\n"
    )
