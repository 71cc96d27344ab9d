"""Computations that are cancelled, killed, dropped or fail, and the files that they leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests import leaks
from tests.jobs.fake_computations import (
    FUNCTION,
    LIMITS,
    TIMEOUT_SECONDS,
    SubmitAction,
    starts,
    submit,
    wait_for,
    wait_for_status,
    wait_until_half_done,
)
from transformer.jobs import ComputationService, JobError, Limits
from transformer.jobs.computation import DISK_FULL, KIND, remove_oldest
from transformer.jobs.folder import JobFolder
from transformer.text.files import write_json


def test_a_computation_over_its_time_limit_fails_with_a_reason(tmp_path: Path) -> None:
    limits = Limits(pass_minutes=1)
    object.__setattr__(limits, "pass_minutes", 0.01)  # below the minimum that an operator may set
    with ComputationService(tmp_path, limits) as service:
        key = submit(service, tmp_path, "long")
        reason = "it took more than 0.01 min, the limit here; take fewer sentences"
        assert wait_for_status(service, key, "failed").reason == reason


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no memory limits")
def test_a_computation_without_enough_memory_fails_alone(
    submit_action: SubmitAction, service: ComputationService
) -> None:
    assert wait_for_status(service, submit_action("large"), "failed").reason == (
        "it needs more memory than the limit of 3.0 GB; take fewer sentences"
    )
    wait_for_status(service, submit_action("quick"), "done")


def test_the_process_is_reused_and_replaced_if_killed_or_interrupted(tmp_path: Path) -> None:
    """A job that is cancelled may leave half imported modules behind."""
    kind = replace(KIND, idle_seconds=TIMEOUT_SECONDS)
    with ComputationService(tmp_path, LIMITS, kind=kind) as service:

        def process_id(action: str, **arguments: int) -> int:
            key = submit(service, tmp_path, action, **arguments)
            wait_for_status(service, key, "done")
            return int(service.result(key)["process"])

        first = process_id("prints")
        assert process_id("quick") == first
        killed = psutil.Process(first)
        killed.kill()
        psutil.wait_procs([killed], timeout=TIMEOUT_SECONDS)
        second = process_id("quick", number=1)
        assert second != first
        waiting_key = submit(service, tmp_path, "waits")
        wait_until_half_done(service, waiting_key)
        service.cancel(waiting_key, "me")
        assert process_id("quick", number=2) != second


def test_an_idle_process_ends(tmp_path: Path) -> None:
    children = leaks.children()
    kind = replace(KIND, idle_seconds=0.1)
    with ComputationService(tmp_path, LIMITS, kind=kind) as service:
        wait_for_status(service, submit(service, tmp_path, "quick"), "done")
        wait_for(lambda: leaks.children() <= children)
        wait_for_status(
            service,
            submit(service, tmp_path, "quick", n=1),
            "done",
        )


def test_a_request_that_no_page_asks_for_any_more_is_dropped(tmp_path: Path) -> None:
    kind = replace(KIND, abandoned_after=0.5)
    with ComputationService(tmp_path, LIMITS, kind=kind) as service:
        running, waiting = (submit(service, tmp_path, "waits", number=n) for n in range(2))
        wait_until_half_done(service, running)
        wait_for(lambda: service.status(running).status == "absent")  # its worker ended it
        last = submit(service, tmp_path, "quick")
        wait_for(lambda: service.status(last, "me").status == "done")
        assert service.status(waiting).status == "absent"


def test_a_failed_computation_has_a_reason_and_can_be_repeated(
    service: ComputationService, submit_action: SubmitAction
) -> None:
    failing_key, exiting_key = submit_action("fails"), submit_action("exits")
    full_disk_key = submit_action("full")
    reason = wait_for_status(service, exiting_key, "failed").reason
    assert reason == "its worker was lost 3 times; try again"
    assert service.status(failing_key).reason == "no such measure"
    assert wait_for_status(service, full_disk_key, "failed").reason == DISK_FULL
    with pytest.raises(JobError, match="no longer stored"):
        service.result(failing_key)
    submit_action("fails")
    assert service.status(failing_key).status == "running"


def test_a_computation_of_a_killed_app_starts_again_if_a_page_waits_for_it(tmp_path: Path) -> None:
    """Its computing process ends too, and leaves no partial result."""
    code = (
        "import sys, time\n"
        "from transformer.jobs import Computation, ComputationService\n"
        "root = sys.argv[1]\n"
        "service = ComputationService(root)\n"
        f"computation = Computation({FUNCTION!r}, {{'action': 'waits', 'root': root}})\n"
        "print(service.submit(computation, visitor='me'), flush=True)\n"
        "time.sleep(600)\n"
    )
    app = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert app.stdout
    key = app.stdout.readline().strip()
    folder = tmp_path / ".results" / key
    wait_for((folder / "progress.json").exists)
    with ComputationService(tmp_path) as service:
        assert service.status(key).status == "running"  # of the other app
        app.send_signal(signal.SIGKILL)
        app.wait()
        app.stdout.close()
        wait_for(lambda: service.status(key, "me") and len(starts(tmp_path)) == 2)
        (tmp_path / "go").touch()
        wait_for_status(service, key, "done")


def test_the_oldest_results_are_removed(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "c", "d", "running")):
        write_json(tmp_path / name / "state.json", {"status": name if name == "running" else ""})
        path = tmp_path / name / ("state.json" if name == "b" else "result.json")
        write_json(path, {"number": number})
        os.utime(path, (number + 1, number + 1))
    write_json(tmp_path / "running" / "state.json", {"status": "running"})
    os.utime(tmp_path / "a" / "result.json", (9, 9))  # used last
    remove_oldest([JobFolder(path) for path in tmp_path.iterdir()], 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "d", "running"]
