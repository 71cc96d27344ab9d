"""From a task and a few wishes to a run's whole config: one place for the page and the shell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from transformer.config import ModelConfig, TrainingConfig, near
from transformer.run_config import INSPECT, PairsRun, RaceEntry, TaskRun
from transformer.text import Vocabulary
from transformer.training.data import PAIRS_OF_A_TASK, task_named, task_sizes

PAIRS_FILE = "pairs.tsv"
"""Where a run keeps pairs of the user's own."""

# Small models: no dropout to fight, a short warm-up, and a long fall of the rate, which is what
# brings the last few percent (`python -m benchmarks.live`). A fixed precision, for what "auto"
# finds faster may be another next time, and with it the model; of this size neither is.
_LIVE: dict[str, Any] = {
    "precision": "fp32",
    "dropout": 0.0,
    "steps": 800,
    "batch_tokens": 704,
    "warmup": 100,
    "learning_rate": 0.004,
    "cooldown": 0.6,
    "label_smoothing": 0.0,
    "average": 1,
    "save_every": 500,
}
_PAIRS: dict[str, Any] = {"steps": 3000, "batch_tokens": 1536, "dropout": 0.1} | {
    "label_smoothing": 0.1,
    "learning_rate": 0.002,
}
VOCAB_SIZE = 1000  # pieces of the user's own text, where it gives so many


def defaults(task: str | None = None) -> dict[str, Any]:
    """The settings that a task starts with, or pairs of the user's own, over those of a preset."""
    return _LIVE | (_PAIRS if task is None else task_named(task).training)


def sides(
    settings: Mapping[str, Any], others: Collection[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of `ModelConfig`, and of `TrainingConfig`. Raises ValueError for another name that is
    not among the `others`."""
    names = [{field.name for field in fields(kind)} for kind in (ModelConfig, TrainingConfig)]
    known = {*names[0], *names[1], *others}
    for name in settings:
        if name not in known:
            raise ValueError(f"there is no setting {name!r}{near(name, known)}")
    model, training = ({k: v for k, v in settings.items() if k in side} for side in names)
    return model, training


def describe(
    task: str | None = None,
    *,
    preset: str = "tiny",
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, int] | None = None,
    probes: Sequence[Sequence[str]] = (),
    inspect: str = INSPECT,
    device: str = "auto",
    title: str = "",
    race: RaceEntry | None = None,
) -> TaskRun | PairsRun:
    """What is asked of a run on one of our tasks, or on `pairs.tsv` in the run's folder.

    Args:
        task: its name; None for pairs of the user's own.
        settings: fields of `ModelConfig` and `TrainingConfig`, over the task's defaults; for own
            pairs `vocab_size` is how many pieces are wanted.
        options: of the task, and its n_train and n_valid.
        probes: (source, target) sentences whose attention is kept; some of the validation pairs
            if none are given.
        inspect: the weight matrix whose updates are written out; "" for none.

    Raises ValueError for a task, preset, option or setting that there is not, or a value that none
    of them takes.
    """
    shape, training = sides({**defaults(task), **(settings or {})})
    vocab_size = shape.pop("vocab_size", VOCAB_SIZE)
    if task is not None:
        chosen = task_named(task)
        own = {k: v for k, v in (options or {}).items() if k not in PAIRS_OF_A_TASK}
        n_train, n_valid = task_sizes(chosen, options or {})
        own = chosen.settings(**own)
        sizes = {"n_train": n_train, "n_valid": n_valid, **own}
        vocab_size = len(Vocabulary.of_symbols(chosen.symbols))
    given: dict[str, Any] = {
        "model": ModelConfig.preset(preset, vocab_size=vocab_size, **shape),
        "training": TrainingConfig.from_dict(training),
        "probes": tuple((src, tgt) for src, tgt in probes),
        "inspect": inspect,
        "device": device,
        "title": title,
        "race": race,
    }
    if task is None:
        return PairsRun(pairs=PAIRS_FILE, **given)
    return TaskRun(task=task, options=sizes, **given)
