"""Train or resume a run from the config in its folder."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import torch

from transformer.analysis.corpora.gold import Link
from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig
from transformer.inference.device import choose_device, describe_computed
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.batching import Batch, make_batch
from transformer.text.files import read_json_or_empty
from transformer.training.adam import Adam
from transformer.training.console import Console, log
from transformer.training.data import (
    PreparedData,
    TrainingPairs,
    batches_from,
    epoch_plan,
    get_task,
    prepare_data,
)
from transformer.training.evaluation_callback import EvaluationCallback
from transformer.training.evaluator import ProbeSet
from transformer.training.learner import DTYPES, N_SEEDS, Learner, seed_generator
from transformer.training.packed_rows import pack_epochs, packed_batches
from transformer.training.run_checkpoint import WeightAverager, model_card
from transformer.training.run_config import FilesRun, TaskRun, TrainingRun
from transformer.training.run_folder import (
    BusyError,
    LoopState,
    RunError,
    RunFolder,
    Status,
    as_training_error,
)
from transformer.training.trainer import Report, Trainer, TrainTask

MAX_VALID_PAIRS = 500  # validation pairs used in evaluations
N_PROBES = 4


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
        "finished", "paused", "cancelled" or, with the reason in state.json, "failed".

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
    try:
        with run.locked(), ExitStack() as stack:
            _forget_old_command(run)
            loop, device = run.loop_state(), choose_device(config.device)
            task = _prepare_translation(
                run, config, loop, device, log if verbose else lambda _: None
            )
            if verbose:
                log(_summary(task))
            report: Report = stack.enter_context(Console()) if verbose else lambda _: None
            status = Trainer(run, config.training, task, report=report).train()
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
    if verbose:
        state = run.state()
        log(describe_computed(state))
        has_model = run.checkpoint_path.is_dir()
        checkpoint_note = f"; the model is {run.checkpoint_path}" if has_model else ""
        log(f"{status}: {state['reason']}{checkpoint_note}")
    return status


def _forget_old_command(run: RunFolder) -> None:
    """Delete the command that ended this run, which must not end the new start."""
    status = read_json_or_empty(run.path / "state.json").get("status")
    has_ended = status in ("paused", "cancelled", "failed", "finished")
    if has_ended and run.control().command != "run":
        run.write_control(command="run")


def _record_failure(run: RunFolder, reason: str) -> bool:
    """Write the status "failed", unless the trainer has already; return False if that fails."""
    state = read_json_or_empty(run.path / "state.json")
    if (state.get("status"), state.get("reason")) != ("failed", reason):
        try:
            run.change_state("failed", reason)
        except OSError:
            return False
    return True


def _summary(task: TrainTask) -> str:
    parameters = sum(weight.numel() for weight in task.learner.model.parameters())
    pairs = f"{task.data.n_train:,} pairs, " if isinstance(task, TranslationTask) else ""
    resumed = f", resuming after step {task.loop.step:,}" if task.loop.step else ""
    return f"{pairs}{parameters:,} parameters, on {task.device} in {task.loop.precision}{resumed}"


def _prepare_translation(
    run: RunFolder,
    config: TrainingRun,
    loop: LoopState,
    device: torch.device,
    log: Callable[[str], None],
) -> TranslationTask:
    """Encode the text of the run, unless that is done; return the task of training on it."""
    corpus = TrainingPairs.of_run(run, config)
    size, fit = config.model.vocab_size, not isinstance(config, FilesRun)
    data = prepare_data(run, corpus, vocab_size=size, max_len=config.max_pieces, fit=fit, log=log)
    if fit and len(data.vocabulary) != size:
        config = replace(config, model=replace(config.model, vocab_size=len(data.vocabulary)))
        run.write_config(config)
    probe_set = None
    if config.probes or not isinstance(config, FilesRun):
        probe_set = _probe_set(config, corpus, data.vocabulary)
    return TranslationTask(run, config, data, loop, device, probe_set)


def _probe_set(config: TrainingRun, corpus: TrainingPairs, vocabulary: Vocabulary) -> ProbeSet:
    """Return the sentences to evaluate: validation pairs, and the probes of the config or some of
    these pairs, of different lengths."""
    valid: list[tuple[str, str]] = []
    gold: list[set[Link]] = []
    for index, (src, tgt) in enumerate(itertools.islice(corpus.valid(), MAX_VALID_PAIRS)):
        n_pieces = max(len(vocabulary.encode(src)), len(vocabulary.encode(tgt, target=True)))
        if n_pieces <= config.max_pieces:
            valid.append((src, tgt))
            gold += corpus.gold[index : index + 1]
    by_length = sorted(valid, key=lambda pair: (len(pair[0].split()), pair))
    chosen = {(2 * n + 1) * len(valid) // (2 * N_PROBES) for n in range(N_PROBES)}
    return ProbeSet(
        probes=config.probes or [by_length[index] for index in sorted(chosen)],
        valid=valid,
        gold=gold,
        language=not isinstance(config, TaskRun) or get_task(config.task).languages is not None,
        inspect=config.inspect,
    )


class TranslationTask(TrainTask):
    """Training of the paper's model on sentence pairs.

    The checkpoint is the mean of the last saved weights (section 6.1).
    """

    def __init__(
        self,
        run: RunFolder,
        run_config: TrainingRun,
        data: PreparedData,
        loop: LoopState,
        device: torch.device,
        probe_set: ProbeSet | None = None,
    ) -> None:
        """Initialise the model and its evaluations.

        Args:
            probe_set: sentences to evaluate; default: no evaluations.

        Raises ValueError if vocabulary and model do not match, or the matrix to inspect is unknown.
        """
        model_config, config = run_config.model, run_config.training
        data.vocabulary.check(model_config)
        self.run_config, self.config, self.data = run_config, config, data
        self.loop, self.device = loop, device
        loop.precision = config.precision
        torch.manual_seed(config.seed % N_SEEDS)
        with torch.device("cpu"):  # the same weights for a seed, on every device
            model = Transformer(model_config)
            if isinstance(run_config, FilesRun) and run_config.start_from and not loop.step:
                load_start_weights(model, data.vocabulary, run_config.start_from)
        self.learner: Learner = Learner(
            model.to(device), DTYPES[config.precision], config.weight_decay
        )
        self._make_batch = functools.partial(
            make_batch, pad_id=model_config.pad_id, bos_id=model_config.bos_id
        )
        # Packed before the clock of the run starts.
        self._rows = (
            pack_epochs(data, config, model_config.pad_id).to(device)
            if config.packed_length
            else None
        )
        self.averager = WeightAverager(run, config.average)
        self.callback: EvaluationCallback | None = None
        if probe_set is not None:
            self.callback = EvaluationCallback(
                run,
                self.learner,
                data.vocabulary,
                probe_set,
                resumed=loop.step > 0,
                measure_every=config.valid_every,
                time_limited=config.minutes > 0,
            )
        # Evaluations measure the validation loss too, but patience needs it at fixed steps.
        self.validates = probe_set is None or config.patience > 0

    @functools.cached_property
    def _batches(self) -> Iterator[Batch]:
        if self._rows is not None:
            return packed_batches(self._rows, self.config, self.loop, self.run_config.model)
        plan = batches_from(self.data, self.config, self.loop)
        return (self._make_batch(epoch, indices).to(self.device) for epoch, indices in plan)

    def compute_gradients(self) -> dict[str, float]:
        """Compute the gradients on the next batch."""
        config = self.config
        batch = next(self._batches)
        # Each step has its own seed, so that a resumed run draws the same dropout masks.
        seed_generator(config.seed, self.loop.step, self.device)
        totals = self.learner.compute_gradients(
            batch,
            config.label_smoothing,
            config.sharpness_penalty,
            config.diversity_penalty,
            config.r_drop,
        )
        self.loop.batch += 1
        return {
            "loss": totals.smoothed / totals.positions,
            "nll": totals.plain / totals.positions,
            "tokens": totals.positions + int((batch.src != self.run_config.model.pad_id).sum()),
        }

    def before_update(self) -> None:
        """Let the callback record the weights of the inspected matrix."""
        if self.callback is not None:
            self.callback.before_update()

    def evaluate_if_due(self, progress: float, *, final: bool) -> dict[str, Any]:
        """Run the callback, and update the best validation loss."""
        if self.callback is None:
            return {}
        loop = self.loop
        figures = self.callback.evaluate_if_due(loop.step, progress, loop.seconds, final=final)
        if figures and not self.validates:  # otherwise `validation_loss` sets it
            loop.best_valid = min(loop.best_valid, figures["valid_loss"])
        return figures

    def validation_loss(self) -> float:
        """Return the loss of all validation pairs, in nats per token."""
        valid = self.data.valid
        plan = epoch_plan(valid, self.config.batch_tokens)
        totals = self.learner.validate(self._make_batch(valid, indices) for indices in plan)
        return totals.plain / totals.positions

    def rewind(self, step: int) -> None:
        """Delete weights saved after `step`."""
        self.averager.rewind(step)

    def keep_weights(self, step: int) -> None:
        """Save the weights for averaging."""
        self.averager.add(self.learner.model, step)

    def save_model(self) -> None:
        """Save the mean of the last weights as a checkpoint with its model card."""
        card = model_card(
            self.run_config,
            self.loop,
            n_pairs=self.data.n_train,
            averaged=len(self.averager),
        )
        self.averager.save_mean(self.learner.model, self.data.vocabulary, card)


@torch.no_grad()
def load_start_weights(model: Transformer, vocabulary: Vocabulary, checkpoint: str) -> None:
    """Load the weights of a checkpoint into a new model of the same shape.

    A model of one language pair is a good initialisation for another, even of unrelated languages
    (Kocmi and Bojar 2018, "Trivial Transfer Learning for Low-Resource Neural Machine Translation").
    With another vocabulary, pieces of both vocabularies keep their embedding vectors.
    """
    start, old_vocabulary = load_checkpoint(checkpoint)
    weights = start.state_dict()
    if vocabulary.sha256 != old_vocabulary.sha256:
        embedding, old_embedding = model.embedding.weight.clone(), start.embedding.weight
        old_ids = {piece: id for id, piece in enumerate(_pieces(old_vocabulary))}
        for new_id, piece in enumerate(_pieces(vocabulary)):
            if piece in old_ids:
                embedding[new_id] = old_embedding[old_ids[piece]]
        weights["embedding.weight"] = embedding
    model.load_state_dict(weights)


def _pieces(vocabulary: Vocabulary) -> list[str]:
    return vocabulary.tokens(range(len(vocabulary)))
