"""What a model of one of our tasks has seen in training, and what of a sentence it has not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from transformer.jobs.folder import JobFolder
from transformer.run_config import TaskRun
from transformer.text.tasks import TASKS
from transformer.training.run import RunError
from transformer.ui import state
from transformer.ui.about import run_config
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import frame, quantities

MAX_NAMED_SYMBOLS = 40
"""Symbols that are named; of more only how many there are."""
MAX_EXAMPLES = 3000
"""Examples that are looked through for the symbols that a task's options leave in use."""


@dataclass(frozen=True)
class TrainingFacts:
    """What a model learned from: every symbol of its sources, steps taken, seconds (0: unknown)."""

    symbols: tuple[str, ...]
    steps: int
    seconds: float


def show_training_facts(model: Model) -> None:
    """Which symbols it knows and how long it was trained; those of the sentence that it never saw
    are marked. Nothing of a model of another kind."""
    path = models.checkpoints()[model.name]
    config = run_config(path)
    if not isinstance(config, TaskRun) or config.task not in TASKS:
        return
    facts = _training_facts(model, str(path.parent), config)
    if facts is None:
        return
    st.caption(f"{_symbols_text(facts)} {_training_text(facts)}")
    vocabulary = model.translator.vocabulary
    strange = [
        word
        for word in dict.fromkeys(state.view().text.split())
        if word not in facts.symbols and vocabulary.unk_id not in vocabulary.encode(word)
    ]  # the others it cannot even read, which is said already
    if strange:
        marked = " ".join(f":red-badge[{frame.plain(word)}]" for word in strange[:8])
        st.markdown(f"It never saw {marked}: what it makes of that, nobody taught it.")


@cached()
def _training_facts(model: Model, folder: str, _config: TaskRun) -> TrainingFacts | None:
    """None for options that its task does not have."""
    task, seed = TASKS[_config.task], _config.training.seed
    options = {name: value for name, value in _config.options.items() if name in task.options}
    symbols = task.symbols
    if (
        len(symbols) <= MAX_NAMED_SYMBOLS
    ):  # few enough that some thousand examples have all that are in use
        try:
            drawn = task.pairs(min(MAX_EXAMPLES, task.count(**options)), seed, **options)
        except ValueError:
            return None
        symbols = tuple(sorted({symbol for example in drawn for symbol in example.src.split()}))
    run = JobFolder(Path(folder))
    try:
        lines, steps = run.last_lines(), int(run.state().get("step", 0))
    except (RunError, ValueError, TypeError):
        lines, steps = [], 0
    elapsed = [line["elapsed"] for line in lines if isinstance(line.get("elapsed"), int | float)]
    return TrainingFacts(symbols, steps, float(elapsed[-1]) if elapsed else 0.0)


def _symbols_text(facts: TrainingFacts) -> str:
    count = len(facts.symbols)
    if count > MAX_NAMED_SYMBOLS:
        return f"It knows {count} words, of our small grammar alone."
    return f"It knows {count} symbols: {frame.plain(' '.join(facts.symbols))}."


def _training_text(facts: TrainingFacts) -> str:
    if not facts.steps:
        return ""
    time = f", {quantities.duration(facts.seconds)}" if facts.seconds else ""
    return f"Trained for {facts.steps:,} steps{time}."
