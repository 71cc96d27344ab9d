"""The command `python -m transformer train`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from transformer.checkpoint import load_checkpoint
from transformer.config import ModelConfig
from transformer.inference.device import choose_device
from transformer.model import Transformer
from transformer.text import Vocabulary, read_pairs
from transformer.training.console import log
from transformer.training.data import TrainingPairs, prepare_data
from transformer.training.evaluator import ProbeSet
from transformer.training.run_config import FilesRun, RunConfig, TrainingRun
from transformer.training.run_folder import RunError, RunFolder
from transformer.training.train_folder import MAX_VALID_PAIRS, start_training


def train_command(
    run_path: str,
    config: FilesRun,
    *,
    learn_vocabulary: bool = False,
    probes: str | None = None,
) -> int:
    """Prepare the text, then train or resume; return 0 when the run ended normally.

    Args:
        config: settings of the run; a resumed run keeps its languages if `config` has none.
        learn_vocabulary: start with the weights of `start_from`, but learn a new vocabulary.
        probes: table of pairs whose attention is recorded in training (`EvaluationCallback`).

    Raises ValueError, OSError or RuntimeError with a sentence for the user.
    """
    run = RunFolder(run_path)
    if run.exists and not config.languages:
        config = replace(config, languages=run.config().languages)
    choose_device(config.device)  # refuse a missing device before reading or writing files
    start = (
        load_start_checkpoint(config.start_from, config.model, own_vocabulary=learn_vocabulary)
        if config.start_from
        else None
    )
    probe_set = _probe_set(probes, config.valid) if probes else None

    def prepare_run(corpus: TrainingPairs) -> ProbeSet | None:
        write_compatible_config(run, config)
        if start and not learn_vocabulary and not run.vocabulary_path.is_file():
            start.vocabulary.save(run.vocabulary_path)
        size, max_pieces = config.model.vocab_size, config.max_pieces
        prepare_data(run, corpus, vocab_size=size, max_len=max_pieces, log=log)
        return probe_set

    def load_corpus() -> TrainingPairs:
        corpus = TrainingPairs.from_files(
            config.train, config.valid, list(config.added), encoded=run.is_prepared
        )
        return replace(corpus, files=[*corpus.files, *([probes] if probes else [])])

    start_training(
        run,
        config,
        load_corpus,
        prepare_run,
        initial_model=start.model_for if start else None,
    )
    return 0


def _probe_set(probes: str, valid: Sequence[str] | None) -> ProbeSet:
    """Return the probe pairs of the file `probes`, with validation pairs for the evaluations."""
    if not valid:
        raise ValueError("--probes needs validation pairs: add --valid")
    held_out = list(itertools.islice(read_pairs(*valid), MAX_VALID_PAIRS))
    return ProbeSet(list(read_pairs(probes)), held_out, language=True)


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
            f"{name} {stored_settings[name]!r}, not {new_settings[name]!r}"
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
    """Return the settings that a resumed run must keep: model and training data."""
    settings = {"kind": config.kind, **asdict(config)}
    settings = {
        name: [*value] if isinstance(value, tuple) else value for name, value in settings.items()
    }
    return {name: settings[name] for name in ("kind", *config.data)} | (settings.get("model") or {})


@dataclass(frozen=True)
class StartCheckpoint:
    """A trained model and its vocabulary, to initialise a new run.

    A model of one language pair is a good initialisation for another, even of unrelated languages
    (Kocmi and Bojar 2018, "Trivial Transfer Learning for Low-Resource Neural Machine Translation").
    """

    model: Transformer
    vocabulary: Vocabulary

    @torch.no_grad()
    def model_for(self, vocabulary: Vocabulary) -> Transformer:
        """Return the model for a run's vocabulary: itself, or a copy with another embedding.

        Pieces of both vocabularies keep their embedding vectors; the others are random.
        """
        if vocabulary.sha256 == self.vocabulary.sha256:
            return self.model
        with torch.device("cpu"):  # the same weights for a seed, on every device
            model = Transformer(replace(self.model.config, vocab_size=len(vocabulary)))
        embedding = model.embedding.weight.detach().clone()
        old_ids = {piece: old_id for old_id, piece in enumerate(_pieces(self.vocabulary))}
        for new_id, piece in enumerate(_pieces(vocabulary)):
            if piece in old_ids:
                embedding[new_id] = self.model.embedding.weight[old_ids[piece]]
        model.load_state_dict({**self.model.state_dict(), "embedding.weight": embedding})
        return model


def load_start_checkpoint(
    folder: str, model_config: ModelConfig, *, own_vocabulary: bool
) -> StartCheckpoint:
    """Load the checkpoint in `folder`, for a run with the shape `model_config`.

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
    return StartCheckpoint(model, vocabulary)


def _pieces(vocabulary: Vocabulary) -> list[str]:
    return vocabulary.tokens(range(len(vocabulary)))
