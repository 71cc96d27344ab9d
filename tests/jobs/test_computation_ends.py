"""Computations that are cancelled, killed, dropped or fail, and the files that they leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from unittest.mock import Mock

import psutil
import pytest

from tests import leaks
from tests.jobs.requests import (
    FUNCTION,
    LIMITS,
    TIMEOUT_SECONDS,
    SubmitAction,
    fake_computation,
    folders,
    wait_for,
    wait_for_status,
    wait_until_half_done,
)
from transformer.jobs import ComputationService, JobError, Limits
from transformer.jobs.computation import LANES
from transformer.jobs.compute_process import run_function
from transformer.jobs.results import (
    DISK_FULL,
    EXIT_DISK_FULL,
    lock_folder,
    read_or_empty,
    remove_oldest,
)
from transformer.text.files import write_json
from transformer.training.locks import is_free, try_lock


def test_a_computation_over_its_time_limit_fails_with_a_reason(tmp_path: Path) -> None:
    limits = Limits(pass_minutes=1)
    object.__setattr__(limits, "pass_minutes", 0.01)  # below the minimum that an operator may set
    with ComputationService(tmp_path, limits) as computing:
        key = computing.submit(fake_computation(tmp_path, "long"), visitor="me")
        reason = "it took more than the 0.01 minutes that this app allows; take fewer sentences"
        assert wait_for_status(computing, key, "failed").reason == reason


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no CPU time limits")
def test_a_computation_over_its_cpu_limit_fails(tmp_path: Path) -> None:
    children = leaks.children()
    lanes = {"step": replace(LANES["step"], max_cpu_seconds=1)}
    with ComputationService(tmp_path, LIMITS, lanes=lanes) as computing:
        key = computing.submit(fake_computation(tmp_path, "busy", "step"), visitor="me")
        assert wait_for_status(computing, key, "failed").reason == (
            "it took more than the 1 second that this app allows; take a smaller model, or a "
            "smaller batch"
        )
        assert leaks.children() <= children


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no memory limits")
def test_a_computation_without_enough_memory_fails_alone(
    submit_action: SubmitAction, computing: ComputationService
) -> None:
    assert wait_for_status(computing, submit_action("large"), "failed").reason == (
        "it needs more memory than the limit of 3.0 GB; take fewer sentences"
    )
    wait_for_status(computing, submit_action("quick"), "done")


def test_the_lane_process_is_reused_and_replaced_if_killed(
    tmp_path: Path,
) -> None:
    lanes = {
        name: replace(LANES["corpus"], idle_seconds=TIMEOUT_SECONDS)
        for name in ("corpus", "timing")
    }
    with ComputationService(tmp_path, LIMITS, lanes=lanes) as computing:

        def made_by(action: str, lane: str = "corpus", **more: int) -> int:
            key = computing.submit(fake_computation(tmp_path, action, lane, **more), visitor="me")
            wait_for_status(computing, key, "done")
            return int(computing.result(key)["process"])

        first = made_by("prints")
        assert made_by("quick") == first
        assert made_by("quick", "timing") != first  # short computations do not wait for long ones
        killed = psutil.Process(first)
        killed.kill()
        psutil.wait_procs([killed], timeout=TIMEOUT_SECONDS)
        assert made_by("quick", number=1) != first


def test_an_idle_process_ends(tmp_path: Path) -> None:
    children = leaks.children()
    lanes = {"corpus": replace(LANES["corpus"], idle_seconds=0.1)}
    with ComputationService(tmp_path, LIMITS, lanes=lanes) as computing:
        wait_for_status(
            computing, computing.submit(fake_computation(tmp_path, "quick"), visitor="me"), "done"
        )
        wait_for(lambda: leaks.children() <= children)
        wait_for_status(
            computing,
            computing.submit(fake_computation(tmp_path, "quick", n=1), visitor="me"),
            "done",
        )


def test_an_abandoned_request_is_dropped(tmp_path: Path) -> None:
    """A slider passes many values, and only the result of the last one is waited for."""
    lanes = {"step": replace(LANES["step"], abandoned_after=0.5)}
    with ComputationService(tmp_path, LIMITS, lanes=lanes) as computing:
        waiting_key = computing.submit(fake_computation(tmp_path, "waits", "step"), visitor="me")
        wait_until_half_done(computing, waiting_key)
        computations = [
            fake_computation(tmp_path, "quick", "step", number=number) for number in range(30)
        ]
        keys = [computing.submit(computation, visitor="me") for computation in computations]
        assert computing.status(keys[-1]).requests_ahead == 1  # the newest request is next
        assert sum(computing.status(key).live for key in keys) <= LANES["step"].capacity
        deadline = time.monotonic() + 0.6
        while time.monotonic() < deadline:
            computing.status(waiting_key, "me")
            time.sleep(0.1)
        (tmp_path / "go").touch()
        wait_for(
            lambda: (
                computing.status(computing.submit(computations[0], visitor="me")).status == "done"
            )
        )
        assert sum(computing.status(key).status == "done" for key in keys) <= 2


def test_a_failed_computation_has_a_reason_and_can_be_repeated(
    computing: ComputationService, submit_action: SubmitAction
) -> None:
    failing_key, exiting_key = submit_action("fails"), submit_action("exits")
    assert wait_for_status(computing, exiting_key, "failed").reason.startswith(
        "its process ended (9)"
    )
    assert computing.status(failing_key).reason == "no such ruler"
    with pytest.raises(JobError, match="no longer stored"):
        computing.result(failing_key)
    submit_action("fails")
    assert computing.status(failing_key).status == "running"


def test_a_full_disk_in_the_process_is_reported(tmp_path: Path) -> None:
    with ComputationService(tmp_path) as computing:
        key = computing.submit(fake_computation(tmp_path, "full"), visitor="me")
        assert wait_for_status(computing, key, "failed").reason == DISK_FULL


def test_a_killed_app_leaves_no_partial_result(tmp_path: Path) -> None:
    """Its computing process ends too; the next app cleans up and starts again."""
    code = (
        "import sys, time\n"
        "from transformer.jobs import Computation, ComputationService\n"
        "root = sys.argv[1]\n"
        "computing = ComputationService(root)\n"
        f"what = Computation({FUNCTION!r}, {{'what': 'long', 'root': root}})\n"
        "print(computing.submit(what, visitor='me'), flush=True)\n"
        "time.sleep(600)\n"
    )
    app = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert app.stdout
    key = app.stdout.readline().strip()
    with ComputationService(tmp_path) as service:
        wait_for((tmp_path / ".results" / key / "progress.json").exists)
        assert folders(tmp_path) == [key]  # a computation of another running app is not touched
        app.send_signal(signal.SIGKILL)
        app.wait()
        app.stdout.close()
        assert service.status(key).status == "absent"
    wait_for(lambda: is_free(tmp_path / ".results" / key / "lock"))
    with ComputationService(tmp_path):
        assert folders(tmp_path) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_result_folder_deleted_by_another_app_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A starting app removes unlocked folders, just before or just after the lock is taken."""
    folder, deleted_folders = tmp_path / "run-1", []

    def lock_around_deletion(path: Path) -> BinaryIO | None:
        if when == "after":
            lock = try_lock(path)
        if not deleted_folders:
            deleted_folders.append(folder.rename(tmp_path / ".going-1"))
        return try_lock(path) if when == "before" else lock

    monkeypatch.setattr("transformer.jobs.results.try_lock", lock_around_deletion)
    lock = lock_folder(folder)
    assert deleted_folders
    assert lock is not None
    with lock:
        assert try_lock(folder / "lock") is None, "the lock is in the new folder"


def test_the_oldest_results_are_removed(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "c", "d")):
        path = tmp_path / name / ("failed.json" if name == "b" else "result.json")
        write_json(path, {"number": number})
        os.utime(path, (number + 1, number + 1))
    os.utime(tmp_path / "a" / "result.json", (9, 9))  # used last
    (tmp_path / "running").mkdir()
    remove_oldest([*tmp_path.iterdir()], 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "d", "running"]


def test_a_full_disk_is_reported_even_without_a_file(
    computing: ComputationService,
    submit_action: SubmitAction,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        full = Mock(side_effect=OSError(28, "No space left on device", "/srv/runs/x"))
        patched.setattr("transformer.jobs.lane_thread.write_json", full)
        key = submit_action("words")
        assert wait_for_status(computing, key, "failed").reason == (
            "it could not be computed: No space left on device"
        )
    assert submit_action("words") == key  # there is space again
    assert wait_for_status(computing, key, "done")

    folder = tmp_path / "made"
    write_json(folder / "ask.json", {})
    monkeypatch.setattr("transformer.jobs.compute_process.write_json", full)
    assert run_function(folder, lambda arguments, progress: {}) == EXIT_DISK_FULL
    monkeypatch.undo()
    assert run_function(folder, full) == 1
    assert read_or_empty(folder / "failed.json")["reason"] == DISK_FULL
