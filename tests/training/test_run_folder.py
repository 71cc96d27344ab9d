"""A run folder keeps complete files, drops truncated ones, and belongs to one process."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import ModelConfig, TrainingConfig
from transformer.text.files import is_free
from transformer.training.run_config import PairsRun
from transformer.training.run_folder import RunError, RunFolder

CONFIG = PairsRun(pairs="pairs.tsv", model=ModelConfig(vocab_size=9), training=TrainingConfig())


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "runs" / "one")
    folder.write_config(CONFIG)
    return folder


def test_folder_without_a_run_raises_run_error(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert not run.exists
    assert run.metrics() == []
    with pytest.raises(RunError, match=r"is not a run folder: it has no config\.json"):
        run.config()
    with pytest.raises(RunError, match=r"is not a run folder: it has no state\.json"):
        run.state()


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "cannot be read"), (b"\xff\xfe", "cannot be read"), ("[]", "a JSON object, not list")],
)
def test_corrupt_state_raises_a_one_sentence_error(
    run: RunFolder, content: str | bytes, message: str
) -> None:
    path = run.path / "state.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(RunError, match=message) as caught:
        run.state()
    assert str(path) in str(caught.value)


@given(n_bytes=st.integers(1, 200), last_step=st.integers(0, 6))
def test_truncated_last_line_is_skipped(
    tmp_path_factory: pytest.TempPathFactory, n_bytes: int, last_step: int
) -> None:
    """After a kill, the file may end anywhere; `rewind` keeps complete lines up to a step."""
    run = RunFolder(tmp_path_factory.mktemp("run"))
    lines = [{"step": n, "loss": n / 7} for n in range(1, 6)]
    for line in lines:
        run.append_metrics(line)
    size = run.metrics_path.stat().st_size
    os.truncate(run.metrics_path, max(0, size - n_bytes))
    remaining = run.metrics()
    # A line may lack its newline only.
    assert remaining == lines[: len(remaining)]
    run.rewind(last_step)
    run.append_metrics({"step": last_step + 1})
    assert run.metrics() == [line for line in remaining if line["step"] <= last_step] + [
        {"step": last_step + 1}
    ]


def test_a_folder_in_use_is_refused(run: RunFolder) -> None:
    with run.locked():
        with (
            pytest.raises(
                RunError, match=rf"process {os.getpid()} is training in .*runs/one; wait"
            ),
            RunFolder(run.path).locked(),
        ):
            pytest.fail("held twice")
        assert (run.path / "lock").read_text() == str(os.getpid())
    with run.locked():  # the lock is free again
        pass


@pytest.mark.skipif(os.name != "posix", reason="no fork")
def test_lock_of_a_killed_process_is_released(run: RunFolder) -> None:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        with run.locked():
            (run.path / "weights").mkdir()
            for leftover in (".resume.safetensors.0a.tmp", ".tmpX1", "weights/.tmpY2"):
                (run.path / leftover).write_text("half")
            (run.path / ".checkpoint.7").mkdir()
            (run.path / ".checkpoint.7" / "config.json").write_text("half")
            os.write(write_end, b"held")
            os.kill(os.getpid(), 9)
    assert os.read(read_end, 4) == b"held"
    os.waitpid(child, 0)
    os.close(read_end)
    os.close(write_end)
    assert (run.path / "lock").read_text() == str(child)
    with run.locked():
        assert (run.path / "lock").read_text() == str(os.getpid())
        # The partly written files of the killed process are removed.
        assert sorted(p.name for p in run.path.rglob("*")) == ["config.json", "lock", "weights"]


def test_unwritable_run_folder_raises_run_error(tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    with pytest.raises(RunError, match=r"taken is a file; give a folder"), RunFolder(file).locked():
        pytest.fail("held")
    below = RunFolder(file / "below")
    with pytest.raises(RunError, match=r"below cannot be written to: \w+"), below.locked():
        pytest.fail("held")
    assert file.read_text() == "mine"


def test_is_free_while_the_folder_is_moved_away(tmp_path: Path) -> None:
    """Another server deletes a run while this one reads its lock."""
    run, results, finished = tmp_path / "run", [], threading.Event()

    def create_and_move() -> None:
        for number in range(3000):
            run.mkdir()
            (run / "job.lock").touch()
            run.rename(tmp_path / f"gone {number}")
        finished.set()

    mover = threading.Thread(target=create_and_move)
    mover.start()
    deadline = time.monotonic() + 60
    while not finished.is_set() and time.monotonic() < deadline:
        results.append(is_free(run / "job.lock"))
    mover.join()
    assert len(results) > 100
    assert all(results)
