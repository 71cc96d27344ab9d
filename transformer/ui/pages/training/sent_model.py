"""A model that a browser has trained, with its film, its curves and its outputs, as it sends it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.classroom.tab_runs import MAX_POINTS, MAX_STEP, TabRun
from transformer.config import ModelConfig
from transformer.text.door import (
    Refusal,
    accepts,
    either,
    flag,
    number,
    pair,
    read_fields,
    record,
    several,
    table,
    text,
    title,
    whole,
)
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TaskRun
from transformer.training.run_folder import RunFolder, Snapshot

SETTINGS = (
    *("n_layers", "n_heads", "d_model", "d_ff", "positions", "score", "dropout", "steps", "seed"),
    *("learning_rate", "warmup", "cooldown", "label_smoothing", "clip_norm", "weight_decay"),
)
"""Settings of a run in the browser that a run of the app has too."""
MAX_BASE64 = 100_000_000
"""Maximum characters of a model, or of a film, in base64."""
MAX_FRAMES, MAX_EXAMPLES, MAX_TOKENS, MAX_LOSS = 100, 5, 1000, 1e30
FULL_WEIGHT = 65_535
"""The whole number that a weight of 1 is sent as."""
_SETTING = either(
    flag(), whole(-(2**53), 2**53), number(-1e300, 1e300), title(2000), table(whole(0, 10**6), 20)
)
_TOKENS = several(text(80), MAX_TOKENS)


@dataclass(frozen=True, kw_only=True)
class _Labels:
    src: tuple[str, ...] = accepts(_TOKENS)
    tgt: tuple[str, ...] = accepts(_TOKENS)
    predicted: tuple[str, ...] = accepts(_TOKENS)


@dataclass(frozen=True, kw_only=True)
class Film:
    """Attention at several steps, as `client/app/trainer/history.js` packs it."""

    steps: tuple[int, ...] = accepts(several(whole(0, MAX_STEP), MAX_FRAMES))
    tokens: tuple[_Labels, ...] = accepts(several(record(_Labels), MAX_EXAMPLES))
    weights: str = accepts(text(MAX_BASE64))

    def snapshots(self, config: ModelConfig) -> dict[int, Snapshot]:
        """Return the attention of each step. Raises Refusal if its size is not that of the model's
        heads and of the tokens."""
        if list(self.steps) != sorted(set(self.steps)):
            raise Refusal("The steps of a film increase.")
        shapes = {
            f"{n}.{kind}": (config.n_layers, config.n_heads, len(queries), len(keys))
            for n, label in enumerate(self.tokens)
            for kind, queries, keys in (
                ("encoder", label.src, label.src),
                ("decoder", label.tgt, label.tgt),
                ("cross", label.tgt, label.src),
            )
        }
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        sent, expected = decode(self.weights), 2 * sum(sizes) * len(self.steps)
        if len(sent) != expected:
            raise Refusal(f"The film has {len(sent)} bytes; its frames need {expected}.")
        frames = np.frombuffer(sent, "<u2").reshape(len(self.steps), -1) / FULL_WEIGHT
        return {
            step: {
                name: part.reshape(shape).astype(np.float16)
                for (name, shape), part in zip(
                    shapes.items(), np.split(frame, np.cumsum(sizes)[:-1]), strict=True
                )
            }
            for step, frame in zip(self.steps, frames, strict=True)
        }


@dataclass(frozen=True, kw_only=True)
class _Output:
    src: str = accepts(text(5000))
    tgt: str = accepts(text(5000))
    output: str = accepts(text(5000))
    right: bool = accepts(flag())


@dataclass(frozen=True, kw_only=True)
class SentModel:
    """A model that the browser has trained; `settings` are all of the browser's.

    Attributes:
        points: step and share of right outputs.
        losses: step and loss in nats per token.
    """

    model: str = accepts(text(MAX_BASE64))
    settings: Mapping[str, Any] = accepts(table(_SETTING, 100))
    title: str = accepts(title(80))
    points: tuple[Any, ...] = accepts(several(pair(whole(0, MAX_STEP), number(0, 1)), MAX_POINTS))
    losses: tuple[Any, ...] = accepts(
        several(pair(whole(0, MAX_STEP), number(0, MAX_LOSS)), MAX_POINTS)
    )
    outputs: tuple[_Output, ...] = accepts(several(record(_Output), MAX_EXAMPLES))
    film: Film = accepts(record(Film))  # noqa: RUF009 - a field, as the others

    def lines(self) -> list[dict[str, Any]]:
        """Return the curves as lines of metrics.jsonl. Raises ClassroomError if the steps of a
        curve do not increase."""
        lines: dict[int, dict[str, Any]] = {}
        loss_lines = [{"step": step, "loss": loss} for step, loss in self.losses]
        for line in (*TabRun(self.points).checked().lines(), *loss_lines):
            lines.setdefault(line["step"], {}).update(line)
        return [lines[step] for step in sorted(lines)]

    def write_history(self, folder: RunFolder, config: ModelConfig) -> None:
        """Write curves, film and outputs to the folder of the run. Raises Refusal or
        ClassroomError, as `snapshots` and `lines`."""
        labels = [
            {"src": [*label.src], "tgt": [*label.tgt], "predicted": [*label.predicted]}
            for label in self.film.tokens
        ]
        for step, snapshot in self.film.snapshots(config).items():
            folder.write_snapshot(step, snapshot, labels)
        lines = self.lines()
        for line in lines:
            folder.append_metrics(line)
        if self.outputs:
            outputs = [vars(output) for output in self.outputs]
            folder.append_examples(lines[-1]["step"], outputs)


def config_of(sent: SentModel) -> TaskRun:
    """Return the config of a run with these settings. Raises ValueError."""
    options = sent.settings.get("options") or {}
    if not isinstance(options, Mapping):
        raise Refusal("The options of a run must be an object.")
    config = make_run_config(
        str(sent.settings.get("task", "")),
        settings={name: sent.settings[name] for name in SETTINGS if name in sent.settings},
        options=options,
        title=sent.title,
        inspect="",
    )
    assert isinstance(config, TaskRun), "it has a task"
    return config


def read_sent_model(sent: Mapping[str, object]) -> SentModel:
    """Read the message of a browser. Raises Refusal if it is not such a model."""
    return read_fields(sent, SentModel)


def decode(sent: str) -> bytes:
    """Return the bytes of a text in base64. Raises Refusal if it is none."""
    try:
        return base64.b64decode(sent, validate=True)
    except binascii.Error:
        raise Refusal("The browser has sent a text that is not base64.") from None
