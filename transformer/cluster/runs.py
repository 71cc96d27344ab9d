"""The executor of runs that other machines train: claims here, copies there, and follows."""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from transformer.cluster import host
from transformer.cluster.connection import Connection, LostError
from transformer.cluster.copying import Mirror, send
from transformer.jobs import claims
from transformer.jobs.claims import ClaimedRun
from transformer.jobs.info import queue_order
from transformer.jobs.limits import Limits
from transformer.jobs.queue import Queue

_LOOK = 2.0  # seconds between two looks at the queue, for runs that another app put there
_FOLLOW = 0.2  # seconds between two looks at a run that trains
_GRACE = 20.0  # seconds for the runs to be saved when the app ends
_LOSSES = 3  # of machines, after which a run is not tried again by itself


class ClusterRuns:
    """A coroutine for each place on a worker; it takes runs from the line until none waits.

    A place is asked for before a run is claimed, so that a run that waits for one, because others
    use the cluster too, waits in our line.
    """

    def __init__(self, queue: Queue, limits: Limits, connection: Connection, trainer: str) -> None:
        """Nothing starts yet; `trainer` is "module:function" on the workers."""
        self._queue, self._connection, self._trainer = queue, connection, trainer
        self._limits = {"nice": limits.nice, "memory": limits.memory}
        self._news = asyncio.Event()
        self._started = False
        self._closing = False
        self._places: dict[asyncio.Task[None], str] = {}  # and the worker of each
        self._claimed: dict[str, asyncio.Task[Any] | None] = {}  # by the visit of each run
        self._warmed: set[str] = set()
        self._offered = 0
        self._trouble = ""

    def start(self) -> None:
        if not self._started and not self._closing:
            self._started = True
            self._looking = self._connection.submit(self._look())

    def wake(self) -> None:
        self._connection.soon(self._news.set)

    def warm_workers(self) -> int:
        return self._offered

    def supervised_workers(self) -> Collection[str]:
        return set(self._claimed)

    def startup_error(self) -> str:
        return self._connection.trouble or self._trouble

    def close(self) -> None:
        if self._started and not self._closing:
            self._closing = True
            self._looking.cancel()
            with suppress(TimeoutError):
                self._connection.submit(self._end()).result(_GRACE + 5)

    async def _end(self) -> None:
        """Places that wait are given up at once; runs have time to be saved."""
        for task in self._places.keys() - self._claimed.values():
            task.cancel()
        if self._places:
            _, late = await asyncio.wait([*self._places], timeout=_GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _look(self) -> None:
        """Open places while runs wait."""
        while True:
            self._news.clear()
            try:
                await self._open_places()
            except LostError as error:
                self._offered, self._trouble = 0, str(error)
            except OSError as error:
                self._trouble = f"the runs cannot be read: {error.strerror or error}"
            except Exception as error:  # of ours: said, and tried again, for nobody waits for it
                traceback.print_exc()
                self._trouble = f"the cluster cannot be used: {error}"
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _LOOK)

    async def _open_places(self) -> None:
        workers = await self._connection.workers()
        for new in workers.keys() - self._warmed:
            # The first task that a worker is given takes it a second: better now than then.
            async with self._connection.visit(new, place=False):
                await self._connection.call(new, host.warm, self._limits, self._trainer)
        self._warmed = set(workers)
        self._offered, self._trouble = sum(workers.values()), ""
        waiting = len(queue_order(await asyncio.to_thread(self._queue.infos)))
        idle = len(self._places) - len(self._claimed)
        for worker in _free(workers, self._places.values())[: max(0, waiting - idle)]:
            task = asyncio.create_task(self._have_place(worker))
            self._places[task] = worker
            task.add_done_callback(self._places.pop)

    async def _have_place(self, worker: str) -> None:
        """Train what waits, one after the other, until nothing does."""
        with suppress(LostError):
            while not self._closing:
                async with self._connection.visit(worker, place=True) as visit:
                    claim = await self._take(visit)
                    if claim is None:
                        break
                    await self._train(worker, visit, claim)
        self.wake()

    async def _take(self, visit: str) -> ClaimedRun | None:
        """The next run of the line. A place that is given up meanwhile gives back what it gets."""
        taking = asyncio.ensure_future(asyncio.to_thread(claims.claim_next_run, self._queue, visit))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            if claim := await taking:
                await self._give_back(claim, None, interrupted=True)
            raise

    async def _train(self, worker: str, visit: str, claim: ClaimedRun) -> None:
        """Have the run trained and give it back, whatever happened."""
        error: Exception | None = None
        interrupted = True
        self._claimed[visit] = asyncio.current_task()
        try:
            interrupted = await self._follow(worker, visit, claim)
        except LostError:
            if await self._connection.is_up():
                error = self._lost(claim)
                interrupted = error is None
        except Exception as caught:
            traceback.print_exc()
            error, interrupted = caught, False
        finally:
            try:
                await self._give_back(claim, error, interrupted)
            finally:
                del self._claimed[visit]

    async def _give_back(
        self, claim: ClaimedRun, error: Exception | None, interrupted: bool
    ) -> None:
        """In a thread, and to its end: an app that ends cancels this place meanwhile, and what no
        thread has begun with would never be done."""

        def give() -> None:
            with claim.lock, suppress(OSError):  # of a full disk: the next look finds the run
                claims.release_run(self._queue, claim, error, interrupted)

        giving = asyncio.ensure_future(asyncio.to_thread(give))
        try:
            await asyncio.shield(giving)
        except asyncio.CancelledError:
            await giving
            raise

    def _lost(self, claim: ClaimedRun) -> Exception | None:
        """Count that its machine is gone, which may be the run's own doing; an error if it was
        often enough."""
        losses = int(claim.folder.job().get("losses", 0)) + 1
        claim.folder.change_job(losses=losses)
        if losses < _LOSSES:
            return None
        return RuntimeError(
            f"{losses} machines were lost while they trained it; Resume tries again"
        )

    async def _follow(self, worker: str, visit: str, claim: ClaimedRun) -> bool:
        """Bring home what it writes until it is over; whether it is to wait in line again."""
        call, home = self._connection.call, claim.folder
        await send(self._connection, worker, visit, home.path)
        files = await call(worker, host.begin_run, visit, self._limits, self._trainer)
        mirror = Mirror(self._connection, worker, visit, home.path, files)
        said: dict[str, Any] | None = None
        began = False
        while True:
            wish = home.control().to_dict() | ({"command": "pause"} if self._closing else {})
            there = await call(worker, host.look_at_run, visit, wish if wish != said else None)
            said, self._trouble = wish, there["trouble"]
            await mirror.bring(there["files"])
            state, began = there["state"], began or there["held"]
            if there["held"]:  # how it ended, its worker has yet to say
                if state["status"] == "running" and state != home.state():
                    _write(claim, state)
            elif state["status"] != "running" and (state["status"] != "queued" or began):
                if state["status"] == "queued" or (self._closing and state["status"] == "paused"):
                    return True  # not the run's own end
                _write(claim, state)
                return False
            await asyncio.sleep(_FOLLOW)


def _write(claim: ClaimedRun, state: Mapping[str, Any]) -> None:
    more = {name: value for name, value in state.items() if name not in ("status", "reason")}
    claim.folder.write_state(state["status"], str(state.get("reason", "")), **more)


def _free(workers: Mapping[str, int], taken: Collection[str]) -> list[str]:
    """Every free place by its worker; the workers with the most of them come first."""
    left = Counter(workers)
    left.subtract({one: n for one, n in Counter(taken).items() if one in workers})
    found = []
    while left and max(left.values()) > 0:
        worker = max(left, key=lambda one: left[one])
        found.append(worker)
        left[worker] -= 1
    return found
