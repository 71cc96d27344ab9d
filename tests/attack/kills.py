"""`kill -9` at random moments: of the trainer, of worker and server, of one of two servers."""

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

from tests.attack.door import Attack, forked
from tests.attack.training import STEPS, check_complete, config, fresh, losses, sound, undisturbed
from tests.jobs.conftest import STANDIN, run_config, still_jobs
from transformer.jobs import Jobs
from transformer.jobs.folder import JobFolder
from transformer.run_config import TrainingRun
from transformer.training.train_folder import train_run

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0  # seconds, for a busy machine; what is there is seen at once
LONG = 120  # steps of a run whose workers are killed


@contextmanager
def trainers(folder: Path) -> Iterator[Attack]:
    """Who trains is killed, again and again, in the middle of steps and of saves."""
    undisturbed(STEPS)
    began = time.monotonic()
    forked(lambda: train_run(fresh(folder / "timed", config()).path), PATIENCE)
    length, finished = time.monotonic() - began, 0
    path, run_config = folder / "run", config()

    def once(chance: random.Random) -> None:
        nonlocal finished
        try:
            run = fresh(path, run_config) if not path.exists() else JobFolder(path)
            ended = forked(lambda: train_run(path), chance.uniform(0.02, 0.6) * length)
            assert not ended.error, ended.error
            sound(run, run_config)
            if not ended.late:
                assert ended.value == "finished", (ended, run.state())
                check_complete(run)
                finished += 1
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)  # the next one starts from the beginning
            raise
        if not ended.late:
            shutil.rmtree(path)

    yield Attack(once, lambda: f"{finished} runs of {STEPS} steps finished between the kills")


@contextmanager
def servers(folder: Path) -> Iterator[Attack]:
    """Worker, server or both are killed while a real worker trains."""
    root = folder / "runs"
    looking = still_jobs(root, disk_free=1)
    apps: list[App] = []
    finished, killed = 0, {"worker": 0, "server": 0, "both": 0}
    name = ""
    # The first run is left alone: the others are compared with it.
    expected: list[float] = []

    def app() -> App:
        if not apps or apps[0].process.poll() is not None:
            apps[:] = [App(root)]
        return apps[0]

    def settle(run: str, more: int) -> bool:
        """Wait until `more` further steps are taken; whether the run has ended by then."""
        deadline, begins = time.monotonic() + PATIENCE, len(losses(looking.folder(run)))
        while time.monotonic() < deadline:
            info = looking.run(run)
            if info.status == "failed":
                looking.resume(run, "ann")
            if info.status == "finished":
                return True
            if len(losses(looking.folder(run))) > begins + more and info.status == "running":
                return False
            time.sleep(0.02)
        raise AssertionError(f"no progress in {PATIENCE} s: {looking.run(run)}")

    def once(chance: random.Random) -> None:
        nonlocal finished, name
        app()
        if not expected:
            first = looking.submit(config(LONG, save_every=10), "ann")
            assert settle(first, 10 * LONG), "the undisturbed run did not finish"
            expected.extend(losses(looking.folder(first)))
            assert len(expected) == LONG
        if not name:
            name = looking.submit(config(LONG, save_every=10), "ann")
        if settle(name, chance.randint(1, LONG // 3)):
            losses_found = losses(looking.folder(name))
            assert losses_found == expected, "another loss than undisturbed"
            finished, name = finished + 1, ""
            return
        victim = chance.choice(("worker", "worker", "server", "both"))
        killed[victim] += 1
        app().kill(victim)
        info = looking.run(name)
        assert info.status in ("running", "queued", "failed", "finished"), info
        losses(looking.folder(name))

    def summary() -> str:
        kills = ", ".join(f"{count} of {victim}" for victim, count in killed.items())
        return f"kills: {kills}; {finished} runs of {LONG} steps finished, equal to the undisturbed"

    yield Attack(once, summary)
    for server in apps:
        server.close()


class App:
    """A server as far as runs go: it holds `Jobs`, and has a worker, both real processes."""

    def __init__(self, root: Path, trainer: str = "") -> None:
        command = [sys.executable, "-m", "tests.attack.app", str(root), *filter(None, [trainer])]
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
        """`kill -9` of the "server", its "worker" or "both"; waits until they are gone."""
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
        # A worker whose server is gone saves, gives its run back and ends by itself.
        _, survivors = psutil.wait_procs(killed if victim == "worker" else children, PATIENCE)
        assert not survivors, f"still there after {PATIENCE} s: {survivors}"
        if victim != "worker":
            self._pipes()

    def close(self) -> None:
        self.kill("both") if self.process.poll() is None else self._pipes()

    def _pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


@contextmanager
def two_servers(folder: Path) -> Iterator[Attack]:
    """Two over one folder of runs, stopped, killed and started again meanwhile. Each input is a few
    runs, half by each; a trainer that only writes steps takes them: it is the servers that are
    tried."""
    root = folder / "runs"
    looking = still_jobs(root, disk_free=1)
    apps = [App(root, STANDIN), App(root, STANDIN)]
    trained, kills = 0, 0

    def once(chance: random.Random) -> None:
        nonlocal trained, kills
        expected_steps: dict[str, int] = {}
        for number in range(chance.randint(2, 8)):
            steps = chance.choice((1, 5, 30))
            config = run_config(steps=steps, nap=chance.choice((0.0, 0.01)), title=f"run {number}")
            name = apps[number % 2].submit(config, f"visitor {number}")
            assert name, "it was not queued"
            expected_steps[name] = steps
        killed = chance.random() < 0.2
        if killed:
            time.sleep(chance.random())
            index = chance.randrange(2)
            apps[index].kill(chance.choice(("server", "worker", "both")))
            kills += 1
            if apps[index].process.poll() is not None:
                apps[index] = App(root, STANDIN)
        for number, (name, steps) in enumerate(expected_steps.items()):
            ended(looking, name, f"visitor {number}", killed)
            folder = looking.folder(name)
            steps_taken = [line["step"] for line in folder.metrics()]
            assert steps_taken == [*range(1, steps + 1)], f"steps missing or doubled: {steps_taken}"
            starts = (folder.path / "starts.txt").read_text().split()
            assert killed or len(starts) == 1, f"{name} was begun {len(starts)} times"
            looking.delete(name, f"visitor {number}")
            trained += 1

    yield Attack(once, lambda: f"{trained} runs, none twice; {kills} kills")
    for app in apps:
        app.close()


def ended(looking: Jobs, name: str, owner: str, killed: bool) -> None:
    """Wait until the run is finished; one whose worker was killed is resumed."""
    deadline = time.monotonic() + PATIENCE
    while (info := looking.run(name)).status != "finished":
        assert time.monotonic() < deadline, f"no end in {PATIENCE} s: {info}"
        if info.status == "failed":
            assert killed, info.reason
            assert "worker" in info.reason, info.reason
            looking.resume(name, owner)
        time.sleep(0.02)
