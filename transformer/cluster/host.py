"""Functions that run on a worker of the cluster, for training runs and computations.

The app calls these functions with the name of a reservation, which is for one run or one
computation. Its files are in one folder, which is deleted when the reservation ends. A reservation
that was not used for `LEASE_SECONDS` ends, since the app must have exited.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Worker, get_worker, secede

from transformer.cluster.folders import (
    Stamp,
    checked_path,
    is_unchanged_or_grown,
    listing,
    read_piece,
    stamp,
    write_piece,
)
from transformer.jobs.computation import LANES, Computation, fingerprint
from transformer.jobs.folder import JobFolder
from transformer.jobs.limits import Limits
from transformer.jobs.processes import LaneProcess
from transformer.jobs.queue import Queue
from transformer.jobs.results import REQUEST, has_ended
from transformer.jobs.worker_pool import WorkerPool
from transformer.text.files import is_free, write_json

RUN_RESOURCE = "run"
"""The resource that a worker offers, `--resources "run=2"`: the number of concurrent runs."""
LEASE_SECONDS = 30.0
"""Seconds after which an unused reservation ends."""
LOCAL_FILES = frozenset({"lock", "job.lock", "job.json", "control.json", "state.json"})
"""Files of a run that are not copied: they stay local or are part of `run_status`."""


@dataclass
class Reservation:
    """One run or one computation on this worker."""

    folder: Path
    last_used: float = field(default_factory=time.monotonic)
    ended: threading.Event = field(default_factory=threading.Event)
    process: LaneProcess | None = None
    code: int | None = None


class Host:
    """All reservations of this worker and the processes that work for them."""

    def __init__(self, root: Path, slots: int) -> None:
        self.root, self.slots = root, slots
        self.queue = Queue(root / "runs")
        self.reservations: dict[str, Reservation] = {}
        self._pools: dict[str, WorkerPool] = {}
        # Dask logs every status call of the app, five a second for each run.
        logging.getLogger("distributed.worker").addFilter(
            lambda record: "out-of-band" not in str(record.msg)
        )

    def folder(self, name: str) -> Path:
        """Return the folder of a reservation. Raises OSError if the reservation has ended."""
        return self.reservation(name).folder

    def reservation(self, name: str) -> Reservation:
        reservation = self.reservations.get(name)
        if reservation is None:
            raise FileNotFoundError(f"there is no reservation {name[:40]!r} on this worker")
        reservation.last_used = time.monotonic()
        return reservation

    def workers(self, limits: Mapping[str, Any], trainer: str) -> WorkerPool:
        """Return the pool of warm processes, one for each slot; started on first use."""
        if trainer not in self._pools:
            worker_limits = Limits(**{**limits, "workers": self.slots})
            pool = WorkerPool(self.queue, worker_limits, trainer, threads=_threads(self.slots))
            pool.start()
            self._pools[trainer] = pool
        return self._pools[trainer]

    def startup_error(self) -> str:
        """Return why its processes cannot start; "" if they can."""
        return next(filter(None, (pool.startup_error() for pool in self._pools.values())), "")


_host: Host | None = None
_guard = threading.Lock()


def host(worker: Worker) -> Host:
    """Return the `Host` of this worker's process, created on first use."""
    global _host
    with _guard:
        if _host is None:
            slots = int(worker.state.total_resources.get(RUN_RESOURCE, 0))
            _host = Host(Path(worker.local_directory) / "heads-up", max(1, slots))
        return _host


def _threads(slots: int) -> int:
    """Return OpenMP threads for each run: Dask sets OMP_NUM_THREADS to 1 unless configured."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return (
        int(setting)
        if setting.isdecimal() and int(setting)
        else max(1, (os.cpu_count() or 1) // slots)
    )


def hold_reservation(name: str) -> None:
    """Dask task that occupies a slot until the reservation ends."""
    this_host = host(get_worker())
    secede()  # this thread only waits, so it must not block other tasks
    reservation = this_host.reservations[name] = Reservation(this_host.root / "visits" / name)
    reservation.folder.mkdir(parents=True, exist_ok=True)
    while not reservation.ended.wait(1.0):
        if time.monotonic() > reservation.last_used + LEASE_SECONDS:
            break
    del this_host.reservations[name]
    if reservation.process is not None:
        reservation.process.kill()
    run = JobFolder(reservation.folder)
    if run.exists:
        run.write_control(command="stop")
        while not is_free(run.lock_path):
            time.sleep(0.1)
    shutil.rmtree(reservation.folder, ignore_errors=True)


def describe(dask_worker: Worker) -> dict[str, Any]:
    """Return the number of slots and the fingerprint of code, torch and numpy versions."""
    return {"code": fingerprint(), "slots": host(dask_worker).slots}


def warm_up(limits: Mapping[str, Any], trainer: str, *, dask_worker: Worker) -> None:
    """Start the worker processes, so that they are warm when a run begins."""
    host(dask_worker).workers(limits, trainer)


def is_ready(name: str, *, dask_worker: Worker) -> bool:
    """Whether the reservation has started and has its slot."""
    return name in host(dask_worker).reservations


def write_file_piece(
    reservation: str, name: str, offset: int, content: bytes, *, dask_worker: Worker
) -> None:
    """Write one piece of a file of a reservation. Raises OSError."""
    write_piece(checked_path(host(dask_worker).folder(reservation), name), offset, content)


def read_file_piece(
    reservation: str, name: str, expected: Stamp, offset: int, *, dask_worker: Worker
) -> bytes | None:
    """Read one piece of a file of a reservation; None if the file has changed since it was listed.
    Raises OSError."""
    path = checked_path(host(dask_worker).folder(reservation), name)
    try:
        return (
            read_piece(path, offset) if is_unchanged_or_grown(name, stamp(path), expected) else None
        )
    except FileNotFoundError:
        return None


def begin_run(
    name: str, limits: Mapping[str, Any], trainer: str, *, dask_worker: Worker
) -> dict[str, Stamp]:
    """Queue the copied run for this worker's processes and return the stamps of its files."""
    this_host = host(dask_worker)
    reservation = this_host.reservation(name)
    run = JobFolder(reservation.folder)
    run.change_job(turn=0)
    run.lock_path.touch()
    run.write_state("queued", "waits for a worker", step=0)
    files = listing(reservation.folder, LOCAL_FILES)
    reservation.folder = reservation.folder.rename(this_host.queue.root / name)
    this_host.workers(limits, trainer).wake()
    return files


def run_status(
    reservation: str, control: Mapping[str, Any] | None, *, dask_worker: Worker
) -> dict[str, Any]:
    """Return a run's state, whether a process holds it, and its files. Raises OSError.

    Args:
        control: new content of control.json, if it has changed.
    """
    this_host = host(dask_worker)
    run = JobFolder(this_host.folder(reservation))
    if control is not None:
        run.write_control(**control)
    state = run.state()
    # Checking a lock takes it for a moment, in which a process that tries to take it fails; so the
    # lock of a queued run is not checked.
    held = state["status"] != "queued" and not is_free(run.lock_path)
    files = listing(run.path, LOCAL_FILES)
    if not held:
        state, files = (
            run.state(),
            listing(run.path, LOCAL_FILES),
        )  # read again: the process may just have ended
    error = this_host.startup_error()
    return {"state": state, "held": held, "files": files, "startup_error": error}


def has_checkpoint(digest: str, *, dask_worker: Worker) -> bool:
    """Whether this worker has the checkpoint from an earlier computation."""
    return _checkpoint(host(dask_worker), digest).is_dir()


def cache_checkpoint(reservation: str, digest: str, *, dask_worker: Worker) -> None:
    """Keep the reservation's folder "checkpoint" for later computations."""
    this_host = host(dask_worker)
    cached = _checkpoint(this_host, digest)
    cached.parent.mkdir(parents=True, exist_ok=True)
    received = this_host.folder(reservation) / "checkpoint"
    try:
        received.rename(cached)
    except OSError:  # another reservation has stored it meanwhile
        shutil.rmtree(received)


def _checkpoint(this_host: Host, digest: str) -> Path:
    return checked_path(this_host.root / "checkpoints", digest)


def begin_computation(
    name: str,
    computation: Mapping[str, Any],
    lane: str,
    limits: Mapping[str, Any],
    *,
    dask_worker: Worker,
) -> None:
    """Start a computation in its own process. Raises OSError.

    Args:
        computation: "function" and "arguments" of a `Computation`.
    """
    this_host = host(dask_worker)
    reservation = this_host.reservation(name)
    arguments = dict(computation["arguments"])
    if "checkpoint" in arguments:
        arguments["checkpoint"] = str(_checkpoint(this_host, arguments["hash"]))
    write_json(reservation.folder / REQUEST, arguments)
    reservation.process = LaneProcess(LANES[lane], Limits(**limits))
    reservation.process.begin(
        reservation.folder, Computation(computation["function"], arguments, lane)
    )
    threading.Thread(target=_wait, args=(reservation, reservation.process), daemon=True).start()


def _wait(reservation: Reservation, process: LaneProcess) -> None:
    code = process.wait()
    reservation.code = 0 if has_ended(reservation.folder) else code
    process.close()


def computation_status(name: str, *, dask_worker: Worker) -> dict[str, Any]:
    """Return the exit code of a computation (None while it runs) and its files. Raises OSError."""
    reservation = host(dask_worker).reservation(name)
    code = reservation.code
    return {"code": code, "files": listing(reservation.folder, frozenset({REQUEST}))}


def end_reservation(name: str, *, dask_worker: Worker) -> None:
    """End a reservation; its folder is deleted when no process uses it."""
    reservation = host(dask_worker).reservations.get(name)
    if reservation is not None:
        reservation.ended.set()
