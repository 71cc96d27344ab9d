"""The executor of runs that the cluster trains: claims a run, copies it, and follows it."""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from transformer.cluster import host
from transformer.cluster.connection import Connection, LostError
from transformer.cluster.copying import Mirror, send
from transformer.jobs import claims
from transformer.jobs.claims import ClaimedRun
from transformer.jobs.info import queue_order
from transformer.jobs.limits import Limits
from transformer.jobs.queue import Queue

QUEUE_POLL_SECONDS = 2.0  # seconds between two checks for runs queued by another app
STATUS_POLL_SECONDS = 0.2  # seconds between two status calls
SAVE_GRACE_SECONDS = 20.0  # seconds for runs to save when the app ends
MAX_LOST_MACHINES = 3  # after so many lost machines a run fails


class ClusterRuns:
    """Runs a coroutine for each slot on a worker; it trains queued runs until none is left.

    A slot is reserved before a run is claimed, so that the run stays in this app's queue while
    other apps use the cluster's slots.
    """

    def __init__(self, queue: Queue, limits: Limits, connection: Connection, trainer: str) -> None:
        """Store the arguments; `trainer` is "module:function" on the workers."""
        self._queue, self._connection, self._trainer = queue, connection, trainer
        self._limits = {"nice": limits.nice, "memory": limits.memory}
        self._wake_event = asyncio.Event()
        self._started = False
        self._closing = False
        self._slots: dict[asyncio.Task[None], str] = {}  # worker of each task
        self._claimed: dict[str, asyncio.Task[Any] | None] = {}  # by reservation
        self._warmed: set[str] = set()
        self._n_slots = 0
        self._error_message = ""

    def start(self) -> None:
        if not self._started and not self._closing:
            self._started = True
            self._watch_task = self._connection.submit(self._watch_queue())

    def wake(self) -> None:
        self._connection.call_soon(self._wake_event.set)

    def warm_workers(self) -> int:
        return self._n_slots

    def supervised_workers(self) -> Collection[str]:
        return set(self._claimed)

    def startup_error(self) -> str:
        return self._connection.error_message or self._error_message

    def close(self) -> None:
        if self._started and not self._closing:
            self._closing = True
            self._watch_task.cancel()
            with suppress(TimeoutError):
                self._connection.submit(self._end()).result(SAVE_GRACE_SECONDS + 5)

    async def _end(self) -> None:
        """Cancel waiting slots at once; give running ones time to save."""
        for task in self._slots.keys() - self._claimed.values():
            task.cancel()
        if self._slots:
            _, late = await asyncio.wait([*self._slots], timeout=SAVE_GRACE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _watch_queue(self) -> None:
        """Reserve slots while runs are queued."""
        while True:
            self._wake_event.clear()
            try:
                await self._open_slots()
            except LostError as error:
                self._n_slots, self._error_message = 0, str(error)
            except OSError as error:
                self._error_message = f"the runs cannot be read: {error.strerror or error}"
            except Exception as error:  # a bug here must not end the loop: report it and try again
                traceback.print_exc()
                self._error_message = f"the cluster cannot be used: {error}"
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake_event.wait(), QUEUE_POLL_SECONDS)

    async def _open_slots(self) -> None:
        workers = await self._connection.workers()
        for worker in workers.keys() - self._warmed:
            # The first task on a worker takes a second; pay for it before a run is queued.
            async with self._connection.reserve(worker, slot=False):
                await self._connection.call(worker, host.warm_up, self._limits, self._trainer)
        self._warmed = set(workers)
        self._n_slots, self._error_message = sum(workers.values()), ""
        waiting = len(queue_order(await asyncio.to_thread(self._queue.infos)))
        idle = len(self._slots) - len(self._claimed)
        for slot_worker in _free_slots(workers, self._slots.values())[: max(0, waiting - idle)]:
            task = asyncio.create_task(self._use_slot(slot_worker))
            self._slots[task] = slot_worker
            task.add_done_callback(self._slots.pop)

    async def _use_slot(self, worker: str) -> None:
        """Train queued runs one after the other until none is left."""
        with suppress(LostError):
            while not self._closing:
                async with self._connection.reserve(worker, slot=True) as reservation:
                    claim = await self._claim_next(reservation)
                    if claim is None:
                        break
                    await self._train(worker, reservation, claim)
        self.wake()

    async def _claim_next(self, reservation: str) -> ClaimedRun | None:
        """Claim the next queued run. If cancelled meanwhile, release the claim."""
        claiming = asyncio.ensure_future(
            asyncio.to_thread(claims.claim_next_run, self._queue, reservation)
        )
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            if claim := await claiming:
                await self._release(claim, None, interrupted=True)
            raise

    async def _train(self, worker: str, reservation: str, claim: ClaimedRun) -> None:
        """Train the run on the worker and always release the claim."""
        error: Exception | None = None
        interrupted = True
        self._claimed[reservation] = asyncio.current_task()
        try:
            interrupted = await self._follow(worker, reservation, claim)
        except LostError:
            if await self._connection.is_up():
                error = self._count_lost_machine(claim)
                interrupted = error is None
        except Exception as caught:
            traceback.print_exc()
            error, interrupted = caught, False
        finally:
            try:
                await self._release(claim, error, interrupted)
            finally:
                del self._claimed[reservation]

    async def _release(self, claim: ClaimedRun, error: Exception | None, interrupted: bool) -> None:
        """Release the claim in a thread and wait for it even if this task is cancelled, which
        happens when the app ends."""

        def release() -> None:
            with claim.lock, suppress(OSError):  # on a full disk the next check finds the run
                claims.release_run(self._queue, claim, error, interrupted)

        releasing = asyncio.ensure_future(asyncio.to_thread(release))
        try:
            await asyncio.shield(releasing)
        except asyncio.CancelledError:
            await releasing
            raise

    def _count_lost_machine(self, claim: ClaimedRun) -> Exception | None:
        """Count the lost machine, which the run may have caused; return an error after
        `MAX_LOST_MACHINES`."""
        losses = int(claim.folder.job().get("losses", 0)) + 1
        claim.folder.change_job(losses=losses)
        if losses < MAX_LOST_MACHINES:
            return None
        return RuntimeError(
            f"{losses} machines were lost while they trained it; click Resume to try again"
        )

    async def _follow(self, worker: str, reservation: str, claim: ClaimedRun) -> bool:
        """Copy back what the run writes until it ends; return whether to queue it again."""
        call, run_folder = self._connection.call, claim.folder
        await send(self._connection, worker, reservation, run_folder.path)
        files = await call(worker, host.begin_run, reservation, self._limits, self._trainer)
        mirror = Mirror(self._connection, worker, reservation, run_folder.path, files)
        sent_control: dict[str, Any] | None = None
        began = False
        while True:
            control = asdict(run_folder.control()) | ({"command": "pause"} if self._closing else {})
            remote = await call(
                worker, host.run_status, reservation, control if control != sent_control else None
            )
            sent_control, self._error_message = control, remote["startup_error"]
            await mirror.update(remote["files"])
            state, began = remote["state"], began or remote["held"]
            if remote["held"]:  # the process has not yet written its last state
                if state["status"] == "running" and state != run_folder.state():
                    _write_state(claim, state)
            elif state["status"] != "running" and (state["status"] != "queued" or began):
                if state["status"] == "queued" or (self._closing and state["status"] == "paused"):
                    return True  # it was interrupted and did not end by itself
                _write_state(claim, state)
                return False
            await asyncio.sleep(STATUS_POLL_SECONDS)


def _write_state(claim: ClaimedRun, state: Mapping[str, Any]) -> None:
    other_fields = {
        name: value for name, value in state.items() if name not in ("status", "reason")
    }
    claim.folder.write_state(state["status"], str(state.get("reason", "")), **other_fields)


def _free_slots(workers: Mapping[str, int], occupied: Collection[str]) -> list[str]:
    """Return the worker of each free slot; workers with the most free slots come first."""
    remaining = Counter(workers)
    remaining.subtract({name: n for name, n in Counter(occupied).items() if name in workers})
    slots = []
    while remaining and max(remaining.values()) > 0:
        worker = max(remaining, key=lambda name: remaining[name])
        slots.append(worker)
        remaining[worker] -= 1
    return slots
