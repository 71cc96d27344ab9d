"""Word alignments of a run's probe sentences, as its task defines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from transformer.jobs.folder import JobFolder
from transformer.measures.role_rules import Links
from transformer.run_config import TaskRun
from transformer.text.tasks import TASKS, split
from transformer.training.data import PAIRS_OF_A_TASK, task_sizes
from transformer.training.run import RunError

CHOSEN_PROBES = {"french": (400, 11)}
"""By task, the number of examples and the seed from which the app chooses a run's probes."""


def probe_links(folder: JobFolder, labels: Sequence[Mapping[str, Sequence[str]]]) -> list[Links]:
    """Return the alignment of each probe, empty where the task defines none.

    Source and target positions count tokens; in our tasks a token is a symbol or a word.
    """
    try:
        config = folder.config()
    except RunError:
        return []
    if not isinstance(config, TaskRun) or config.task not in TASKS:
        return []
    options = tuple(sorted(config.options.items()))
    found = []
    for label in labels:
        source, target = (
            " ".join(token.removeprefix("▁") for token in label[side][:-1])
            for side in ("src", "predicted")
        )
        known = _chosen_links(config.task).get((source, target))
        if known is None and not (config.probes and config.task in CHOSEN_PROBES):
            known = _held_out_links(config.task, options, config.training.seed).get(
                (source, target)
            )
        found.append(known or ())
    return found


@lru_cache(maxsize=8)
def _chosen_links(task: str) -> Mapping[tuple[str, str], Links]:
    count, seed = CHOSEN_PROBES.get(task, (0, 0))
    examples = TASKS[task].pairs(count, seed) if count else []
    return {(one.src, one.tgt): one.alignment or () for one in examples}


@lru_cache(maxsize=32)
def _held_out_links(
    task: str, options: tuple[tuple[str, int], ...], seed: int
) -> Mapping[tuple[str, str], Links]:
    """Alignments of the held-out examples; a run draws them from its options and seed."""
    chosen = dict(options)
    own = {name: value for name, value in chosen.items() if name not in PAIRS_OF_A_TASK}
    try:
        n_train, n_valid = task_sizes(TASKS[task], chosen)
        _, examples = split(TASKS[task], n_train, n_valid, seed, **own)
    except ValueError:  # a config of another version
        return {}
    return {(one.src, one.tgt): one.alignment or () for one in examples}
