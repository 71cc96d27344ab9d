"""A clock that goes back, jumps ahead and stops, for the queue, computations and runs."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.attack.door import Attack, forked
from tests.attack.training import STEPS, check_complete, config, fresh, undisturbed
from tests.jobs.conftest import still_jobs
from transformer.analysis.corpora import Corpus
from transformer.jobs import ComputationService, Limits, claims
from transformer.jobs.computation import report_computation
from transformer.jobs.info import queue_order
from transformer.jobs.queue import Queue
from transformer.jobs.results import RESULT, remove_oldest
from transformer.run_config import FilmRun
from transformer.text.files import write_json
from transformer.training.train_folder import train_run
from transformer.ui.about import run_config
from transformer.ui.widgets.quantities import ago

PATIENCE = 120.0
JUMPS = (0.0, 1.0, -1.0, 3600.0, -3600.0, 4e8, -4e8, -1e12)


class Clock:
    """A fake `time.time` that returns another time at every call."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._now = chance, 1.7e9

    def __call__(self) -> float:
        if self._chance.random() < 0.5:
            self._now = max(0.0, self._now + self._chance.choice(JUMPS))
        return self._now


@contextmanager
def opened(folder: Path) -> Iterator[Attack]:
    undisturbed(STEPS)
    scenarios = (the_queue, the_queue, the_passes, the_caches)
    trained = 0

    def once(chance: random.Random) -> None:
        nonlocal trained
        with patch("time.time", Clock(chance)):
            if chance.random() < 0.02:
                a_run(folder)
                trained += 1
            else:
                chance.choice(scenarios)(chance, folder)

    yield Attack(once, lambda: f"{trained} runs trained under it, equal to the undisturbed")


def the_queue(chance: random.Random, folder: Path) -> None:
    """First come, first served; the newest is shown first; a run is claimed once."""
    root = folder / "runs"
    jobs = still_jobs(root, disk_free=1)
    queue = Queue(root)
    names = [jobs.submit(config(), f"ann{n}") for n in range(chance.randint(1, 5))]
    listed = [info.name for info in jobs.runs()]
    assert listed == names[::-1], "the newest is not shown first"
    assert [info.name for info in queue_order(jobs.runs())] == names
    assert [jobs.run(name).queue_position for name in names] == [*range(1, len(names) + 1)]
    assert all(ago(info.created) or info.created <= 0 for info in jobs.runs())
    first_claim = claims.claim_next_run(queue, "w1")
    assert first_claim is not None
    assert first_claim.folder.name == names[0]
    second_claim = claims.claim_next_run(queue, "w2")
    assert (second_claim.folder.name if second_claim else None) == (
        names[1] if len(names) > 1 else None
    )
    for claim in filter(None, (first_claim, second_claim)):
        claims.release_run(queue, claim, None, interrupted=True)
    assert [info.name for info in queue_order(jobs.runs())] == names
    for number, name in enumerate(names):
        jobs.delete(name, f"ann{number}")
    assert not jobs.runs()


def the_passes(chance: random.Random, folder: Path) -> None:
    """The newest result stays, regardless of the times of the others."""
    root = folder / "passes"
    root.mkdir(exist_ok=True)
    for number in range(6):
        result_folder = root / f"{number}"
        result_folder.mkdir(exist_ok=True)
        write_json(result_folder / RESULT, {"n": number})
        stamp = time.time()
        os.utime(result_folder / RESULT, (stamp, stamp))
    remove_oldest([*root.iterdir()], 3, new=root / "5")
    assert (root / "5" / RESULT).is_file(), "the newest result went"
    assert len([*root.iterdir()]) == 3
    with ComputationService(folder / "kept", Limits()) as computing:
        computation = report_computation(folder, "d", "heads", Corpus.of_lines(["one"], "x"))
        assert computing.status(computation.key).status == "absent"
    shutil.rmtree(root)


def the_caches(chance: random.Random, folder: Path) -> None:
    """A run's current content is read, even if its file is older than before."""
    run = folder / "cached"
    run.mkdir(exist_ok=True)
    for number in range(4):
        (run / "config.json").write_text(json.dumps({"title": f"{number}", "checkpoint": "x"}))
        stamp = time.time() + chance.random()
        os.utime(run / "config.json", (stamp, stamp))
        assert run_config(run / "checkpoint") == FilmRun(title=f"{number}", checkpoint="x")


def a_run(folder: Path) -> None:
    """A real one, stopped in the middle and resumed."""
    run = fresh(folder / "run", config())
    try:
        forked(lambda: train_run(run.path), 0.5)
        ended = forked(lambda: train_run(run.path), PATIENCE)
        assert ended.value == "finished", ended
        check_complete(run)
    finally:
        shutil.rmtree(run.path)
