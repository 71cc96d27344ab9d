"""Two servers over one folder of runs, which are stopped, killed and started again meanwhile."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.attack.door import Attack
from tests.attack.kills import App
from tests.jobs.conftest import STANDIN, Still, asked
from transformer.jobs import Jobs, Limits

PATIENCE = 120.0


@contextmanager
def opened(folder: Path) -> Iterator[Attack]:
    """Each input is a few runs, half by each server; a trainer that only writes steps takes them,
    so that it is the servers that are tried."""
    root = folder / "runs"
    looking = Jobs(root, Limits(disk_free=1), executor=lambda queue, limits: Still())
    apps = [App(root, STANDIN), App(root, STANDIN)]
    trained, kills = 0, 0

    def once(chance: random.Random) -> None:
        nonlocal trained, kills
        wanted: dict[str, int] = {}
        for number in range(chance.randint(2, 8)):
            steps = chance.choice((1, 5, 30))
            config = asked(steps=steps, nap=chance.choice((0.0, 0.01)), title=f"run {number}")
            name = apps[number % 2].submit(config, f"visitor {number}")
            assert name, "it was not put in line"
            wanted[name] = steps
        killed = chance.random() < 0.2
        if killed:
            time.sleep(chance.random())
            which = chance.randrange(2)
            apps[which].kill(chance.choice(("server", "worker", "both")))
            kills += 1
            if apps[which].process.poll() is not None:
                apps[which] = App(root, STANDIN)
        for number, (name, steps) in enumerate(wanted.items()):
            ended(looking, name, f"visitor {number}", killed)
            folder = looking.folder(name)
            taken = [line["step"] for line in folder.metrics()]
            assert taken == [*range(1, steps + 1)], f"steps missing or doubled: {taken}"
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
