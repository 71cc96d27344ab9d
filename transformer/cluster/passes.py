"""The executor of a lane whose computations other machines make: findings, heads, datasets."""

from __future__ import annotations

import asyncio
import concurrent.futures
import random
from pathlib import Path
from typing import Any

from transformer.cluster import host
from transformer.cluster.connection import Connection, LostError
from transformer.cluster.copying import Mirror, send
from transformer.jobs.computation import LANES, Computation, Lane
from transformer.jobs.limits import Limits
from transformer.jobs.results import EXIT_FAILED, FAILED
from transformer.text.files import write_json

_FOLLOW = 0.2  # seconds between two looks at one that computes
_TRIES = 2  # machines that are asked, when one is lost
_KILLED = -9


class ClusterLane:
    """A `LaneExecutor`. Several computations at once are several lanes' or several apps'."""

    def __init__(self, lane: Lane, limits: Limits, connection: Connection) -> None:
        [self._name] = [name for name, one in LANES.items() if one == lane]
        self._limits = {"nice": limits.nice, "memory": limits.memory}
        self._connection = connection
        self._asked: concurrent.futures.Future[int] | None = None

    def begin(self, folder: Path, what: Computation) -> None:
        self._asked = self._connection.submit(self._compute(folder, what))

    def wait(self) -> int:
        assert self._asked
        try:
            return self._asked.result()
        except concurrent.futures.CancelledError:
            return _KILLED

    def kill(self) -> None:
        if self._asked is not None:
            self._asked.cancel()

    def close(self) -> None:
        self.kill()

    async def _compute(self, folder: Path, what: Computation) -> int:
        """As the process of a lane ends; a machine that is lost is tried once more elsewhere."""
        for _ in range(_TRIES):
            try:
                return await self._visit(folder, what)
            except LostError:
                reason = self._connection.trouble
        reason = reason or "the machine that computed it was lost"
        write_json(folder / FAILED, {"reason": f"{reason}; ask again", "so_far": {}})
        return EXIT_FAILED

    async def _visit(self, folder: Path, what: Computation) -> int:
        workers = await self._connection.workers()
        if not workers:
            raise LostError(self._connection.trouble)
        worker = random.choice([*workers])
        async with self._connection.visit(worker, place=False) as visit:
            return await self._follow(folder, what, worker, visit)

    async def _follow(self, folder: Path, what: Computation, worker: str, visit: str) -> int:
        call = self._connection.call
        if "checkpoint" in what.arguments:
            digest, path = what.arguments["hash"], Path(what.arguments["checkpoint"])
            if not await call(worker, host.has_checkpoint, digest):
                await send(self._connection, worker, visit, path, under="checkpoint")
                await call(worker, host.keep_checkpoint, visit, digest)
        asked = {"function": what.function, "given": dict(what.arguments), "file": what.file}
        await call(worker, host.begin_pass, visit, asked, self._name, self._limits)
        mirror = Mirror(self._connection, worker, visit, folder)
        while True:
            there: dict[str, Any] = await call(worker, host.look_at_pass, visit)
            await mirror.bring(there["files"])
            if there["code"] is not None:
                return int(there["code"])
            await asyncio.sleep(_FOLLOW)
