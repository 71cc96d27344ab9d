"""The command `python -m transformer train`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig
from transformer.inference.device import choose_device
from transformer.text import Vocabulary
from transformer.training.run_config import FilesRun, RunConfig, TrainingRun
from transformer.training.run_folder import RunError, RunFolder
from transformer.training.train_folder import train_run


def train_command(run_path: str, config: TrainingRun, *, learn_vocabulary: bool = False) -> int:
    """Write the run's config, then train or resume it; return 0 when the run ended normally.

    Args:
        config: settings of the run; a resumed run keeps its languages if `config` has none.
        learn_vocabulary: start with the weights of `start_from`, but learn a new vocabulary.

    Raises ValueError, OSError or RuntimeError with a sentence for the user.
    """
    run = RunFolder(run_path)
    if run.exists and not config.languages:
        config = replace(config, languages=run.config().languages)
    choose_device(config.device)  # refuse a missing device before reading or writing files
    start_from = config.start_from if isinstance(config, FilesRun) else None
    vocabulary = start_from and check_start_checkpoint(
        start_from, config.model, own_vocabulary=learn_vocabulary
    )
    with run.locked():
        write_compatible_config(run, config)
        if vocabulary and not learn_vocabulary and not run.vocabulary_path.is_file():
            vocabulary.save(run.vocabulary_path)
        if run.control().command != "run":
            run.write_control(command="run")
    if train_run(run.path, verbose=True) == "failed":
        raise RuntimeError(run.state()["reason"])
    return 0


def write_compatible_config(run: RunFolder, config: TrainingRun) -> None:
    """Write the run's config.json, if it is compatible with what the folder already holds.

    Training settings may differ from those of an earlier start. Model and text may differ only
    before the text is encoded, for example after a start that failed because of an error in the
    text. Raises RunError, naming the differences.
    """
    if run.exists:
        stored_settings, new_settings = _fixed_settings(run.config()), _fixed_settings(config)
        names = new_settings if stored_settings["kind"] == new_settings["kind"] else ["kind"]
        changes = [
            f"{name} {stored_settings[name]!r:.200}, not {new_settings[name]!r:.200}"
            for name in names
            if stored_settings[name] != new_settings[name]
        ]
        if changes and run.is_prepared:
            raise RunError(
                f"{run.path} was started with {'; '.join(changes)}: resume it with the same "
                f"settings, or use another run folder"
            )
        if changes:
            run.delete_text()
    run.write_config(config)


def _fixed_settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings that a resumed run must keep: model, training data and probes."""
    settings = {"kind": config.kind, **asdict(config)}
    settings = {
        name: [*value] if isinstance(value, tuple) else value for name, value in settings.items()
    }
    names = ("kind", "probes", *config.data)
    return {name: settings[name] for name in names} | (settings.get("model") or {})


def check_start_checkpoint(
    folder: str, model_config: ModelConfig, *, own_vocabulary: bool
) -> Vocabulary:
    """Return the vocabulary of a checkpoint from which a run of this shape is to start.

    Args:
        own_vocabulary: whether the run learns a vocabulary of its own.

    Raises:
        CheckpointError: if the folder holds no checkpoint.
        ValueError: if its shape differs from `model_config`; dropout may differ, and the
            vocabulary's size if the run learns its own.
    """
    model, vocabulary = load_checkpoint(folder)
    unchecked = {"dropout", "vocab_size"} if own_vocabulary else {"dropout"}
    if own_vocabulary and vocabulary.pair is not None:
        raise ValueError(
            f"{folder} has separate vocabularies for source and target; a run that starts from it "
            "must keep them and cannot learn another vocabulary"
        )
    checkpoint_shape, run_shape = asdict(model.config), asdict(model_config)
    for name, value in run_shape.items():
        if name not in unchecked and checkpoint_shape[name] != value:
            raise ValueError(
                f"{folder} has {name} {checkpoint_shape[name]!r}; a run that starts from it cannot "
                f"have {value!r}"
            )
    return vocabulary
