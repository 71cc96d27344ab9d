"""Functions that run on a worker of the cluster.

The app calls these functions with the name of a reservation, which is for one job. Its files are in
one folder, which is deleted when the reservation ends. A reservation that was not used for
`LEASE_SECONDS` ends, since the app must have exited.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from transformer.jobs.computation import fingerprint
from transformer.jobs.folder import JobFolder
from transformer.jobs.queue import Kind, Queue
from transformer.jobs.worker_pool import WorkerPool
from transformer.text.files import is_free, read_json, write_json

RUN_RESOURCE = "run"
"""The resource that a worker offers, `--resources "run=2"`: the number of concurrent runs."""
LEASE_SECONDS = 30.0
"""Seconds after which an unused reservation ends."""
LOCAL_FILES = frozenset({"lock", "job.lock", "job.json", "control.json", "state.json"})
"""Files of a job that are not copied: they stay local or are part of `status`."""


@dataclass
class Reservation:
    """One job on this worker."""

    folder: Path
    last_used: float = field(default_factory=time.monotonic)
    ended: threading.Event = field(default_factory=threading.Event)


class Host:
    """All reservations of this worker and the processes that work for them."""

    def __init__(self, root: Path, slots: int) -> None:
        self.root, self.slots = root, slots
        self.reservations: dict[str, Reservation] = {}
        self._pools: dict[Kind, tuple[Queue, WorkerPool]] = {}
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

    def workers(self, kind: Mapping[str, Any]) -> tuple[Queue, WorkerPool]:
        """Return the queue and the pool of processes for jobs of this kind, one process for each
        slot; those for runs are started on first use."""
        here = Kind(**{**kind, "name": "", "abandoned_after": 0, "threads": _threads(self.slots)})
        here = replace(here, processes=self.slots, warm=self.slots if here.saves else 0)
        if here not in self._pools:
            # Each pool has a folder, so that none claims jobs of another kind or other limits.
            queue = Queue(self.root / "jobs" / str(len(self._pools)), here)
            self._pools[here] = queue, WorkerPool(queue)
            self._pools[here][1].start()
        return self._pools[here]

    def startup_error(self) -> str:
        """Return why its processes cannot start; "" if they can."""
        return next(filter(None, (pool.startup_error() for _, pool in self._pools.values())), "")


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
    job = JobFolder(reservation.folder)
    if job.exists:
        job.change_job(deleted=True)
        job.write_control(command="stop")
        while not is_free(job.lock_path):
            time.sleep(0.1)
    shutil.rmtree(reservation.folder, ignore_errors=True)


def describe(dask_worker: Worker) -> dict[str, Any]:
    """Return the number of slots and the fingerprint of code, torch and numpy versions."""
    return {"code": fingerprint(), "slots": host(dask_worker).slots}


def warm_up(kind: Mapping[str, Any], *, dask_worker: Worker) -> None:
    """Start the worker processes, so that they are warm when a run begins."""
    host(dask_worker).workers(kind)


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


def begin(name: str, kind: Mapping[str, Any], *, dask_worker: Worker) -> dict[str, Stamp]:
    """Queue the copied job for this worker's processes and return the stamps of its files.

    Args:
        kind: the fields of a `Kind`.
    """
    this_host = host(dask_worker)
    reservation = this_host.reservation(name)
    job = JobFolder(reservation.folder)
    if not kind["saves"]:
        config = read_json(job.path / "config.json")
        if "checkpoint" in config["arguments"]:
            checkpoint = _checkpoint(this_host, config["arguments"]["hash"])
            config["arguments"]["checkpoint"] = str(checkpoint)
            write_json(job.path / "config.json", config)
    job.change_job(turn=0)
    job.lock_path.touch()
    job.write_state("queued", "waits for a worker", step=0)
    files = listing(reservation.folder, LOCAL_FILES)
    queue, pool = this_host.workers(kind)
    reservation.folder = reservation.folder.rename(queue.root / name)
    pool.wake()
    return files


def status(
    reservation: str, control: Mapping[str, Any] | None, *, dask_worker: Worker
) -> dict[str, Any]:
    """Return a job's state, whether a process holds it, and its files. Raises OSError.

    Args:
        control: new content of control.json, if it has changed.
    """
    this_host = host(dask_worker)
    job = JobFolder(this_host.folder(reservation))
    if control is not None:
        job.write_control(**control)
    # Checking a lock takes it for a moment, in which a process that tries to take it fails; so the
    # lock of a queued job is not checked.
    held = job.state()["status"] != "queued" and not is_free(job.lock_path)
    # State and files are read after the lock: those of a job that nobody holds are the last ones.
    return {
        "state": job.state(),
        "held": held,
        "files": listing(job.path, LOCAL_FILES),
        "startup_error": this_host.startup_error(),
    }


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


def end_reservation(name: str, *, dask_worker: Worker) -> None:
    """End a reservation; its folder is deleted when no process uses it."""
    reservation = host(dask_worker).reservations.get(name)
    if reservation is not None:
        reservation.ended.set()
