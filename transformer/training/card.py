"""The model card of a checkpoint that a run made: what the run itself knows."""

from __future__ import annotations

import os

from transformer.languages import front_matter
from transformer.run_config import FilesRun, PairsRun, TaskRun, TrainingRun
from transformer.training.progress import Progress

TASK_LANGUAGES = {"french": ("en", "fr")}
"""Tasks of our own that are languages."""


def model_card(asked: TrainingRun, progress: Progress, *, n_pairs: int, averaged: int) -> str:
    """What a run knows of its own model; people add licence and scores.

    Raises:
        ValueError: for "languages" that are none; `claim` has refused them before.
    """
    model, training = asked.model, asked.training
    files, begun, languages = "", "", asked.languages
    match asked:
        case TaskRun():
            options = ", ".join(f"{name} {value}" for name, value in asked.options.items())
            files = f"our task {asked.task}: {options}"
            languages = languages or TASK_LANGUAGES.get(asked.task)
        case PairsRun():
            files = asked.pairs
        case FilesRun():
            files = ", ".join(map(os.path.basename, asked.train))
            if asked.start_from:
                begun = f", begun with the weights of {os.path.basename(asked.start_from)}"
    best = f" Best validation loss {progress.best_valid:.3f} nats a token."
    return (
        f"{front_matter(languages) if languages else ''}"
        "# Model card\n\n"
        f"An encoder–decoder Transformer: {model.n_layers}+{model.n_layers} layers, "
        f"d_model {model.d_model}, {model.n_heads} heads, d_ff {model.d_ff}, "
        f"{model.vocab_size} pieces, {model.score} scores, {model.positions} positions.\n\n"
        f"Trained on {n_pairs:,} pairs ({files}){begun}: {progress.step:,} steps of at most "
        f"{training.batch_tokens:,} positions, to epoch {progress.epoch + 1}, in "
        f"{progress.seconds / 60:.1f} minutes; dropout {model.dropout}, label smoothing "
        f"{training.label_smoothing}, seed {training.seed}, {progress.precision}."
        f"{best if progress.best_valid < float('inf') else ''} The weights are the mean of the "
        f"last {averaged} saved.\n"
    )
