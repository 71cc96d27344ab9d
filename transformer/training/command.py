"""What `python -m transformer train` does, in one process or in several under torchrun."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig
from transformer.device import choose_device
from transformer.model import Transformer
from transformer.run_config import FilesRun, RunConfig, TrainingRun
from transformer.text import Vocabulary, read_pairs
from transformer.training.console import log
from transformer.training.data import TrainingPairs, prepare
from transformer.training.evaluator import ProbeSet
from transformer.training.run import RunError, RunFolder
from transformer.training.start import train_in
from transformer.training.train_folder import MAX_WATCHED


def train_command(
    run_path: str, asked: FilesRun, *, learn_vocabulary: bool = False, probes: str | None = None
) -> int:
    """Prepare the text, then train or resume; 0 when the run ended as asked.

    Several processes read one run folder, so several machines need it on a disk they share.

    Args:
        asked: a resumed run keeps its languages if none are given.
        learn_vocabulary: begin with the weights of `start_from`, but not with its pieces.
        probes: a table of pairs whose attention is kept as the model learns (`EvaluationCallback`).

    Raises ValueError, OSError or RuntimeError with a sentence for the user.
    """
    run = RunFolder(run_path)
    if run.exists and not asked.languages:
        asked = replace(asked, languages=run.config().languages)
    choose_device(asked.device)  # refused before anything is read or written
    start = (
        load_start(asked.start_from, asked.model, own_vocabulary=learn_vocabulary)
        if asked.start_from
        else None
    )
    probe_set = _watched(probes, asked.valid) if probes else None

    def begin(corpus: TrainingPairs) -> ProbeSet | None:
        claim(run, asked)
        if start and not learn_vocabulary and not run.vocabulary_path.is_file():
            start.vocabulary.save(run.vocabulary_path)
        size, longest = asked.model.vocab_size, asked.max_pieces
        prepare(run, corpus, vocab_size=size, max_len=longest, log=log)
        return probe_set

    corpus = functools.partial(TrainingPairs.of_files, asked.train, asked.valid, list(asked.added))
    train_in(run, asked, corpus, begin, start=start.model_for if start else None)
    return 0


def _watched(probes: str, valid: Sequence[str] | None) -> ProbeSet:
    """Pairs to look at while the run learns, and validation pairs to measure by."""
    if not valid:
        raise ValueError("--probes is looked at together with validation pairs: give --valid too")
    held_out = list(itertools.islice(read_pairs(*valid), MAX_WATCHED))
    return ProbeSet(list(read_pairs(probes)), held_out, language=True)


def claim(run: RunFolder, asked: TrainingRun) -> None:
    """Write what is asked into the run's config.json.

    Training settings may differ from the last time. Model and text may not, once the text is
    encoded: a start that failed before (at a mistake in the text, say) binds nobody. Raises
    RunError, naming what differs.
    """
    if run.exists:
        before, now = _settled(run.config()), _settled(asked)
        names = now if before["kind"] == now["kind"] else ["kind"]
        changes = [
            f"{name} {before[name]!r}, not {now[name]!r}"
            for name in names
            if before[name] != now[name]
        ]
        if changes and run.is_prepared:
            raise RunError(
                f"{run.path} was started with {'; '.join(changes)}: resume it with the same, or "
                "give another run folder"
            )
        if changes:
            run.forget_text()
    run.write_config(asked)


def _settled(config: RunConfig) -> dict[str, Any]:
    """What a resumed run may not change: the model, and what it learns from."""
    every = {"kind": config.kind, **asdict(config)}
    every = {name: [*each] if isinstance(each, tuple) else each for name, each in every.items()}
    return {name: every[name] for name in ("kind", *config.data)} | (every.get("model") or {})


@dataclass(frozen=True)
class Start:
    """A trained model and its vocabulary.

    A model of one language pair is a good beginning for another, whatever the languages (Kocmi and
    Bojar 2018, "Trivial Transfer Learning for Low-Resource Neural Machine Translation").
    """

    model: Transformer
    vocabulary: Vocabulary

    @torch.no_grad()
    def model_for(self, vocabulary: Vocabulary) -> Transformer:
        """The model for a run's vocabulary: itself, or a new one with all its weights. Of another
        vocabulary the pieces that both have keep their vectors; the others begin at random."""
        if vocabulary.sha256 == self.vocabulary.sha256:
            return self.model
        model = Transformer(replace(self.model.config, vocab_size=len(vocabulary)))
        begun = model.embedding.weight.detach().clone()
        old = {piece: number for number, piece in enumerate(_pieces(self.vocabulary))}
        for number, piece in enumerate(_pieces(vocabulary)):
            if piece in old:
                begun[number] = self.model.embedding.weight[old[piece]]
        model.load_state_dict({**self.model.state_dict(), "embedding.weight": begun})
        return model


def load_start(folder: str, model_config: ModelConfig, *, own_vocabulary: bool) -> Start:
    """The checkpoint in `folder`, for a run of the shape `model_config`.

    Args:
        own_vocabulary: whether the run learns a vocabulary of its own.

    Raises:
        CheckpointError: if there is none.
        ValueError: if its shape is not the one asked for; dropout may differ, and the vocabulary's
            size if the run learns its own.
    """
    model, vocabulary = load_checkpoint(folder)
    free = {"dropout", "vocab_size"} if own_vocabulary else {"dropout"}
    if own_vocabulary and vocabulary.pair is not None:
        raise ValueError(
            f"{folder} has a vocabulary of two models, one a side; a run that starts from it keeps "
            "it and cannot learn another"
        )
    has, wants = asdict(model.config), asdict(model_config)
    for name, value in wants.items():
        if name not in free and has[name] != value:
            raise ValueError(
                f"{folder} has {name} {has[name]!r}; a run that starts from it cannot have "
                f"{value!r}"
            )
    return Start(model, vocabulary)


def _pieces(vocabulary: Vocabulary) -> list[str]:
    return vocabulary.tokens(range(len(vocabulary)))
