"""What happens on a worker of the cluster: an ordinary worker of ours over a folder of its own.

The app calls these functions there, each with a visit: a word that stands for one run or one
measurement. Everything of a visit lies in one folder, which goes when the visit ends; a visit that
nobody has looked at for `LEASE` seconds ends by itself, for its app is gone.
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
from transformer.text.files import write_json
from transformer.training.locks import is_free

RUN_RESOURCE = "run"
"""The resource that a worker offers, `--resources "run=2"`: how many runs train there at once."""
LEASE_SECONDS = 30.0
"""Seconds for which a visit goes on without a look."""
LOCAL_FILES = frozenset({"lock", "job.lock", "job.json", "control.json", "state.json"})
"""Files of a run that stay where they are, or travel with a look."""


@dataclass
class Reservation:
    """One run or one measurement that is guest here."""

    folder: Path
    last_used: float = field(default_factory=time.monotonic)
    ended: threading.Event = field(default_factory=threading.Event)
    process: LaneProcess | None = None
    code: int | None = None


class Host:
    """All visits of this worker, and the processes that work for them."""

    def __init__(self, root: Path, slots: int) -> None:
        self.root, self.slots = root, slots
        self.queue = Queue(root / "runs")
        self.reservations: dict[str, Reservation] = {}
        self._pools: dict[str, WorkerPool] = {}
        # Dask notes every look of the app, five a second for each run.
        logging.getLogger("distributed.worker").addFilter(
            lambda record: "out-of-band" not in str(record.msg)
        )

    def folder(self, name: str) -> Path:
        """Where its files are put until it begins. Raises OSError for a visit that has ended."""
        return self.reservation(name).folder

    def reservation(self, name: str) -> Reservation:
        reservation = self.reservations.get(name)
        if reservation is None:
            raise FileNotFoundError(f"there is no visit {name[:40]!r} here")
        reservation.last_used = time.monotonic()
        return reservation

    def workers(self, limits: Mapping[str, Any], trainer: str) -> WorkerPool:
        """Warm processes for as many runs as there are places."""
        if trainer not in self._pools:
            worker_limits = Limits(**{**limits, "workers": self.slots})
            pool = WorkerPool(self.queue, worker_limits, trainer, threads=_threads(self.slots))
            pool.start()
            self._pools[trainer] = pool
        return self._pools[trainer]

    def startup_error(self) -> str:
        """Why none of its processes starts, or nothing."""
        return next(filter(None, (pool.startup_error() for pool in self._pools.values())), "")


_host: Host | None = None
_guard = threading.Lock()


def host(worker: Worker) -> Host:
    """The one of this worker's process, made when it is first asked for."""
    global _host
    with _guard:
        if _host is None:
            slots = int(worker.state.total_resources.get(RUN_RESOURCE, 0))
            _host = Host(Path(worker.local_directory) / "heads-up", max(1, slots))
        return _host


def _threads(slots: int) -> int:
    """Dask gives a worker's process one thread of OpenMP unless its settings say otherwise."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return (
        int(setting)
        if setting.isdecimal() and int(setting)
        else max(1, (os.cpu_count() or 1) // slots)
    )


def hold_reservation(name: str) -> None:
    """The task by which Dask knows of a visit, and counts its place: lasts until it ends."""
    this_host = host(get_worker())
    secede()  # the thread that waits here keeps no other task waiting
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
    """What tells whether it computes what the app would: its version of code, torch and numpy."""
    return {"code": fingerprint(), "slots": host(dask_worker).slots}


def warm_up(limits: Mapping[str, Any], trainer: str, *, dask_worker: Worker) -> None:
    """Start its processes, so that they are warm when a run comes."""
    host(dask_worker).workers(limits, trainer)


def is_ready(name: str, *, dask_worker: Worker) -> bool:
    """Whether its place is free and kept for it."""
    return name in host(dask_worker).reservations


def write_file_piece(
    reservation: str, name: str, offset: int, content: bytes, *, dask_worker: Worker
) -> None:
    """One piece of one of its files. Raises OSError."""
    write_piece(checked_path(host(dask_worker).folder(reservation), name), offset, content)


def read_file_piece(
    reservation: str, name: str, expected: Stamp, offset: int, *, dask_worker: Worker
) -> bytes | None:
    """One piece of one of its files; None if it is not the file that was listed any more. Raises
    OSError."""
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
    """Put the run in the line of this worker's own processes; its files as they came."""
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
    """How a run stands: its state, whether a process has it, and its files. Raises OSError.

    Args:
        control: what its owner wishes, if that has changed.
    """
    this_host = host(dask_worker)
    run = JobFolder(this_host.folder(reservation))
    if control is not None:
        run.write_control(**control)
    state = run.state()
    # To look whether a lock is free takes it for a moment, in which a process that wants it fails:
    # one that waits in line is left alone.
    held = state["status"] != "queued" and not is_free(run.lock_path)
    files = listing(run.path, LOCAL_FILES)
    if not held:
        state, files = run.state(), listing(run.path, LOCAL_FILES)  # as whoever had it left them
    error = this_host.startup_error()
    return {"state": state, "held": held, "files": files, "startup_error": error}


def has_checkpoint(digest: str, *, dask_worker: Worker) -> bool:
    """Whether an earlier measurement has brought it."""
    return _checkpoint(host(dask_worker), digest).is_dir()


def cache_checkpoint(reservation: str, digest: str, *, dask_worker: Worker) -> None:
    """The visit's folder "checkpoint" is kept for others that ask about the same."""
    this_host = host(dask_worker)
    cached = _checkpoint(this_host, digest)
    cached.parent.mkdir(parents=True, exist_ok=True)
    received = this_host.folder(reservation) / "checkpoint"
    try:
        received.rename(cached)
    except OSError:  # another has brought it meanwhile
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
    """Compute in a process of its own. Raises OSError.

    Args:
        what: "function", "arguments" and "file" of a `Computation`.
    """
    this_host = host(dask_worker)
    reservation = this_host.reservation(name)
    arguments = dict(computation["arguments"])
    if "checkpoint" in arguments:
        arguments["checkpoint"] = str(_checkpoint(this_host, arguments["hash"]))
    if computation["file"]:
        arguments["file"] = str(checked_path(reservation.folder, computation["file"]))
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
    """How a measurement stands: how it ended, None until then, and its files. Raises OSError."""
    reservation = host(dask_worker).reservation(name)
    code = reservation.code
    return {"code": code, "files": listing(reservation.folder, frozenset({REQUEST}))}


def end_reservation(name: str, *, dask_worker: Worker) -> None:
    """The visit is over; its folder goes when nothing works in it any more."""
    reservation = host(dask_worker).reservations.get(name)
    if reservation is not None:
        reservation.ended.set()
