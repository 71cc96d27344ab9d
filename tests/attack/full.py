"""A disk that is really full, under runs, passes, checkpoints and the queue."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.attack.door import Attack, forked
from tests.attack.hostile import check_message
from tests.attack.training import (
    STEPS,
    check_complete,
    config,
    fresh,
    small_checkpoint,
    sound,
    undisturbed,
)
from tests.checkpoint.models import files, tiny
from tests.jobs.asking import wait_for
from tests.jobs.conftest import still_jobs
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.jobs import Computation, ComputationService, JobError, Limits
from transformer.training.train_folder import train_run

SIZE = 8 * 2**20  # bytes of the small disk
PATIENCE = 120.0


class Disk:
    """A small file system of its own where the machine allows it, else a limit on files."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "small"
        self.path.mkdir()
        options = f"size={SIZE},mode=700"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        try:
            self.is_real = not subprocess.run(command, capture_output=True, check=False).returncode
        except OSError:
            self.is_real = False

    @contextmanager
    def full(self, free_bytes: int) -> Iterator[int | None]:
        """All but `room` bytes are taken within the block; gives the limit of a file's size that
        stands in for it, or None."""
        if not self.is_real:
            yield free_bytes
            return
        ballast = self.path / "ballast"
        try:
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(b"\0" * 4096)
            with contextlib.suppress(OSError), ballast.open("rb+") as file:
                file.truncate(max(0, ballast.stat().st_size - free_bytes))
            yield None
        finally:
            ballast.unlink(missing_ok=True)

    def close(self) -> None:
        if self.is_real:
            subprocess.run(["umount", str(self.path)], check=True)


@contextmanager
def opened(folder: Path) -> Iterator[Attack]:
    """Runs, passes, checkpoints and the queue, while there is no room, and when there is again."""
    small = Disk(folder)
    undisturbed(STEPS)
    source = load_checkpoint(small_checkpoint(folder))[1]
    scenarios = (a_run, a_run, a_run, a_checkpoint, a_pass, a_queue)
    counts: dict[str, int] = {}

    def once(chance: random.Random) -> None:
        scenario = chance.choice(scenarios)
        counts[scenario.__name__[2:]] = counts.get(scenario.__name__[2:], 0) + 1
        try:
            scenario(chance, small, source)
        finally:
            for leftover in small.path.iterdir():
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()

    limit_text = (
        "a tmpfs of 8 MiB" if small.is_real else "no mount allowed: a limit on files' sizes"
    )
    try:
        yield Attack(
            once, lambda: f"{limit_text}; {', '.join(f'{n} {w}' for w, n in counts.items())}"
        )
    finally:
        small.close()


def a_run(chance: random.Random, small: Disk, vocabulary: Any) -> None:
    """The run fails with a reason, keeps its saves, and continues to the same result."""
    run_config = config()
    run = fresh(small.path / "run", run_config)
    if chance.random() < 0.5:  # it is under way already
        forked(lambda: train_run(run.path), chance.uniform(0.3, 1.0))
    with small.full(int(chance.choice((0, 5e3, 5e4, 2e5, 5e5)) * chance.random())) as limit:
        ended = forked(lambda: train_run(run.path), PATIENCE, file=limit)
        assert not ended.late, "it never ended"
    sound(run, run_config)
    lacking = "No space left" if small.is_real else "File too large"
    if ended.value == "failed":
        assert lacking in run.state()["reason"], run.state()
    elif ended.error:  # not even its state could be written
        last = ended.error.strip().splitlines()[-1]
        named = ("RunError", "TrainingError")
        assert any(name in last for name in named), ended.error
        assert lacking in last, ended.error
    else:
        assert ended.value == "finished", ended
    assert forked(lambda: train_run(run.path), PATIENCE).value == "finished", run.state()
    check_complete(run)


def a_checkpoint(chance: random.Random, small: Disk, vocabulary: Any) -> None:
    """The old one stays whole, or the new one is there whole."""
    target = small.path / "made"
    save_checkpoint(target, tiny(len(vocabulary)), vocabulary, "# Old\n")
    before = files(target)
    other_model = tiny(len(vocabulary), seed=1)
    with small.full(chance.randrange(400_000)) as limit:
        ended = forked(
            lambda: save_checkpoint(target, other_model, vocabulary, "# New\n"),
            PATIENCE,
            file=limit,
        )
    if ended.error:
        assert "OSError" in ended.error.strip().splitlines()[-1], ended.error
        assert files(target) == before
    load_checkpoint(target)
    assert [path.name for path in small.path.iterdir()] == ["made"], "something is left"


def a_pass(chance: random.Random, small: Disk, vocabulary: Any) -> None:
    """It says that there was no room, and is made when there is."""
    computation = Computation("tests.attack.full:measured", {"number": chance.random()})
    with ComputationService(small.path, Limits()) as computing:
        with small.full(chance.randrange(60_000)) as limit:
            if limit is not None:
                return  # no process of another's can be held to it
            key = computing.submit(computation, visitor="ann")
            status = settled(computing, key)
            assert status.status in ("done", "failed"), f"no final status: {status}"
            if status.status == "failed":
                check_message(ValueError(status.reason))
                assert "room" in status.reason or "space" in status.reason, status.reason
        if status.status == "failed":
            assert computing.submit(computation, visitor="ann") == key
            assert settled(computing, key).status == "done"
        assert len(computing.result(key)["big"]) == 50_000


def measured(arguments: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """A result that needs some room."""
    for share in range(10):
        progress(share / 10, "working")
    return {"big": "x" * 50_000}


def settled(computing: ComputationService, key: str) -> Any:
    """Return the status of a computation that is neither waiting nor running."""
    wait_for(lambda: not computing.status(key, "ann").live, lambda: computing.status(key))
    return computing.status(key, "ann")


def a_queue(chance: random.Random, small: Disk, vocabulary: Any) -> None:
    """A run is queued completely or not at all; queued runs stay readable and queued."""
    root = small.path / "runs"

    def act() -> int:
        """Queue runs until the disk is full."""
        jobs = still_jobs(root, disk_free=1)
        for number in range(10**6):
            try:
                jobs.submit(config(), f"ann{number}", {"x.tsv": b"a\tb\n" * 1000})
            except JobError as error:
                check_message(error)
                return number
            if number == 30:
                return number
        return 0

    jobs = still_jobs(root, disk_free=1)
    with small.full(chance.randrange(100_000)) as limit:
        ended = forked(act, PATIENCE, file=limit)
        assert not ended.error, ended.error
        assert len(jobs.runs()) == ended.value
    jobs.submit(config(), "bob")
    assert len([info for info in jobs.runs() if info.status == "queued"]) == ended.value + 1
