"""What `python -m transformer train` does, in one process or in several under torchrun."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from transformer.config import ModelConfig, TrainingConfig
from transformer.device import choose_device
from transformer.languages import Languages, checked
from transformer.text import read_pairs
from transformer.training.card import model_card
from transformer.training.carry import load_start
from transformer.training.console import say
from transformer.training.data import TrainingPairs, prepare
from transformer.training.evaluator import ProbeSet
from transformer.training.live import MAX_WATCHED, train_run
from transformer.training.run import RunError, RunFolder
from transformer.training.start import train_in

__all__ = ["claim", "model_card", "train_command", "train_run"]


def train_command(
    *,
    train: list[str],
    valid: list[str] | None,
    added: dict[str, float],
    run_path: str,
    model_config: ModelConfig,
    config: TrainingConfig,
    max_pieces: int,
    device_name: str,
    start_from: str | None = None,
    learn_vocabulary: bool = False,
    probes: str | None = None,
    languages: Languages | None = None,
) -> int:
    """Prepare the text, then train or resume; 0 when the run ended as asked.

    Several processes read one run folder, so several machines need it on a disk they share.

    Args:
        added: further tables to train on, and how often an epoch reads each.
        learn_vocabulary: begin with the weights of `start_from`, but not with its pieces.
        probes: a table of pairs whose attention is kept as the model learns (`EvaluationCallback`).
        languages: codes of the two sides, for the model's card; a resumed run keeps those it has.

    Raises ValueError, OSError or RuntimeError with a sentence for the user.
    """
    run = RunFolder(run_path)
    asked: dict[str, Any] = {
        "model": model_config.to_dict(),
        "training": config.to_dict(),
        "data": {
            "train": train,
            "valid": valid,
            "added": added,
            "max_pieces": max_pieces,
            "start_from": start_from,
        },
    }
    if languages or (run.exists and (languages := run.config().get("languages"))):
        asked["languages"] = list(checked(languages))
    choose_device(device_name)  # refused before anything is read or written
    start = (
        load_start(start_from, model_config, own_vocabulary=learn_vocabulary)
        if start_from
        else None
    )
    probe_set = _watched(probes, valid) if probes else None

    def begin(corpus: TrainingPairs) -> ProbeSet | None:
        claim(run, asked)
        if start and not learn_vocabulary and not run.vocabulary_path.is_file():
            start.vocabulary.save(run.vocabulary_path)
        prepare(run, corpus, vocab_size=model_config.vocab_size, max_len=max_pieces, tell=say)
        return probe_set

    corpus = functools.partial(TrainingPairs.of_files, train, valid, list(added))
    train_in(
        run, asked, corpus, begin, device_name=device_name, start=start.model_for if start else None
    )
    return 0


def _watched(probes: str, valid: list[str] | None) -> ProbeSet:
    """Pairs to look at while the run learns, and validation pairs to measure by."""
    if not valid:
        raise ValueError("--probes is looked at together with validation pairs: give --valid too")
    held_out = list(itertools.islice(read_pairs(*valid), MAX_WATCHED))
    return ProbeSet(list(read_pairs(probes)), held_out, language=True)


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
