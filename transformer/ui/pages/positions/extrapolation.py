"""Length extrapolation: accuracy beyond the lengths seen in training."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.analysis.positions import Right
from transformer.figures.positions import Curve, lines
from transformer.jobs import Computation
from transformer.run_config import MAX_PIECES
from transformer.text.tasks import TASKS
from transformer.ui import state
from transformer.ui.pages.positions import Positions, position_models
from transformer.ui.pages.positions.position_models import PositionModel
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.computed import computed

MOST_MODELS = position_models.MOST_LOADED
EACH = 48
"""Sequences of each length."""
STARTS = (0, 1, 2, 3, 5, 8, 12, 20, 32, 64, 128, 256, 512)
MOVED = 16
"""Sentences that are moved."""
COUNTS = (1, 2, 3, 4, 6, 9, 13, 18, 26, 38, 52)
"""Sentences that are joined to one text."""


def show(model: Model) -> None:
    """Longer sequences, and far places, for models of our tasks and of a language."""
    st.markdown(
        "Sinusoids can be computed for any position. The authors hoped that they let a model "
        "extrapolate to sequences longer than those in training (section 3.5). This page measures "
        "whether they do."
    )
    visitor.ensure_id()
    if not model.about.kind:
        far_sentences(model)
    st.header("Longer sequences")
    first, same = _compared(model)
    if {"learned", "sinusoidal"} - {one.positions for one in same}:
        st.markdown(
            "To compare learned positions with sinusoids on longer inputs, train two small models."
        )
        position_models.offer()
    if first is None:
        return
    most = TASKS[first.task].options["longest"].maximum
    st.markdown(
        f"**{TASKS[first.task].title}**, trained on up to **{first.longest}** symbols, tested on "
        f"up to {most}. A sequence counts only if all of it is right."
    )
    found = computed(_question(first.task, same, most), button="Measure every length")
    if found:
        rows = [[Right(**one) for one in row] for row in found["right"]]
        _draw(_names(same), rows, first.longest)


def _compared(model: Model) -> tuple[PositionModel | None, list[PositionModel]]:
    """The page's model if it has a task with lengths, else the learned one that is looked at, else
    the first there is; and with it those of the same task, most telling first."""
    there = [one for one in position_models.learners() if one.task]
    wanted = (model.name, state.view(Positions).learned)
    first = min(
        there, key=lambda one: wanted.index(one.name) if one.name in wanted else 2, default=None
    )
    if first is None:
        return None, []
    same = [one for one in there if (one.task, one.options) == (first.task, first.options)]
    kinds: dict[str, int] = {}
    for one in (first, *same):  # one of each kind of positions before a second of any
        kinds.setdefault(one.positions, len(kinds))
    seen: list[PositionModel] = []
    for kind in kinds:
        seen += [one for one in (first, *same) if one.positions == kind and one not in seen][:1]
    return first, [*seen, *(one for one in same if one not in seen)][:MOST_MODELS]


def _names(same: list[PositionModel]) -> list[str]:
    """What kind of positions each has; with its own name where two have the same."""
    kinds = [one.positions for one in same]
    return [
        kind if kinds.count(kind) == 1 else f"{kind} ({one.name})"
        for kind, one in zip(kinds, same, strict=True)
    ]


def _question(task: str, same: list[PositionModel], most: int) -> Computation:
    hashes = [models.digest(one.path) for one in same]
    given = {
        "task": task,
        "options": {name: value for name, value in same[0].options if name != "longest"},
        "most": most,
        "each": EACH,
    }
    folders = [str(one.path.resolve()) for one in same]
    return Computation(
        "transformer.analysis.positions.extrapolation:lengths",
        {**given, "models": [*zip(folders, hashes, strict=True)]},
        identity=(hashes, given),
    )


def _draw(names: list[str], rows: list[list[Right]], longest: int) -> None:
    lengths = [one.length for one in rows[0]]
    chart(
        lines(
            [
                Curve(name, lengths, [one.share for one in row])
                for name, row in zip(names, rows, strict=True)
            ],
            across="symbols in the sequence",
            down="correct sequences",
            percent=True,
            at=(longest + 0.5, "longest in training"),
            dark=dark(),
        ),
        "positions-far-tasks",
    )
    for name, row in zip(names, rows, strict=True):
        if end := next((one for one in row if one.share is None), None):
            st.markdown(
                f"**{frame.plain(name)}** cannot read {end.length} symbols: its table has no "
                f"vector for these positions (“{frame.plain(end.why)}”)."
            )
    st.caption(
        f"{EACH} sequences per length, decoded greedily. Training uses each sequence once, so "
        "short ones, of which there are few, are rare in it."
    )
    cells_of = [
        ["no vector" if one.share is None else f"{one.share:.0%}" for one in row] for row in rows
    ]
    tables.show(
        "Correct sequences",
        ["Symbols", *names],
        [[str(length), *cells] for length, *cells in zip(lengths, *cells_of, strict=True)],
    )


def far_sentences(model: Model) -> None:
    """Sentences moved along, and sentences joined."""
    st.header("The same sentences at later positions")
    st.markdown(
        "Two ways to reach later positions. **Moved**: single sentences whose positions start at a "
        "higher number. **Joined**: several sentences as one long text. How probable is the "
        "reference translation?"
    )
    if model.about.writes != "fr":
        st.caption(
            "The bundled sentences have French references only, so for this model its own "
            "translations are used instead."
        )
    if found := computed(_far_question(model), button="Measure later positions"):
        _far_chart(found)


def _far_question(model: Model) -> Computation:
    given = {
        "starts": list(STARTS),
        "moved": MOVED,
        "counts": list(COUNTS),
        "french": model.about.writes == "fr",
    }
    folder = str(models.checkpoints()[model.name].resolve())
    return Computation(
        "transformer.analysis.positions.extrapolation:places",
        {**given, "checkpoint": folder, "hash": model.hash},
        identity=(model.hash, given),
    )


def _far_chart(found: dict[str, Any]) -> None:
    moved = zip(STARTS, found["moved"], strict=True)
    away = {at: one for at, one in moved if not isinstance(one, str)}
    both = zip(found["joined"], found["apart"], strict=True)
    long = [(*one, alone) for one, alone in both if not isinstance(one, str)]
    chart(
        lines(
            [
                Curve("moved", [at + 1 for at in away], list(away.values())),
                Curve("joined", [one[0] for one in long], [one[1] for one in long]),
                Curve(
                    "the joined sentences separately",
                    [one[0] for one in long],
                    [one[2] for one in long],
                ),
            ],
            across="moved: first position, from 1; joined: source tokens",
            down="log-probability (nats per token)",
            log="x",
            dark=dark(),
        ),
        "positions-far-language",
    )
    every = [*found["moved"], *found["joined"]]
    for refused in dict.fromkeys(one for one in every if isinstance(one, str)):
        st.markdown(f"At later positions the model reports: “{frame.plain(refused)}”")
    if len(away) < 2 or not long:
        return
    last = max(away)
    st.markdown(
        f"Loss per token: **{-away[0]:.2f}** nats in the original position, **{-away[last]:.2f}** "
        f"moved by {last} positions. Joined to {long[-1][0]} tokens: **{-long[-1][1]:.2f}**; the "
        f"same sentences separately: {-long[-1][2]:.2f}."
    )
    st.caption(
        "A model that used only distances would give a horizontal line for moved sentences. Joined "
        "texts also differ from training because it used mostly single sentences. Training leaves "
        f"out pairs of more than {MAX_PIECES} tokens, and most have far fewer, so later positions "
        "are rare. The sentences are generated by this app's own grammar."
    )
