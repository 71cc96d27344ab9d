"""Train or resume a run: prepare text and model, train, write the model card."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

import torch

from transformer.analysis.corpora.gold import Link
from transformer.config import ModelConfig
from transformer.inference.device import choose_device, describe_computed
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.languages import front_matter
from transformer.training.adam import Adam
from transformer.training.console import Console, log
from transformer.training.data import TrainingPairs, open_prepared_data, prepare_data
from transformer.training.evaluator import ProbeSet
from transformer.training.layer_race import train_layers
from transformer.training.run_config import FilesRun, LayerRun, PairsRun, TaskRun, TrainingRun
from transformer.training.run_folder import (
    BusyError,
    LoopState,
    RunError,
    RunFolder,
    Status,
    as_training_error,
)
from transformer.training.trainer import Report, Trainer
from transformer.training.translation_task import TranslationTask

MAX_VALID_PAIRS = 500  # validation pairs used in evaluations
N_PROBES = 4
MAX_WHOLE_WORDS = 100
"""A text with at most this many distinct words gets one piece per word."""
MAX_VOCABULARY_SENTENCES = 200_000  # sentences from which pieces are learned


def warm_up(threads: int) -> None:
    """Take one step with a tiny model, so that torch loads its kernels before a real run."""
    torch.set_num_threads(threads)
    config = ModelConfig(vocab_size=8, d_model=8, n_layers=1, n_heads=2, d_ff=8)
    model, token_ids = Transformer(config), torch.ones(2, 3, dtype=torch.long)
    adam = Adam(model.parameters(), lr=0.0, fused=True)
    torch.nn.functional.cross_entropy(
        model(token_ids, token_ids).flatten(0, 1), token_ids.flatten()
    ).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()


def train_run(path: str | os.PathLike[str], *, verbose: bool = False) -> Status:
    """Train or resume the run in this process; control.json can pause and stop it.

    Args:
        verbose: whether to report progress on standard error.

    Returns:
        "finished", "cancelled" or, with the reason in state.json, "failed".

    Raises:
        RunError: if the folder's config.json does not describe a run that can be trained;
            BusyError, a subclass, if another process trains there. Nothing is written then.
        TrainingError: if the run failed and state.json cannot be written either, for example
            because the disk is full.
    """
    run = RunFolder(path)
    config = run.config()
    if not isinstance(config, TrainingRun):
        raise RunError(f"{run.path.name} is a recorded training, which cannot be continued")
    with suppress(RunError):  # an old stop command must not stop the new start
        has_ended = run.state()["status"] in ("cancelled", "failed", "finished")
        if has_ended and run.control().command == "stop":
            run.write_control(command="run")
    try:
        if isinstance(config, LayerRun):
            return train_layers(run, config, verbose=verbose)
        return start_training(
            run,
            config,
            lambda: load_corpus(run, config),
            lambda corpus: _prepare_run(run, config, corpus, verbose),
            verbose=verbose,
        )
    except BusyError:
        raise
    except Exception as error:
        failure = as_training_error(error, 0, config.training.batch_tokens)
        if isinstance(failure, ValueError | RuntimeError):
            if not _record_failure(run, str(failure)):
                raise failure from error
            return "failed"
        _record_failure(run, f"{type(error).__name__}: {error}")
        raise


def _record_failure(run: RunFolder, reason: str) -> bool:
    """Write the status "failed", unless the trainer has already; return False if that fails."""
    state: dict[str, object] = {}
    with suppress(RunError):
        state = run.state()
    if (state.get("status"), state.get("reason")) != ("failed", reason):
        try:
            run.change_state("failed", reason)
        except OSError:
            return False
    return True


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
        config, loop = run_config.training, run.loop_state()
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
        log(describe_computed(run.state()))
        checkpoint_note = f"; the model is {run.checkpoint_path}" if trainer.loop.step else ""
        log(f"{status}: {run.state()['reason']}{checkpoint_note}")
    return status


def _summary(task: TranslationTask) -> str:
    parameters = sum(weight.numel() for weight in task.learner.model.parameters())
    step = task.loop.step
    return (
        f"{task.data.n_train:,} pairs, {parameters:,} parameters, on {task.device} in "
        f"{task.loop.precision}" + (f", resuming after step {step:,}" if step else "")
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


def load_corpus(run: RunFolder, config: TrainingRun) -> TrainingPairs:
    """Return the text of a run: of a toy task, of pairs in its folder, or of files.

    Raises ValueError for an unknown task or option, a missing file, or own pairs outside the
    folder.
    """
    match config:
        case TaskRun():
            return TrainingPairs.from_task(config.task, config.options, config.training.seed)
        case PairsRun():
            if not re.fullmatch(r"\w[\w.-]*", config.pairs):
                raise RunError(
                    f"the pairs must be a file in the run's folder, not {config.pairs!r}"
                )
            return TrainingPairs.from_files([run.path / config.pairs])
        case FilesRun():
            return TrainingPairs.from_files(
                config.train, config.valid, list(config.added), encoded=run.is_prepared
            )
    raise RunError(f"a run of {config.kind} has no text")


def _prepare_run(
    run: RunFolder, config: TrainingRun, corpus: TrainingPairs, verbose: bool
) -> ProbeSet | None:
    """Encode the text, unless that is done, and return the sentences to evaluate."""
    vocab_size, max_len = config.model.vocab_size, config.max_pieces
    fits_vocabulary = not isinstance(config, FilesRun)
    if fits_vocabulary and not run.vocabulary_path.is_file():
        fit_vocabulary(corpus, vocab_size).save(run.vocabulary_path)
    log_option = {"log": log} if verbose else {}
    prepared = prepare_data(run, corpus, vocab_size=vocab_size, max_len=max_len, **log_option)
    if not fits_vocabulary:
        return None
    if (size := len(prepared.vocabulary)) != vocab_size:
        run.write_config(replace(config, model=replace(config.model, vocab_size=size)))
    encode = prepared.vocabulary.encode
    valid: list[tuple[str, str]] = []
    gold: list[set[Link]] = []
    for index, pair in enumerate(itertools.islice(corpus.valid(), MAX_VALID_PAIRS)):
        if max(len(encode(pair[0])), len(encode(pair[1], target=True))) <= max_len:
            valid.append(pair)
            gold += corpus.gold[index : index + 1]
    return ProbeSet(
        probes=config.probes or _choose_probes(valid),
        valid=valid,
        gold=gold,
        language=not isinstance(config, TaskRun) or config.task == "french",
        inspect=config.inspect,
    )


def _choose_probes(valid: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a few validation pairs of different lengths."""
    order = sorted(valid, key=lambda pair: (len(pair[0].split()), pair))
    indices = {(2 * n + 1) * len(order) // (2 * N_PROBES) for n in range(N_PROBES)}
    return [order[index] for index in sorted(indices)]


def fit_vocabulary(corpus: TrainingPairs, vocab_size: int) -> Vocabulary:
    """Return the vocabulary of a corpus, learned from both sides of its training pairs.

    It consists of the symbols of a toy task, or one piece per word of a tiny text, or about
    `vocab_size` pieces: fewer if the text is too small, more if its characters need more. Raises
    ValueError for text that cannot be read or yields no vocabulary.
    """
    if corpus.symbols:
        return Vocabulary.from_symbols(corpus.symbols)
    sentences = [side for pair in corpus.train() for side in pair][:MAX_VOCABULARY_SENTENCES]
    words = sorted({word for sentence in sentences for word in sentence.split()})
    if len(words) <= MAX_WHOLE_WORDS:
        try:
            return Vocabulary.from_symbols(words)
        except ValueError:  # words that are equal after Unicode normalisation
            pass
    return _train_sentencepiece(sentences, vocab_size)


def _train_sentencepiece(sentences: Sequence[str], vocab_size: int) -> Vocabulary:
    """Train a vocabulary, correcting `vocab_size` to a possible one named in the error message."""
    for _ in range(3):
        try:
            return Vocabulary.train(sentences, vocab_size)
        except ValueError as error:
            possible_size = re.search(r"ask for (?:at least )?(\d+)", str(error))
            if possible_size is None or int(possible_size[1]) == vocab_size:
                raise
            vocab_size = int(possible_size[1])
    return Vocabulary.train(sentences, vocab_size)
