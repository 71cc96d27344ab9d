"""Locks on files, looked at by one thread while another makes them and takes them away."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from transformer.training.locks import attempt, is_free


def test_a_lock_is_free_until_somebody_has_it_and_again_when_they_let_go(tmp_path: Path) -> None:
    path = tmp_path / "job.lock"
    held = attempt(path)
    assert held
    assert not is_free(path)
    assert attempt(path) is None
    held.close()
    assert is_free(path)


def test_what_is_not_there_is_free_and_looking_makes_nothing(tmp_path: Path) -> None:
    assert is_free(tmp_path / "job.lock")
    assert is_free(tmp_path / "no such run" / "job.lock")
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_goes_while_somebody_looks_was_nobody_s(tmp_path: Path) -> None:
    """Another server deletes a run at the moment in which this one asks who has it."""
    run, looks, over = tmp_path / "run", [], threading.Event()

    def come_and_go() -> None:
        for number in range(3000):
            run.mkdir()
            (run / "job.lock").touch()
            run.rename(tmp_path / f"gone {number}")
        over.set()

    other = threading.Thread(target=come_and_go)
    other.start()
    deadline = time.monotonic() + 60
    while not over.is_set() and time.monotonic() < deadline:
        looks.append(is_free(run / "job.lock"))
    other.join()
    assert len(looks) > 100
    assert all(looks)
