"""The model card of a checkpoint that a run made: what the run itself knows."""

from __future__ import annotations

import os
from typing import Any

from transformer.languages import front_matter
from transformer.training.saving import Progress

TASK_LANGUAGES = {"french": ("en", "fr")}
"""Tasks of our own that are languages."""


def model_card(asked: dict[str, Any], progress: Progress, *, n_pairs: int, averaged: int) -> str:
    """What a run knows of its own model; people add licence and scores.

    Raises:
        ValueError: for "languages" that are none; `claim` has refused them before.
    """
    model, training = asked["model"], asked["training"]
    data = asked["data"]
    files = ", ".join(os.path.basename(path) for path in data.get("train", [data.get("pairs", "")]))
    if "task" in data:
        options = ", ".join(f"{name} {value}" for name, value in data["options"].items())
        files = f"our task {data['task']}: {options}"
    layers = f"{model['n_layers']}+{model['n_layers']}"
    start = data.get("start_from")
    begun = f", begun with the weights of {os.path.basename(start)}" if start else ""
    languages = asked.get("languages") or TASK_LANGUAGES.get(data.get("task", ""))
    best = f" Best validation loss {progress.best_valid:.3f} nats a token."
    return (
        f"{front_matter(languages) if languages else ''}"
        "# Model card\n\n"
        f"An encoder–decoder Transformer: {layers} layers, d_model {model['d_model']}, "
        f"{model['n_heads']} heads, d_ff {model['d_ff']}, {model['vocab_size']} pieces, "
        f"{model['score']} scores, {model['positions']} positions.\n\n"
        f"Trained on {n_pairs:,} pairs ({files}){begun}: {progress.step:,} steps of at most "
        f"{training['batch_tokens']:,} positions, to epoch {progress.epoch + 1}, in "
        f"{progress.seconds / 60:.1f} minutes; dropout {model['dropout']}, label smoothing "
        f"{training['label_smoothing']}, seed {training['seed']}, {progress.precision}."
        f"{best if progress.best_valid < float('inf') else ''} The weights are the mean of the "
        f"last {averaged} saved.\n"
    )
