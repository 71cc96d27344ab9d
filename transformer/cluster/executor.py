"""The executor of jobs on the cluster: claims a job, copies it, and follows it."""

from __future__ import annotations

import asyncio
import random
import traceback
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformer.cluster import host
from transformer.cluster.connection import Connection, LostError
from transformer.cluster.copying import Mirror, send
from transformer.jobs.computation import record_latest
from transformer.jobs.folder import JobFolder
from transformer.jobs.queue import Claim, Queue
from transformer.jobs.worker_pool import UnwrittenStates
from transformer.text.files import read_json
from transformer.training.run_folder import Status

QUEUE_POLL_SECONDS = 2.0  # seconds between two checks for runs queued by another app
STATUS_POLL_SECONDS = 0.2  # seconds between two status calls
SAVE_GRACE_SECONDS = 20.0  # seconds for runs to save when the app ends


class ClusterExecutor:
    """Runs a coroutine for each slot on a worker; it executes queued jobs until none is left.

    A slot is reserved before a run is claimed, so that the run stays in this app's queue while
    other apps use the cluster's slots. Computations need no slot; as many are executed at once as
    the queue's `Kind` says.
    """

    def __init__(self, queue: Queue, connection: Connection) -> None:
        self._queue, self._kind, self._connection = queue, queue.kind, connection
        self._wake_event = asyncio.Event()
        self._started = False
        self._closing = False
        self._slots: dict[asyncio.Task[None], str] = {}  # worker of each task
        self._claimed: dict[str, asyncio.Task[Any] | None] = {}  # by reservation
        self._warmed: set[str] = set()
        self._n_slots = 0
        self._error_message = ""
        self._unwritten: dict[str, tuple[Status, str]] = {}

    def start(self) -> None:
        if not self._started and not self._closing:
            self._started = True
            self._watch_task = self._connection.submit(self._watch_queue())

    def wake(self) -> None:
        self.start()
        self._connection.call_soon(self._wake_event.set)

    def warm_workers(self) -> int:
        return self._n_slots

    def supervised_workers(self) -> Collection[str]:
        return set(self._claimed)

    def startup_error(self) -> str:
        return self._connection.error_message or self._error_message

    def unwritten_states(self) -> UnwrittenStates:
        return dict(self._unwritten)

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
        if self._kind.warm:
            for worker in workers.keys() - self._warmed:
                # The first task on a worker takes a second; pay for it before a run is queued.
                async with self._connection.reserve(worker, slot=False):
                    await self._connection.call(worker, host.warm_up, asdict(self._kind))
            self._warmed = set(workers)
        self._n_slots, self._error_message = sum(workers.values()), ""
        entries = await asyncio.to_thread(self._queue.entries)
        waiting = sum(entry.status == "queued" for entry in entries)
        idle = len(self._slots) - len(self._claimed)
        slots = _free_slots(workers, self._slots.values())
        if not self._kind.saves:
            free = self._kind.processes - len(self._slots)
            slots = random.sample([*workers], min(len(workers), free))
        for slot_worker in slots[: max(0, waiting - idle)]:
            task = asyncio.create_task(self._use_slot(slot_worker))
            self._slots[task] = slot_worker
            task.add_done_callback(self._slots.pop)

    async def _use_slot(self, worker: str) -> None:
        """Execute queued jobs one after the other until none is left."""
        with suppress(LostError):
            while not self._closing:
                async with self._connection.reserve(worker, slot=self._kind.saves) as reservation:
                    claim = await self._claim_next(reservation)
                    if claim is None:
                        break
                    await self._execute(worker, reservation, claim)
        self.wake()

    async def _claim_next(self, reservation: str) -> Claim | None:
        """Claim the next queued job. If cancelled meanwhile, release the claim."""
        claiming = asyncio.ensure_future(asyncio.to_thread(self._queue.claim_next, reservation))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            if claim := await claiming:
                await self._release(claim, None, interrupted=True)
            raise

    async def _execute(self, worker: str, reservation: str, claim: Claim) -> None:
        """Execute the job on the worker and always release the claim."""
        error: Exception | None = None
        interrupted, lost = True, False
        self._claimed[reservation] = asyncio.current_task()
        try:
            interrupted = await self._follow(worker, reservation, claim)
        except LostError:
            lost = await self._connection.is_up()
        except Exception as caught:
            traceback.print_exc()
            error, interrupted = caught, False
        finally:
            try:
                await self._release(claim, error, interrupted, lost=lost)
            finally:
                del self._claimed[reservation]

    async def _release(
        self, claim: Claim, error: Exception | None, interrupted: bool, *, lost: bool = False
    ) -> None:
        """Release the claim in a thread and wait for it even if this task is cancelled, which
        happens when the app ends.

        Args:
            lost: whether its machine was lost, which the job may have caused.
        """
        queue, folder = self._queue, claim.folder

        def release() -> None:
            self._unwritten.pop(folder.name, None)
            with claim.lock:
                try:
                    if lost:
                        with queue.locked():
                            queue.count_loss(folder, "the machine was lost while it ran")
                    else:
                        queue.release(claim, error, interrupted)
                except OSError:  # a full disk: the next check finds the job without a worker
                    if state := queue.final_state(folder, error, interrupted):
                        self._unwritten[folder.name] = state

        releasing = asyncio.ensure_future(asyncio.to_thread(release))
        try:
            await asyncio.shield(releasing)
        except asyncio.CancelledError:
            await releasing
            raise

    async def _send(self, worker: str, reservation: str, folder: JobFolder) -> None:
        """Copy the job, and the checkpoint that a computation reads unless the worker has it."""
        call = self._connection.call
        if not self._kind.saves:
            arguments = read_json(folder.path / "config.json")["arguments"]
            if "checkpoint" in arguments and not await call(
                worker, host.has_checkpoint, arguments["hash"]
            ):
                checkpoint = Path(arguments["checkpoint"])
                await send(self._connection, worker, reservation, checkpoint, under="checkpoint")
                await call(worker, host.cache_checkpoint, reservation, arguments["hash"])
        await send(self._connection, worker, reservation, folder.path)

    async def _follow(self, worker: str, reservation: str, claim: Claim) -> bool:
        """Copy back what the job writes until it ends; return whether to queue it again."""
        call, folder = self._connection.call, claim.folder
        await self._send(worker, reservation, folder)
        files = await call(worker, host.begin, reservation, asdict(self._kind))
        mirror = Mirror(self._connection, worker, reservation, folder.path, files)
        sent_control: dict[str, Any] | None = None
        began = False
        while True:
            if not self._kind.saves and (self._closing or self._is_unwanted(folder)):
                return True
            control = asdict(folder.control()) | ({"command": "pause"} if self._closing else {})
            remote = await call(
                worker, host.status, reservation, control if control != sent_control else None
            )
            sent_control, self._error_message = control, remote["startup_error"]
            complete = await mirror.update(remote["files"])
            state, began = remote["state"], began or remote["held"]
            if remote["held"]:  # the process has not yet written its last state
                if state["status"] == "running" and state != folder.state():
                    _write_state(folder, state)
            elif (
                complete and state["status"] != "running" and (state["status"] != "queued" or began)
            ):
                if state["status"] == "queued" or (self._closing and state["status"] == "paused"):
                    return True  # it was interrupted and did not end by itself
                if not self._kind.saves and state["status"] == "finished":
                    record_latest(folder)
                _write_state(folder, state)
                return False
            await asyncio.sleep(STATUS_POLL_SECONDS)

    def _is_unwanted(self, folder: JobFolder) -> bool:
        """Whether no visitor waits for a computation any more."""
        if self._queue.is_abandoned(folder):
            with self._queue.locked():
                folder.change_job(deleted=True)
        return bool(folder.job().get("deleted"))


def _write_state(folder: JobFolder, state: Mapping[str, Any]) -> None:
    folder.write_state(**{**state, "reason": str(state.get("reason", ""))})


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
