"""Train the run that a folder's config.json describes: for a worker, a notebook or the shell."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import torch

from transformer.analysis.corpora.gold import Link
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.run_config import FilesRun, LayerRun, PairsRun, TaskRun, TrainingRun
from transformer.text import Vocabulary
from transformer.training.console import log
from transformer.training.data import TrainingPairs, prepare
from transformer.training.errors import as_training_error
from transformer.training.evaluator import ProbeSet
from transformer.training.layer_race import train_layers
from transformer.training.run import BusyError, RunError, RunFolder, Status
from transformer.training.start import train_in

MAX_WATCHED = 500  # validation pairs that looks are taken at
PROBES = 4
FEW_WORDS = 100
"""Up to so many different words each becomes one piece: nothing is learned from cutting them up."""
MOST_SENTENCES = 200_000  # that pieces are learned from


def warm_up(threads: int) -> None:
    """Do once what is slow the first time: torch's kernels and Adam, on a model of no size."""
    torch.set_num_threads(threads)
    config = ModelConfig(vocab_size=8, d_model=8, n_layers=1, n_heads=2, d_ff=8)
    model, ids = Transformer(config), torch.ones(2, 3, dtype=torch.long)
    adam = torch.optim.Adam(model.parameters(), lr=0.0, fused=True)
    torch.nn.functional.cross_entropy(model(ids, ids).flatten(0, 1), ids.flatten()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()


def train_run(path: str | os.PathLike[str], *, verbose: bool = False) -> Status:
    """Train or resume the run in this process, steered by its control.json.

    Args:
        verbose: whether to tell on standard error how it goes.

    Returns:
        "finished", "cancelled" or, with the reason in state.json, "failed".

    Raises:
        RunError: if the folder's config.json is none of a run to train; BusyError, which is one, if
            another process trains there. Nothing is written then.
        TrainingError: if not even the state could be written, as on a full disk; it has the reason.
    """
    run = RunFolder(path)
    asked = run.config()
    if not isinstance(asked, TrainingRun):
        raise RunError(f"{run.path.name} keeps what was seen of a training; it cannot be trained")
    with suppress(RunError):  # a stop that ended it before does not end it again; a new one does
        ended = run.state()["status"] in ("cancelled", "failed", "finished")
        if ended and run.control().command == "stop":
            run.write_control(command="run")
    try:
        if isinstance(asked, LayerRun):
            return train_layers(run, asked, verbose=verbose)
        return train_in(
            run,
            asked,
            lambda: corpus_of(run, asked),
            lambda corpus: _begin(run, asked, corpus, verbose),
            verbose=verbose,
        )
    except BusyError:
        raise
    except Exception as error:
        failure = as_training_error(error, 0, asked.training.batch_tokens)
        if isinstance(failure, ValueError | RuntimeError):
            if not _say_failed(run, str(failure)):
                raise failure from error
            return "failed"
        _say_failed(run, f"{type(error).__name__}: {error}")
        raise


def _say_failed(run: RunFolder, reason: str) -> bool:
    """Unless the trainer has said it already, with step and device; whether it could be written."""
    before: dict[str, object] = {}
    with suppress(RunError):
        before = run.state()
    if (before.get("status"), before.get("reason")) != ("failed", reason):
        try:
            run.change_state("failed", reason)
        except OSError:
            return False
    return True


def corpus_of(run: RunFolder, asked: TrainingRun) -> TrainingPairs:
    """The text of a run: a task's, pairs inside its folder, or files anywhere. Raises ValueError
    for a task, an option or a file that there is not, or a file outside."""
    match asked:
        case TaskRun():
            return TrainingPairs.of_task(asked.task, asked.options, asked.training.seed)
        case PairsRun():
            if not re.fullmatch(r"\w[\w.-]*", asked.pairs):
                raise RunError(f"the pairs must be a file in the run's folder, not {asked.pairs!r}")
            return TrainingPairs.of_files([run.path / asked.pairs])
        case FilesRun():
            return TrainingPairs.of_files(asked.train, asked.valid)
    raise RunError(f"a run of {asked.kind} has no text")


def _begin(
    run: RunFolder, asked: TrainingRun, corpus: TrainingPairs, verbose: bool
) -> ProbeSet | None:
    """Encode the text, if it is not yet, and choose what to look at."""
    wanted, max_len = asked.model.vocab_size, asked.max_pieces
    own = not isinstance(asked, FilesRun)
    if own and not run.vocabulary_path.is_file():
        fitted_vocabulary(corpus, wanted).save(run.vocabulary_path)
    told = {"log": log} if verbose else {}
    prepared = prepare(run, corpus, vocab_size=wanted, max_len=max_len, **told)
    if not own:
        return None
    if (size := len(prepared.vocabulary)) != wanted:
        run.write_config(replace(asked, model=replace(asked.model, vocab_size=size)))
    encode = prepared.vocabulary.encode
    valid: list[tuple[str, str]] = []
    gold: list[set[Link]] = []
    for number, pair in enumerate(itertools.islice(corpus.valid(), MAX_WATCHED)):
        if max(len(encode(pair[0])), len(encode(pair[1], target=True))) <= max_len:
            valid.append(pair)
            gold += corpus.gold[number : number + 1]
    return ProbeSet(
        probes=asked.probes or _probes(valid),
        valid=valid,
        gold=gold,
        language=not isinstance(asked, TaskRun) or asked.task == "french",
        inspect=asked.inspect,
    )


def _probes(valid: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A few validation pairs, from rather short to rather long ones."""
    order = sorted(valid, key=lambda pair: (len(pair[0].split()), pair))
    places = {(2 * n + 1) * len(order) // (2 * PROBES) for n in range(PROBES)}
    return [order[place] for place in sorted(places)]


def fitted_vocabulary(corpus: TrainingPairs, wanted: int) -> Vocabulary:
    """The symbols of a task; else a piece for each word of a tiny text; else about `wanted` pieces.

    Both sides of the training pairs count. Where the text gives fewer pieces than wanted it is as
    many as it gives, and where its letters need more, as many as they need. Raises ValueError for
    text that cannot be read, or gives no vocabulary at all.
    """
    if corpus.symbols:
        return Vocabulary.of_symbols(corpus.symbols)
    sentences = [side for pair in corpus.train() for side in pair][:MOST_SENTENCES]
    words = sorted({word for sentence in sentences for word in sentence.split()})
    if len(words) <= FEW_WORDS:
        try:
            return Vocabulary.of_symbols(words)
        except ValueError:  # a word that Unicode writes in several ways
            pass
    return _fit(sentences, wanted)


def _fit(sentences: Sequence[str], wanted: int) -> Vocabulary:
    """SentencePiece says how many pieces a text can give, or must have; then those are taken."""
    for _ in range(3):
        try:
            return Vocabulary.train(sentences, wanted)
        except ValueError as error:
            fits = re.search(r"ask for (?:at least )?(\d+)", str(error))
            if fits is None or int(fits[1]) == wanted:
                raise
            wanted = int(fits[1])
    return Vocabulary.train(sentences, wanted)
