"""Measurements in processes of their own: one at a time, kept, stopped, and ended in time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from transformer.jobs import JobError
from transformer.jobs.measuring import Measurement, Measuring

SCRIPT = """
import sys, time
what = sys.argv[1]
print("one", flush=True)
if what == "fails":
    raise ValueError("no such ruler")
if what == "talks":
    sys.stderr.write("no room here\\n" * 100_000)
    raise ValueError("said enough")
if what == "long":
    time.sleep(600)
print("two", flush=True)
"""


@pytest.fixture
def measuring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measuring:
    (tmp_path / "ruler.py").write_text(SCRIPT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return Measuring("ruler")


def ended(measuring: Measuring, argument: str, patience: float = 30) -> Measurement:
    deadline = time.monotonic() + patience
    while measuring.running() and time.monotonic() < deadline:
        time.sleep(0.01)
    found = measuring.found(argument)
    assert found
    return found


def test_its_lines_are_kept_for_everyone(measuring: Measuring) -> None:
    assert measuring.found("short") is None
    measuring.start("short", "me")
    found = ended(measuring, "short")
    assert (found.status, found.lines) == ("finished", ["one\n", "two\n"])


def test_one_at_a_time_and_only_its_owner_stops_it(measuring: Measuring) -> None:
    measuring.start("long", "me")
    with pytest.raises(JobError, match="somebody measures at the moment"):
        measuring.start("short", "you")
    with pytest.raises(JobError, match="only who began"):
        measuring.stop("you")
    found = measuring.running()
    assert found
    while not found.lines:
        time.sleep(0.01)
    measuring.stop("me")
    assert ended(measuring, "long").status == "stopped"
    assert found.lines == ["one\n"]
    measuring.start("short", "you")
    assert ended(measuring, "short").status == "finished"


def test_a_failure_says_why(measuring: Measuring) -> None:
    measuring.start("fails", "me")
    found = ended(measuring, "fails")
    assert (found.status, found.reason) == ("failed", "ValueError: no such ruler")


@pytest.mark.usefixtures("measuring")
def test_what_takes_too_long_is_ended() -> None:
    hasty = Measuring("ruler", limit=0.5)
    hasty.start("long", "me")
    found = ended(hasty, "long")
    assert (found.status, found.reason) == ("failed", "it took too long")


@pytest.mark.usefixtures("measuring")
def test_much_on_standard_error_stops_nothing() -> None:
    """More than a pipe holds, which nobody read until the end of the other one."""
    talking = Measuring("ruler", limit=30)
    talking.start("talks", "me")
    found = ended(talking, "talks")
    assert (found.status, found.reason) == ("failed", "ValueError: said enough")


@pytest.mark.usefixtures("measuring")
def test_it_ends_with_an_app_that_is_killed() -> None:
    program = (
        "import time\n"
        "from transformer.jobs.measuring import Measuring\n"
        "measuring = Measuring('ruler')\n"
        "measuring.start('long', 'me')\n"
        "print(measuring._process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as app:
        assert app.stdout
        ruler = psutil.Process(int(app.stdout.readline()))
        app.kill()
    ruler.wait(30)  # of its own accord, or psutil.TimeoutExpired


def test_nothing_runs_nothing_is_stopped(measuring: Measuring) -> None:
    measuring.stop("me")
    assert measuring.running() is None


@pytest.mark.usefixtures("measuring")
def test_a_disk_without_room_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    measuring = Measuring("ruler")
    with pytest.raises(JobError, match="nothing can be measured: No space left on device"):
        measuring.start("short", "me")
    assert measuring.running() is None
