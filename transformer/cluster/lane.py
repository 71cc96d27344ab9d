"""The executor of a lane whose computations run on the cluster: findings, heads."""

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

STATUS_POLL_SECONDS = 0.2  # seconds between two status calls
MAX_TRIES = 2  # machines to try if one is lost
_KILLED = -9


class ClusterLane:
    """A `LaneExecutor`: runs one computation at a time."""

    def __init__(self, lane: Lane, limits: Limits, connection: Connection) -> None:
        [self._name] = [name for name, candidate in LANES.items() if candidate == lane]
        self._limits = {"nice": limits.nice, "memory": limits.memory}
        self._connection = connection
        self._future: concurrent.futures.Future[int] | None = None

    def begin(self, folder: Path, computation: Computation) -> None:
        self._future = self._connection.submit(self._compute(folder, computation))

    def wait(self) -> int:
        assert self._future
        try:
            return self._future.result()
        except concurrent.futures.CancelledError:
            return _KILLED

    def kill(self) -> None:
        if self._future is not None:
            self._future.cancel()

    def close(self) -> None:
        self.kill()

    async def _compute(self, folder: Path, computation: Computation) -> int:
        """Return the exit code; if a machine is lost, try another one."""
        for _ in range(MAX_TRIES):
            try:
                return await self._compute_on_worker(folder, computation)
            except LostError:
                reason = self._connection.error_message
        reason = reason or "the machine that computed it was lost"
        write_json(folder / FAILED, {"reason": f"{reason}; try again"})
        return EXIT_FAILED

    async def _compute_on_worker(self, folder: Path, computation: Computation) -> int:
        workers = await self._connection.workers()
        if not workers:
            raise LostError(self._connection.error_message)
        worker = random.choice([*workers])
        async with self._connection.reserve(worker, slot=False) as reservation:
            return await self._follow(folder, computation, worker, reservation)

    async def _follow(
        self, folder: Path, computation: Computation, worker: str, reservation: str
    ) -> int:
        call = self._connection.call
        if "checkpoint" in computation.arguments:
            digest, path = computation.arguments["hash"], Path(computation.arguments["checkpoint"])
            if not await call(worker, host.has_checkpoint, digest):
                await send(self._connection, worker, reservation, path, under="checkpoint")
                await call(worker, host.cache_checkpoint, reservation, digest)
        request = {
            "function": computation.function,
            "arguments": dict(computation.arguments),
        }
        await call(worker, host.begin_computation, reservation, request, self._name, self._limits)
        mirror = Mirror(self._connection, worker, reservation, folder)
        while True:
            remote: dict[str, Any] = await call(worker, host.computation_status, reservation)
            await mirror.update(remote["files"])
            if remote["code"] is not None:
                return int(remote["code"])
            await asyncio.sleep(STATUS_POLL_SECONDS)
