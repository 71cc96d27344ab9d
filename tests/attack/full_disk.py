"""A full disk while runs, measurements, checkpoints and the queue are written."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.attack.random_input import check_message
from tests.attack.short_runs import (
    STEPS,
    check_complete,
    check_interrupted,
    config,
    new_run_folder,
    small_checkpoint,
    uninterrupted_run,
)
from tests.attack.target import Attack, run_forked
from tests.checkpoint.models import files, tiny_transformer
from tests.jobs.conftest import idle_jobs
from tests.jobs.fake_computations import wait_for
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.jobs import Computation, ComputationService, JobError, Limits
from transformer.training.train_folder import train_run

DISK_BYTES = 8 * 2**20
TIMEOUT_SECONDS = 120.0


class Disk:
    """A small tmpfs if it can be mounted; otherwise a folder, used with a limit on file sizes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "small_disk"
        self.path.mkdir()
        options = f"size={DISK_BYTES},mode=700"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        try:
            self.is_real = not subprocess.run(command, capture_output=True, check=False).returncode
        except OSError:
            self.is_real = False

    @contextmanager
    def nearly_full(self, free_bytes: int) -> Iterator[int | None]:
        """Fill the disk except for `free_bytes` within the block.

        Yields None, or without a tmpfs the file size limit to use instead.
        """
        if not self.is_real:
            yield free_bytes
            return
        filler = self.path / "filler"
        try:
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(b"\0" * 4096)
            with contextlib.suppress(OSError), filler.open("rb+") as file:
                file.truncate(max(0, filler.stat().st_size - free_bytes))
            yield None
        finally:
            filler.unlink(missing_ok=True)

    def close(self) -> None:
        if self.is_real:
            subprocess.run(["umount", str(self.path)], check=True)


@contextmanager
def start_attack(folder: Path) -> Iterator[Attack]:
    """Write runs, measurements, checkpoints and the queue on a full disk, then with space."""
    disk = Disk(folder)
    uninterrupted_run(STEPS)
    source = load_checkpoint(small_checkpoint(folder))[1]
    scenarios = {
        "run": check_run,
        "checkpoint": check_checkpoint,
        "measurement": check_measurement,
        "queue": check_queue,
    }
    counts: dict[str, int] = {}

    def try_input(rng: random.Random) -> None:
        name = rng.choice(("run", "run", "run", "checkpoint", "measurement", "queue"))
        counts[name] = counts.get(name, 0) + 1
        try:
            scenarios[name](rng, disk, source)
        finally:
            for leftover in disk.path.iterdir():
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()

    limit_text = "a tmpfs of 8 MiB" if disk.is_real else "no mount allowed: a limit on file sizes"
    try:
        yield Attack(
            try_input,
            lambda: (
                f"{limit_text}; {', '.join(f'{count} {name}' for name, count in counts.items())}"
            ),
        )
    finally:
        disk.close()


def check_run(rng: random.Random, disk: Disk, vocabulary: Any) -> None:
    """Check that a run fails with a reason, keeps its saves, and resumes to the same result."""
    run_config = config()
    run = new_run_folder(disk.path / "run", run_config)
    if rng.random() < 0.5:  # the run has already taken some steps
        run_forked(lambda: train_run(run.path), rng.uniform(0.3, 1.0))
    with disk.nearly_full(int(rng.choice((0, 5e3, 5e4, 2e5, 5e5)) * rng.random())) as limit:
        result = run_forked(lambda: train_run(run.path), TIMEOUT_SECONDS, max_file_bytes=limit)
        assert not result.timed_out, "the run did not end"
    check_interrupted(run, run_config)
    cause = "No space left" if disk.is_real else "File too large"
    if result.value == "failed":
        assert cause in run.state()["reason"], run.state()
    elif result.error:  # not even the run's state could be written
        last_line = result.error.strip().splitlines()[-1]
        assert any(name in last_line for name in ("RunError", "TrainingError")), result.error
        assert cause in last_line, result.error
    else:
        assert result.value == "finished", result
    assert run_forked(lambda: train_run(run.path), TIMEOUT_SECONDS).value == "finished", run.state()
    check_complete(run)


def check_checkpoint(rng: random.Random, disk: Disk, vocabulary: Any) -> None:
    """Check that a saved checkpoint is the old one or the new one, and complete."""
    folder = disk.path / "checkpoint"
    save_checkpoint(folder, tiny_transformer(len(vocabulary)), vocabulary, "# Old\n")
    old_files = files(folder)
    other_model = tiny_transformer(len(vocabulary), seed=1)
    with disk.nearly_full(rng.randrange(400_000)) as limit:
        result = run_forked(
            lambda: save_checkpoint(folder, other_model, vocabulary, "# New\n"),
            TIMEOUT_SECONDS,
            max_file_bytes=limit,
        )
    if result.error:
        assert "OSError" in result.error.strip().splitlines()[-1], result.error
        assert files(folder) == old_files
    load_checkpoint(folder)
    assert [path.name for path in disk.path.iterdir()] == ["checkpoint"], "other files are left"


def check_measurement(rng: random.Random, disk: Disk, vocabulary: Any) -> None:
    """Check that a measurement fails with the cause, and succeeds when there is space."""
    computation = Computation("tests.attack.full_disk:large_result", {"number": rng.random()})
    with ComputationService(disk.path, Limits()) as service:
        with disk.nearly_full(rng.randrange(60_000)) as limit:
            if limit is not None:
                return  # the file size limit does not apply to the process that computes
            key = service.submit(computation, visitor="ann")
            status = final_status(service, key)
            assert status.status in ("done", "failed"), f"no final status: {status}"
            if status.status == "failed":
                check_message(ValueError(status.reason))
                assert "room" in status.reason or "space" in status.reason, status.reason
        if status.status == "failed":
            assert service.submit(computation, visitor="ann") == key
            assert final_status(service, key).status == "done"
        assert len(service.result(key)["big"]) == 50_000


def large_result(arguments: Mapping[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Return a result of 50 kB."""
    for step in range(10):
        progress(step / 10, "working")
    return {"big": "x" * 50_000}


def final_status(service: ComputationService, key: str) -> Any:
    """Return the status of a computation that is neither waiting nor running."""
    wait_for(lambda: not service.status(key, "ann").live, lambda: service.status(key))
    return service.status(key, "ann")


def check_queue(rng: random.Random, disk: Disk, vocabulary: Any) -> None:
    """Check that a run is queued completely or not at all, and that queued runs stay queued."""
    root = disk.path / "runs"

    def fill_queue() -> int:
        """Queue runs until the disk is full."""
        jobs = idle_jobs(root, disk_free=1)
        for number in range(10**6):
            try:
                jobs.submit(config(), f"ann{number}", {"x.tsv": b"a\tb\n" * 1000})
            except JobError as error:
                check_message(error)
                return number
            if number == 30:
                return number
        return 0

    jobs = idle_jobs(root, disk_free=1)
    with disk.nearly_full(rng.randrange(100_000)) as limit:
        result = run_forked(fill_queue, TIMEOUT_SECONDS, max_file_bytes=limit)
        assert not result.error, result.error
        assert len(jobs.runs()) == result.value
    jobs.submit(config(), "bob")
    assert len([info for info in jobs.runs() if info.status == "queued"]) == result.value + 1
