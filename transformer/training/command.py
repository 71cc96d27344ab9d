"""What `python -m transformer train` does, in one process or in several under torchrun."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from transformer.device import choose_device
from transformer.run_config import FilesRun, RunConfig, TrainingRun
from transformer.text import read_pairs
from transformer.training.card import model_card
from transformer.training.carry import load_start
from transformer.training.console import log
from transformer.training.data import TrainingPairs, prepare
from transformer.training.evaluator import ProbeSet
from transformer.training.run import RunError, RunFolder
from transformer.training.start import train_in
from transformer.training.train_folder import MAX_WATCHED, train_run, warm_up

__all__ = ["claim", "model_card", "train_command", "train_run", "warm_up"]


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
    encoded: a start that failed before (at a mistake in the text, say) binds nobody.

    Raises:
        RunError: naming what differs.
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
