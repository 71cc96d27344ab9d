"""What a model of a built-in task saw in training, and symbols that are new to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from transformer.api.model_description import run_config
from transformer.jobs.folder import JobFolder
from transformer.text.tasks import TASKS
from transformer.training.run_config import TaskRun
from transformer.training.run_folder import RunError
from transformer.ui.base import state
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import frame, quantities

MAX_NAMED_SYMBOLS = 40
"""Maximum symbols that are listed; for more only their number is shown."""
MAX_EXAMPLES = 3000
"""Maximum examples in which to look for the symbols that a task's options use."""


@dataclass(frozen=True)
class TrainingFacts:
    """Training of a model: all source symbols, steps, and seconds (0 if unknown)."""

    symbols: tuple[str, ...]
    steps: int
    seconds: float


def show_training_facts(model: Model) -> None:
    """Draw the model's symbols and its training time, and mark symbols of the sentence that it has
    never seen. Draw nothing for models without a built-in task."""
    path = models.checkpoints()[model.name]
    config = run_config(path)
    if not isinstance(config, TaskRun) or config.task not in TASKS:
        return
    facts = _training_facts(model, str(path.parent), config)
    if facts is None:
        return
    st.caption(f"{_symbols_text(facts)} {_training_text(facts)}")
    vocabulary = model.translator.vocabulary
    unseen_words = [
        word
        for word in dict.fromkeys(state.view().text.split())
        if word not in facts.symbols and vocabulary.unk_id not in vocabulary.encode(word)
    ]  # unknown tokens have a note already
    if unseen_words:
        badges = " ".join(f":red-badge[{frame.plain(word)}]" for word in unseen_words[:8])
        st.markdown(f"Never seen in training: {badges}. The output for such symbols is arbitrary.")


@cached()
def _training_facts(model: Model, folder: str, _config: TaskRun) -> TrainingFacts | None:
    """Return None if the task does not have the run's options."""
    task, seed = TASKS[_config.task], _config.training.seed
    options = {name: value for name, value in _config.options.items() if name in task.options}
    symbols = task.symbols
    if len(symbols) <= MAX_NAMED_SYMBOLS:  # a few thousand examples contain all symbols in use
        try:
            examples = task.pairs(min(MAX_EXAMPLES, task.count(**options)), seed, **options)
        except ValueError:
            return None
        symbols = tuple(sorted({symbol for example in examples for symbol in example.src.split()}))
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
        return f"Its vocabulary has {count} words, all from the built-in grammar."
    return f"Its vocabulary has {count} symbols: {frame.plain(' '.join(facts.symbols))}."


def _training_text(facts: TrainingFacts) -> str:
    if not facts.steps:
        return ""
    time = f", {quantities.duration(facts.seconds)}" if facts.seconds else ""
    return f"Trained for {facts.steps:,} steps{time}."
