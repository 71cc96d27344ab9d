"""What a model of a built-in task saw in training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from transformer.api.model_description import run_config
from transformer.api.models import Model
from transformer.api.sized_cache import SizedCache
from transformer.jobs.folder import JobFolder
from transformer.text.tasks import TASKS
from transformer.training.run_config import TaskRun
from transformer.training.run_folder import RunError

MAX_NAMED_SYMBOLS = 40
"""Maximum symbols that are listed; for more only their number is shown."""
MAX_EXAMPLES = 3000
"""Maximum examples in which to look for the symbols that a task's options use."""
_facts: SizedCache[TrainingFacts | None] = SizedCache(1_000_000)


@dataclass(frozen=True)
class TrainingFacts:
    """Training of a model: all source symbols, steps, and seconds (0 if unknown)."""

    symbols: tuple[str, ...]
    steps: int
    seconds: float

    def sentences(self) -> list[str]:
        """Return the facts as sentences of plain text."""
        count = len(self.symbols)
        if count > MAX_NAMED_SYMBOLS:
            symbols = f"Its vocabulary has {count} words, all from the built-in grammar."
        else:
            symbols = f"Its vocabulary has {count} symbols: {' '.join(self.symbols)}."
        if not self.steps:
            return [symbols]
        time = f", {duration(self.seconds)}" if self.seconds else ""
        return [symbols, f"Trained for {self.steps:,} steps{time}."]


def training_facts(model: Model) -> TrainingFacts | None:
    """Return what the model saw in training; None for a model without a built-in task, or if the
    task does not have the run's options."""
    folder = model.translator.folder
    config = run_config(folder) if folder else None
    if folder is None or not isinstance(config, TaskRun) or config.task not in TASKS:
        return None
    return _facts.get_or_make((model.hash, str(folder)), lambda: _read(folder.parent, config))


def _read(run_folder: Path, config: TaskRun) -> TrainingFacts | None:
    task, seed = TASKS[config.task], config.training.seed
    options = {name: value for name, value in config.options.items() if name in task.options}
    symbols = task.symbols
    if len(symbols) <= MAX_NAMED_SYMBOLS:  # a few thousand examples contain all symbols in use
        try:
            examples = task.pairs(min(MAX_EXAMPLES, task.count(**options)), seed, **options)
        except ValueError:
            return None
        symbols = tuple(sorted({symbol for example in examples for symbol in example.src.split()}))
    run = JobFolder(run_folder)
    try:
        lines, steps = run.last_lines(), int(run.state().get("step", 0))
    except (RunError, ValueError, TypeError):
        lines, steps = [], 0
    elapsed = [line["elapsed"] for line in lines if isinstance(line.get("elapsed"), int | float)]
    return TrainingFacts(symbols, steps, float(elapsed[-1]) if elapsed else 0.0)


def duration(seconds: float) -> str:
    """Format a rounded duration: "8 s", "2 min", "1 h 20 min"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
