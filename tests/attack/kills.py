"""`kill -9` at random times: kills a trainer, the worker or the server, or one of two servers."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.attack.short_runs import (
    STEPS,
    check_complete,
    check_interrupted,
    config,
    losses,
    new_run_folder,
    uninterrupted_run,
)
from tests.attack.target import Attack, run_forked
from tests.jobs.conftest import FAKE_TRAINER, idle_jobs, run_config
from transformer.jobs import Jobs
from transformer.jobs.folder import JobFolder
from transformer.run_config import TrainingRun
from transformer.training.train_folder import train_run

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 120.0  # for a busy machine; usually the wait is short
LONG_RUN_STEPS = 120  # steps of a run whose workers are killed


@contextmanager
def trainers(folder: Path) -> Iterator[Attack]:
    """Kill the trainer repeatedly, during steps and saves."""
    uninterrupted_run(STEPS)
    start = time.monotonic()
    run_forked(lambda: train_run(new_run_folder(folder / "timed", config()).path), TIMEOUT_SECONDS)
    duration, n_finished = time.monotonic() - start, 0
    path, expected_config = folder / "run", config()

    def try_input(rng: random.Random) -> None:
        nonlocal n_finished
        try:
            run = new_run_folder(path, expected_config) if not path.exists() else JobFolder(path)
            result = run_forked(lambda: train_run(path), rng.uniform(0.02, 0.6) * duration)
            assert not result.error, result.error
            check_interrupted(run, expected_config)
            if not result.timed_out:
                assert result.value == "finished", (result, run.state())
                check_complete(run)
                n_finished += 1
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)  # the next input starts with a new run
            raise
        if not result.timed_out:
            shutil.rmtree(path)

    yield Attack(
        try_input, lambda: f"{n_finished} runs of {STEPS} steps finished between the kills"
    )


@contextmanager
def servers(folder: Path) -> Iterator[Attack]:
    """Kill worker, server or both during training."""
    root = folder / "runs"
    jobs = idle_jobs(root, disk_free=1)
    servers: list[QueueServer] = []
    n_finished, n_kills = 0, {"worker": 0, "server": 0, "both": 0}
    name = ""
    # Losses of the first run, which is not killed. The losses of the other runs must equal them.
    expected: list[float] = []

    def running_server() -> QueueServer:
        if not servers or servers[0].process.poll() is not None:
            servers[:] = [QueueServer(root)]
        return servers[0]

    def wait_for_steps(run: str, n_steps: int) -> bool:
        """Wait for `n_steps` more steps or the end of the run; return whether it has finished."""
        deadline, steps_before = time.monotonic() + TIMEOUT_SECONDS, len(losses(jobs.folder(run)))
        while time.monotonic() < deadline:
            info = jobs.run(run)
            if info.status == "failed":
                jobs.resume(run, "ann")
            if info.status == "finished":
                return True
            if len(losses(jobs.folder(run))) > steps_before + n_steps and info.status == "running":
                return False
            time.sleep(0.02)
        raise AssertionError(f"no progress in {TIMEOUT_SECONDS} s: {jobs.run(run)}")

    def try_input(rng: random.Random) -> None:
        nonlocal n_finished, name
        running_server()
        if not expected:
            first_name = jobs.submit(config(LONG_RUN_STEPS, save_every=10), "ann")
            assert wait_for_steps(first_name, 10 * LONG_RUN_STEPS), "the first run did not finish"
            expected.extend(losses(jobs.folder(first_name)))
            assert len(expected) == LONG_RUN_STEPS
        if not name:
            name = jobs.submit(config(LONG_RUN_STEPS, save_every=10), "ann")
        if wait_for_steps(name, rng.randint(1, LONG_RUN_STEPS // 3)):
            message = "the losses differ from those of an uninterrupted run"
            assert losses(jobs.folder(name)) == expected, message
            n_finished, name = n_finished + 1, ""
            return
        victim = rng.choice(("worker", "worker", "server", "both"))
        n_kills[victim] += 1
        running_server().kill(victim)
        info = jobs.run(name)
        assert info.status in ("running", "queued", "failed", "finished"), info
        losses(jobs.folder(name))

    def summary() -> str:
        kills = ", ".join(f"{count} of {victim}" for victim, count in n_kills.items())
        return (
            f"kills: {kills}; {n_finished} runs of {LONG_RUN_STEPS} steps finished, equal to an "
            "uninterrupted one"
        )

    yield Attack(try_input, summary)
    for server in servers:
        server.close()


class QueueServer:
    """A process with the queue of the app and a worker process, but without pages."""

    def __init__(self, root: Path, trainer: str = "") -> None:
        arguments = [str(root), *filter(None, [trainer])]
        command = [sys.executable, "-m", "tests.attack.queue_server", *arguments]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def submit(self, run_config: TrainingRun, owner: str) -> str:
        """Queue a run through this server and return its name."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([run_config.to_dict(), owner]) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self, victim: str) -> None:
        """Send `kill -9` to the "server", its "worker" or "both", and wait for their end."""
        children = psutil.Process(self.process.pid).children()
        killed = []
        if victim in ("server", "both"):
            self.process.kill()
            self.process.wait()
        if victim in ("worker", "both"):
            for child in children:
                try:
                    os.kill(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(child)
        # A worker without a server saves its run, queues it and ends by itself.
        _, survivors = psutil.wait_procs(
            killed if victim == "worker" else children, TIMEOUT_SECONDS
        )
        assert not survivors, f"still running after {TIMEOUT_SECONDS} s: {survivors}"
        if victim != "worker":
            self._close_pipes()

    def close(self) -> None:
        self.kill("both") if self.process.poll() is None else self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


@contextmanager
def two_servers(folder: Path) -> Iterator[Attack]:
    """Run two servers with one folder of runs, and kill and restart them.

    Each input queues a few runs, half of them through each server. A fake trainer only writes the
    metrics of each step, because this attack tests the servers.
    """
    root = folder / "runs"
    jobs = idle_jobs(root, disk_free=1)
    servers = [QueueServer(root, FAKE_TRAINER), QueueServer(root, FAKE_TRAINER)]
    n_trained, n_kills = 0, 0

    def try_input(rng: random.Random) -> None:
        nonlocal n_trained, n_kills
        expected_steps: dict[str, int] = {}
        for number in range(rng.randint(2, 8)):
            steps = rng.choice((1, 5, 30))
            config = run_config(
                steps=steps, step_seconds=rng.choice((0.0, 0.01)), title=f"run {number}"
            )
            name = servers[number % 2].submit(config, f"visitor {number}")
            assert name, "the run was not queued"
            expected_steps[name] = steps
        killed = rng.random() < 0.2
        if killed:
            time.sleep(rng.random())
            index = rng.randrange(2)
            servers[index].kill(rng.choice(("server", "worker", "both")))
            n_kills += 1
            if servers[index].process.poll() is not None:
                servers[index] = QueueServer(root, FAKE_TRAINER)
        for number, (name, steps) in enumerate(expected_steps.items()):
            wait_until_finished(jobs, name, f"visitor {number}", killed)
            folder = jobs.folder(name)
            steps_taken = [line["step"] for line in folder.metrics()]
            message = f"missing or repeated steps: {steps_taken}"
            assert steps_taken == [*range(1, steps + 1)], message
            starts = (folder.path / "starts.txt").read_text().split()
            assert killed or len(starts) == 1, f"{name} was started {len(starts)} times"
            jobs.delete(name, f"visitor {number}")
            n_trained += 1

    yield Attack(try_input, lambda: f"{n_trained} runs, each trained once; {n_kills} kills")
    for server in servers:
        server.close()


def wait_until_finished(jobs: Jobs, name: str, owner: str, killed: bool) -> None:
    """Wait until the run is finished; resume it if its worker was killed."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (info := jobs.run(name)).status != "finished":
        assert time.monotonic() < deadline, f"not finished in {TIMEOUT_SECONDS} s: {info}"
        if info.status == "failed":
            assert killed, info.reason
            assert "worker" in info.reason, info.reason
            jobs.resume(name, owner)
        time.sleep(0.02)
