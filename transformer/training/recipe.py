"""Default settings, and the complete config of a run from a task and a few settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from transformer.config import ModelConfig, TrainingConfig, did_you_mean
from transformer.text import Vocabulary
from transformer.training.data import get_task, task_options, task_sizes
from transformer.training.run_config import INSPECT, PairsRun, TaskRun

PAIRS_FILE = "pairs.tsv"
"""The file of the user's own pairs, in the run folder."""

# For small models: no dropout, a short warm-up and a long cooldown, which improves the final
# accuracy by a few percent.
_TASK_DEFAULTS: dict[str, Any] = {
    "dropout": 0.0,
    "steps": 800,
    "batch_tokens": 704,
    "warmup": 100,
    "learning_rate": 0.004,
    "cooldown": 0.6,
    "label_smoothing": 0.0,
    "average": 1,
    "weight_decay": 0.0,
    "save_every": 500,
}
_PAIRS_DEFAULTS: dict[str, Any] = {"steps": 3000, "batch_tokens": 1536, "dropout": 0.1} | {
    "label_smoothing": 0.1,
    "learning_rate": 0.002,
}
VOCAB_SIZE = 1000  # pieces for the user's own text, if it is large enough


def default_settings(task: str | None = None) -> dict[str, Any]:
    """Return the default settings of a task, or (None) of the user's own pairs."""
    return _TASK_DEFAULTS | (_PAIRS_DEFAULTS if task is None else get_task(task).training)


def split_settings(
    settings: Mapping[str, Any], extra_names: Collection[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of `ModelConfig` and those of `TrainingConfig`.

    Raises ValueError for any other name that is not in `extra_names`.
    """
    names = [{field.name for field in fields(kind)} for kind in (ModelConfig, TrainingConfig)]
    known_names = {*names[0], *names[1], *extra_names}
    for name in settings:
        if name not in known_names:
            raise ValueError(f"there is no setting {name!r}{did_you_mean(name, known_names)}")
    model, training = ({k: v for k, v in settings.items() if k in fields_of} for fields_of in names)
    return model, training


def make_run_config(
    task: str | None = None,
    *,
    preset: str = "tiny",
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, int] | None = None,
    probes: Sequence[Sequence[str]] = (),
    inspect: str = INSPECT,
    device: str = "auto",
    title: str = "",
) -> TaskRun | PairsRun:
    """Return the config of a run on a toy task, or on `pairs.tsv` in the run folder.

    Args:
        task: name of the task; None for the user's own pairs.
        settings: fields of `ModelConfig` and `TrainingConfig` that differ from the defaults; for
            own pairs `vocab_size` is the desired number of pieces.
        options: n_train, n_valid and options of the task.
        probes: (source, target) sentences whose attention is recorded; default: some of the
            validation pairs.
        inspect: weight matrix whose updates are recorded; "" for none.

    Raises ValueError for an unknown task, preset, option or setting, or an invalid value.
    """
    shape, training = split_settings({**default_settings(task), **(settings or {})})
    vocab_size = shape.pop("vocab_size", VOCAB_SIZE)
    if task is not None:
        chosen = get_task(task)
        n_train, n_valid = task_sizes(chosen, options or {})
        sizes = {"n_train": n_train, "n_valid": n_valid}
        sizes |= chosen.settings(**task_options(options or {}))
        vocab_size = len(Vocabulary.from_symbols(chosen.symbols))
    common: dict[str, Any] = {
        "model": ModelConfig.preset(preset, vocab_size=vocab_size, **shape),
        "training": TrainingConfig.from_dict(training),
        "probes": tuple((src, tgt) for src, tgt in probes),
        "inspect": inspect,
        "device": device,
        "title": title,
    }
    if task is None:
        return PairsRun(pairs=PAIRS_FILE, **common)
    return TaskRun(task=task, options=sizes, **common)
