"""Length extrapolation: accuracy beyond the lengths seen in training."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.analysis.positions import LengthAccuracy
from transformer.figures.positions import Curve, lines
from transformer.jobs import Computation
from transformer.text.tasks import TASKS
from transformer.training.run_config import MAX_PIECES
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.positions import position_models
from transformer.ui.pages.inside.positions.position_models import PositionModel
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computed

MAX_MODELS = position_models.MAX_LOADED
SEQUENCES_PER_LENGTH = 48
"""Number of test sequences for each length."""
START_POSITIONS = (0, 1, 2, 3, 5, 8, 12, 20, 32, 64, 128, 256, 512)
SHIFTED_SENTENCES = 16
"""Number of sentences whose positions are shifted."""
JOINED_COUNTS = (1, 2, 3, 4, 6, 9, 13, 18, 26, 38, 52)
"""Numbers of sentences to join into one text."""


def show(model: Model) -> None:
    """Draw accuracy on longer sequences for task models, and later positions for translators."""
    st.markdown(
        "Sinusoids can be computed for any position. The authors hoped that they let a model "
        "extrapolate to sequences longer than those in training (section 3.5). Here you can "
        "measure whether they do."
    )
    if not model.description.kind:
        later_positions(model)
    st.header("Longer sequences")
    first, comparable = _models_to_compare(model)
    if {"learned", "sinusoidal"} - {item.positions for item in comparable}:
        st.markdown(
            "To compare learned positions with sinusoids on longer inputs, train a model of each "
            "on the same task."
        )
        frame.page_link("pages/train.py", "Train a model →", run="")
    if first is None:
        return
    max_length = TASKS[first.task].options["longest"].maximum
    st.markdown(
        f"**{TASKS[first.task].title}**, trained on up to **{first.longest}** symbols, tested on "
        f"up to {max_length}. A sequence counts only if every symbol is correct."
    )
    result = computed(
        _computation(first.task, comparable, max_length), button="Measure every length"
    )
    if result:
        rows = [[LengthAccuracy(**item) for item in row] for row in result["accuracies"]]
        _draw(_names(comparable), rows, first.longest)


def _models_to_compare(model: Model) -> tuple[PositionModel | None, list[PositionModel]]:
    """Return the reference model and the models to compare, which have the same task.

    The reference is the page's model if its task has lengths, else the selected learned one, else
    the first with learned positions, else the first. One model of each kind of positions comes
    before a second of any kind.
    """
    candidates = [candidate for candidate in position_models.list_models() if candidate.task]
    preferred = (model.name, state.view(Inside).learned)

    def order(candidate: PositionModel) -> int:
        if candidate.name in preferred:
            return preferred.index(candidate.name)
        return 2 if candidate.positions == "learned" else 3

    first = min(candidates, key=order, default=None)
    if first is None:
        return None, []
    comparable = [
        candidate
        for candidate in candidates
        if (candidate.task, candidate.options) == (first.task, first.options)
    ]
    kinds: dict[str, int] = {}
    for candidate in (first, *comparable):  # in order of appearance
        kinds.setdefault(candidate.positions, len(kinds))
    selected: list[PositionModel] = []
    for kind in kinds:
        selected += [
            candidate
            for candidate in (first, *comparable)
            if candidate.positions == kind and candidate not in selected
        ][:1]
    return first, [
        *selected,
        *(candidate for candidate in comparable if candidate not in selected),
    ][:MAX_MODELS]


def _names(comparable: list[PositionModel]) -> list[str]:
    """Return each model's kind of positions, with its name if two have the same kind."""
    kinds = [model.positions for model in comparable]
    return [
        kind if kinds.count(kind) == 1 else f"{kind} ({model.name})"
        for kind, model in zip(kinds, comparable, strict=True)
    ]


def _computation(task: str, comparable: list[PositionModel], max_length: int) -> Computation:
    hashes = [models.digest(model.path) for model in comparable]
    settings = {
        "task": task,
        "options": {name: value for name, value in comparable[0].options if name != "longest"},
        "max_length": max_length,
        "n_sequences": SEQUENCES_PER_LENGTH,
    }
    folders = [str(model.path.resolve()) for model in comparable]
    return Computation(
        "transformer.analysis.positions.extrapolation:length_accuracies",
        {**settings, "models": [*zip(folders, hashes, strict=True)]},
        identity=(hashes, settings),
    )


def _draw(names: list[str], rows: list[list[LengthAccuracy]], longest: int) -> None:
    lengths = [accuracy.length for accuracy in rows[0]]
    chart(
        lines(
            [
                Curve(name, lengths, [accuracy.share for accuracy in row])
                for name, row in zip(names, rows, strict=True)
            ],
            x_title="symbols in the sequence",
            y_title="correct sequences",
            percent=True,
            marked_x=(longest + 0.5, "longest in training"),
            dark=dark(),
        ),
        "positions-longer-sequences",
    )
    for name, row in zip(names, rows, strict=True):
        if first_failure := next((accuracy for accuracy in row if accuracy.share is None), None):
            st.markdown(
                f"**{frame.plain(name)}** cannot read {first_failure.length} symbols: its table "
                f"has no vector for these positions (“{frame.plain(first_failure.reason)}”)."
            )
    st.caption(
        f"{SEQUENCES_PER_LENGTH} sequences per length, decoded greedily. Training uses each "
        "sequence once, and there are few short sequences, so they are rare in training."
    )
    columns = [
        [
            "no vector" if accuracy.share is None else f"{100 * accuracy.share:.0f}%"
            for accuracy in row
        ]
        for row in rows
    ]
    tables.show(
        "Correct sequences",
        ["Symbols", *names],
        [[str(length), *cells] for length, *cells in zip(lengths, *columns, strict=True)],
    )


def later_positions(model: Model) -> None:
    """Draw the loss of sentences at later positions: shifted, and joined into one text."""
    st.header("The same sentences at later positions")
    st.markdown(
        "Two ways to reach later positions. **Shifted**: single sentences whose positions start at "
        "a higher number. **Joined**: several sentences as one long text. How probable is the "
        "reference translation?"
    )
    if model.description.target_code != "fr":
        st.caption(
            "The bundled sentences have French references only, so for this model its own "
            "translations are used instead."
        )
    if result := computed(_later_positions_computation(model), button="Measure later positions"):
        _later_positions_chart(result)


def _later_positions_computation(model: Model) -> Computation:
    settings = {
        "starts": list(START_POSITIONS),
        "shifted": SHIFTED_SENTENCES,
        "counts": list(JOINED_COUNTS),
        "french": model.description.target_code == "fr",
    }
    folder = str(models.checkpoints()[model.name].resolve())
    return Computation(
        "transformer.analysis.positions.extrapolation:shifted_and_joined",
        {**settings, "checkpoint": folder, "hash": model.hash},
        identity=(model.hash, settings),
    )


def _later_positions_chart(result: dict[str, Any]) -> None:
    shifted = zip(START_POSITIONS, result["shifted"], strict=True)
    shifted_log_probs = {start: value for start, value in shifted if not isinstance(value, str)}
    pairs = zip(result["joined"], result["separate"], strict=True)
    joined_log_probs = [
        (*value, separate) for value, separate in pairs if not isinstance(value, str)
    ]
    chart(
        lines(
            [
                Curve(
                    "shifted",
                    [start + 1 for start in shifted_log_probs],
                    list(shifted_log_probs.values()),
                ),
                Curve(
                    "joined",
                    [value[0] for value in joined_log_probs],
                    [value[1] for value in joined_log_probs],
                ),
                Curve(
                    "the joined sentences separately",
                    [value[0] for value in joined_log_probs],
                    [value[2] for value in joined_log_probs],
                ),
            ],
            x_title="first position (shifted), number of source tokens (joined)",
            y_title="log-probability (nats per token)",
            log_x=True,
            dark=dark(),
        ),
        "positions-later-positions",
    )
    values = [*result["shifted"], *result["joined"]]
    for message in dict.fromkeys(value for value in values if isinstance(value, str)):
        st.markdown(f"At later positions the model reports: “{frame.plain(message)}”")
    if len(shifted_log_probs) < 2 or not joined_log_probs:
        return
    last = max(shifted_log_probs)
    st.markdown(
        f"Loss per token: **{-shifted_log_probs[0]:.2f}** nats in the original position, "
        f"**{-shifted_log_probs[last]:.2f}** shifted by {last} positions. Joined to "
        f"{joined_log_probs[-1][0]} tokens: **{-joined_log_probs[-1][1]:.2f}**; the same sentences "
        f"separately: {-joined_log_probs[-1][2]:.2f}."
    )
    st.caption(
        "A model that used only distances would give a horizontal line for shifted sentences. "
        "Joined texts also differ from training because it used mostly single sentences. Training "
        f"leaves out pairs of more than {MAX_PIECES} tokens, and most have far fewer, so later "
        "positions are rare. The sentences are generated by this app's own grammar."
    )
