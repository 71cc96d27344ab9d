"""The sentences whose attention a run of a task records, and which of their words correspond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from transformer.jobs.folder import JobFolder
from transformer.measures.role_rules import Links
from transformer.text.tasks import TASKS
from transformer.training.data import task_examples
from transformer.training.run_config import TaskRun
from transformer.training.run_folder import RunError


def probes(task: str) -> tuple[tuple[str, str], ...]:
    """Return pairs whose attention shows the task; () leaves the choice to the run."""
    return tuple((example.src, example.tgt) for example in TASKS[task].probes)


def probe_links(folder: JobFolder, labels: Sequence[Mapping[str, Sequence[str]]]) -> list[Links]:
    """Return the alignment of each probe, empty if the task defines none.

    Source and target positions count tokens; in our tasks a token is a symbol or a word.
    """
    try:
        config = folder.config()
    except RunError:
        return []
    if not isinstance(config, TaskRun) or config.task not in TASKS:
        return []
    options = tuple(sorted(config.options.items()))
    chosen_links: dict[tuple[str, str], Links] = {
        (e.src, e.tgt): e.alignment or () for e in TASKS[config.task].probes
    }
    alignments: list[Links] = []
    for label in labels:
        source, target = (
            " ".join(token.removeprefix("▁") for token in label[side][:-1])
            for side in ("src", "predicted")
        )
        alignment = chosen_links.get((source, target))
        if alignment is None and not (config.probes and chosen_links):
            alignment = _held_out_links(config.task, options, config.training.seed).get(
                (source, target)
            )
        alignments.append(alignment or ())
    return alignments


@lru_cache(maxsize=32)
def _held_out_links(
    task: str, options: tuple[tuple[str, int], ...], seed: int
) -> Mapping[tuple[str, str], Links]:
    """Return the alignments of the held-out examples; a run draws them from its options and
    seed."""
    try:
        _, examples = task_examples(task, dict(options), seed)
    except ValueError:  # a config of another version
        return {}
    return {(example.src, example.tgt): example.alignment or () for example in examples}
