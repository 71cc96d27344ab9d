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
from tests.attack.hostile import told
from tests.attack.training import STEPS, config, fresh, small_checkpoint, sound, undisturbed, whole
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
    def full(self, room: int) -> Iterator[int | None]:
        """All but `room` bytes are taken within the block; gives the limit of a file's size that
        stands in for it, or None."""
        if not self.is_real:
            yield room
            return
        ballast = self.path / "ballast"
        try:
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(b"\0" * 4096)
            with contextlib.suppress(OSError), ballast.open("rb+") as file:
                file.truncate(max(0, ballast.stat().st_size - room))
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
    ways = (a_run, a_run, a_run, a_checkpoint, a_pass, a_queue)
    seen: dict[str, int] = {}

    def once(chance: random.Random) -> None:
        way = chance.choice(ways)
        seen[way.__name__[2:]] = seen.get(way.__name__[2:], 0) + 1
        try:
            way(chance, small, source)
        finally:
            for left in small.path.iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()

    what = "a tmpfs of 8 MiB" if small.is_real else "no mount allowed: a limit on files' sizes"
    try:
        yield Attack(once, lambda: f"{what}; {', '.join(f'{n} {w}' for w, n in seen.items())}")
    finally:
        small.close()


def a_run(chance: random.Random, small: Disk, vocabulary: Any) -> None:
    """It fails with a reason, keeps what it saved, and goes on to the same end."""
    asked = config()
    run = fresh(small.path / "run", asked)
    if chance.random() < 0.5:  # it is under way already
        forked(lambda: train_run(run.path), chance.uniform(0.3, 1.0))
    with small.full(int(chance.choice((0, 5e3, 5e4, 2e5, 5e5)) * chance.random())) as most:
        ended = forked(lambda: train_run(run.path), PATIENCE, file=most)
        assert not ended.late, "it never ended"
    sound(run, asked)
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
    whole(run)


def a_checkpoint(chance: random.Random, small: Disk, vocabulary: Any) -> None:
    """The old one stays whole, or the new one is there whole."""
    target = small.path / "made"
    save_checkpoint(target, tiny(len(vocabulary)), vocabulary, "# Old\n")
    before = files(target)
    other = tiny(len(vocabulary), seed=1)
    with small.full(chance.randrange(400_000)) as most:
        ended = forked(
            lambda: save_checkpoint(target, other, vocabulary, "# New\n"), PATIENCE, file=most
        )
    if ended.error:
        assert "OSError" in ended.error.strip().splitlines()[-1], ended.error
        assert files(target) == before
    load_checkpoint(target)
    assert [path.name for path in small.path.iterdir()] == ["made"], "something is left"


def a_pass(chance: random.Random, small: Disk, vocabulary: Any) -> None:
    """It says that there was no room, and is made when there is."""
    what = Computation("tests.attack.full:measured", {"number": chance.random()})
    with ComputationService(small.path, Limits()) as computing:
        with small.full(chance.randrange(60_000)) as most:
            if most is not None:
                return  # no process of another's can be held to it
            key = computing.submit(what, visitor="ann")
            found = settled(computing, key)
            assert found.status in ("done", "failed"), f"nothing is said: {found}"
            if found.status == "failed":
                told(ValueError(found.reason))
                assert "room" in found.reason or "space" in found.reason, found.reason
        if found.status == "failed":
            assert computing.submit(what, visitor="ann") == key
            assert settled(computing, key).status == "done"
        assert len(computing.result(key)["big"]) == 50_000


def measured(given: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """A result that needs some room."""
    for share in range(10):
        progress(share / 10, "working")
    return {"big": "x" * 50_000}


def settled(computing: ComputationService, key: str) -> Any:
    """How the pass stands once it waits and runs no longer."""
    wait_for(lambda: not computing.status(key, "ann").live, lambda: computing.status(key))
    return computing.status(key, "ann")


def a_queue(chance: random.Random, small: Disk, vocabulary: Any) -> None:
    """A run is put in line whole or not at all; those that wait can be looked at, and wait on."""
    root = small.path / "runs"

    def act() -> int:
        """Runs put in line, until there is no more room."""
        jobs = still_jobs(root, disk_free=1)
        for number in range(10**6):
            try:
                jobs.submit(config(), f"ann{number}", {"x.tsv": b"a\tb\n" * 1000})
            except JobError as error:
                told(error)
                return number
            if number == 30:
                return number
        return 0

    jobs = still_jobs(root, disk_free=1)
    with small.full(chance.randrange(100_000)) as most:
        ended = forked(act, PATIENCE, file=most)
        assert not ended.error, ended.error
        assert len(jobs.runs()) == ended.value
    jobs.submit(config(), "bob")
    assert len([info for info in jobs.runs() if info.status == "queued"]) == ended.value + 1
