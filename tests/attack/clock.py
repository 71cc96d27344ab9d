"""A system clock that jumps back and forth while the queue, caches and runs are used."""

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

from tests.attack.short_runs import STEPS, check_complete, config, new_run_folder, uninterrupted_run
from tests.attack.target import Attack, run_forked
from tests.jobs.conftest import idle_jobs
from transformer.analysis.corpora import Corpus
from transformer.jobs import ComputationService, Limits, claims
from transformer.jobs.computation import report_computation
from transformer.jobs.info import queue_order
from transformer.jobs.queue import Queue
from transformer.jobs.results import RESULT, remove_oldest
from transformer.run_config import FilmRun
from transformer.text.files import write_json
from transformer.training.train_folder import train_run
from transformer.ui.model_description import run_config
from transformer.ui.widgets.quantities import ago

TIMEOUT_SECONDS = 120.0
JUMPS = (0.0, 1.0, -1.0, 3600.0, -3600.0, 4e8, -4e8, -1e12)


class Clock:
    """A fake `time.time` that returns another time at every call."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._now = rng, 1.7e9

    def __call__(self) -> float:
        if self._rng.random() < 0.5:
            self._now = max(0.0, self._now + self._rng.choice(JUMPS))
        return self._now


@contextmanager
def start_attack(folder: Path) -> Iterator[Attack]:
    uninterrupted_run(STEPS)
    checks = (check_queue, check_queue, check_results, check_caches)
    n_trained = 0

    def try_input(rng: random.Random) -> None:
        nonlocal n_trained
        with patch("time.time", Clock(rng)):
            if rng.random() < 0.02:
                check_run(folder)
                n_trained += 1
            else:
                rng.choice(checks)(rng, folder)

    yield Attack(try_input, lambda: f"{n_trained} runs trained, equal to an uninterrupted one")


def check_queue(rng: random.Random, folder: Path) -> None:
    """Check that each run is claimed once, in order, and that the newest run is listed first."""
    root = folder / "runs"
    jobs = idle_jobs(root, disk_free=1)
    queue = Queue(root)
    names = [jobs.submit(config(), f"ann{n}") for n in range(rng.randint(1, 5))]
    listed_names = [info.name for info in jobs.runs()]
    assert listed_names == names[::-1], "the newest is not shown first"
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


def check_results(rng: random.Random, folder: Path) -> None:
    """Check that the newest result is kept, even if its file has an older time than others."""
    root = folder / "results"
    root.mkdir(exist_ok=True)
    for number in range(6):
        result_folder = root / f"{number}"
        result_folder.mkdir(exist_ok=True)
        write_json(result_folder / RESULT, {"n": number})
        modified_at = time.time()
        os.utime(result_folder / RESULT, (modified_at, modified_at))
    remove_oldest([*root.iterdir()], 3, protected=root / "5")
    assert (root / "5" / RESULT).is_file(), "the newest result was removed"
    assert len([*root.iterdir()]) == 3
    with ComputationService(folder / "stored", Limits()) as service:
        computation = report_computation(folder, "d", "heads", Corpus.from_lines(["one"], "x"))
        assert service.status(computation.key).status == "absent"
    shutil.rmtree(root)


def check_caches(rng: random.Random, folder: Path) -> None:
    """Check that the current content of a run is read, even if its file has an older time."""
    run = folder / "cached"
    run.mkdir(exist_ok=True)
    for number in range(4):
        (run / "config.json").write_text(json.dumps({"title": f"{number}", "checkpoint": "x"}))
        modified_at = time.time() + rng.random()
        os.utime(run / "config.json", (modified_at, modified_at))
        assert run_config(run / "checkpoint") == FilmRun(title=f"{number}", checkpoint="x")


def check_run(folder: Path) -> None:
    """Check that a run that is killed and resumed equals an uninterrupted one."""
    run = new_run_folder(folder / "run", config())
    try:
        run_forked(lambda: train_run(run.path), 0.5)
        result = run_forked(lambda: train_run(run.path), TIMEOUT_SECONDS)
        assert result.value == "finished", result
        check_complete(run)
    finally:
        shutil.rmtree(run.path)
