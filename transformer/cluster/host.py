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

from transformer.cluster.folders import Stamp, follows, inside, listing, piece, put, stamp
from transformer.jobs.computation import LANES, Computation, fingerprint
from transformer.jobs.folder import JobFolder
from transformer.jobs.limits import Limits
from transformer.jobs.processes import LaneProcess
from transformer.jobs.queue import Queue
from transformer.jobs.results import REQUEST, has_ended
from transformer.jobs.worker_pool import WorkerPool
from transformer.text.files import write_json
from transformer.training.locks import is_free

PLACE = "run"
"""The resource that a worker offers, `--resources "run=2"`: how many runs train there at once."""
LEASE = 30.0
"""Seconds for which a visit goes on without a look."""
OURS = frozenset({"lock", "job.lock", "job.json", "control.json", "state.json"})
"""Files of a run that stay where they are, or travel with a look."""


@dataclass
class Visit:
    """One run or one measurement that is guest here."""

    folder: Path
    looked: float = field(default_factory=time.monotonic)
    over: threading.Event = field(default_factory=threading.Event)
    process: LaneProcess | None = None
    code: int | None = None


class Host:
    """All visits of this worker, and the processes that work for them."""

    def __init__(self, root: Path, places: int) -> None:
        self.root, self.places = root, places
        self.queue = Queue(root / "runs")
        self.visits: dict[str, Visit] = {}
        self._workers: dict[str, WorkerPool] = {}
        # Dask notes every look of the app, five a second for each run.
        logging.getLogger("distributed.worker").addFilter(
            lambda record: "out-of-band" not in str(record.msg)
        )

    def folder(self, visit: str) -> Path:
        """Where its files are put until it begins. Raises OSError for a visit that has ended."""
        return self.visit(visit).folder

    def visit(self, name: str) -> Visit:
        found = self.visits.get(name)
        if found is None:
            raise FileNotFoundError(f"there is no visit {name[:40]!r} here")
        found.looked = time.monotonic()
        return found

    def workers(self, limits: Mapping[str, Any], trainer: str) -> WorkerPool:
        """Warm processes for as many runs as there are places."""
        if trainer not in self._workers:
            given = Limits(**{**limits, "workers": self.places})
            made = WorkerPool(self.queue, given, trainer, threads=_threads(self.places))
            made.start()
            self._workers[trainer] = made
        return self._workers[trainer]

    def trouble(self) -> str:
        """Why none of its processes starts, or nothing."""
        return next(filter(None, (one.startup_error() for one in self._workers.values())), "")


_host: Host | None = None
_guard = threading.Lock()


def host(worker: Worker) -> Host:
    """The one of this worker's process, made when it is first asked for."""
    global _host
    with _guard:
        if _host is None:
            places = int(worker.state.total_resources.get(PLACE, 0))
            _host = Host(Path(worker.local_directory) / "heads-up", max(1, places))
        return _host


def _threads(places: int) -> int:
    """Dask gives a worker's process one thread of OpenMP unless its settings say otherwise."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else max(1, (os.cpu_count() or 1) // places)


def hold(visit: str) -> None:
    """The task by which Dask knows of a visit, and counts its place: lasts until it ends."""
    here = host(get_worker())
    secede()  # the thread that waits here keeps no other task waiting
    kept = here.visits[visit] = Visit(here.root / "visits" / visit)
    kept.folder.mkdir(parents=True, exist_ok=True)
    while not kept.over.wait(1.0):
        if time.monotonic() > kept.looked + LEASE:
            break
    del here.visits[visit]
    if kept.process is not None:
        kept.process.kill()
    left = JobFolder(kept.folder)
    if left.exists:
        left.write_control(command="stop")
        while not is_free(left.lock_path):
            time.sleep(0.1)
    shutil.rmtree(kept.folder, ignore_errors=True)


def about(dask_worker: Worker) -> dict[str, Any]:
    """What tells whether it computes what the app would: its version of code, torch and numpy."""
    return {"code": fingerprint(), "places": host(dask_worker).places}


def warm(limits: Mapping[str, Any], trainer: str, *, dask_worker: Worker) -> None:
    """Start its processes, so that they are warm when a run comes."""
    host(dask_worker).workers(limits, trainer)


def is_ready(visit: str, *, dask_worker: Worker) -> bool:
    """Whether its place is free and kept for it."""
    return visit in host(dask_worker).visits


def write(visit: str, name: str, offset: int, content: bytes, *, dask_worker: Worker) -> None:
    """One piece of one of its files. Raises OSError."""
    put(inside(host(dask_worker).folder(visit), name), offset, content)


def read(visit: str, name: str, known: Stamp, offset: int, *, dask_worker: Worker) -> bytes | None:
    """One piece of one of its files; None if it is not the file that was listed any more. Raises
    OSError."""
    path = inside(host(dask_worker).folder(visit), name)
    try:
        return piece(path, offset) if follows(name, stamp(path), known) else None
    except FileNotFoundError:
        return None


def begin_run(
    visit: str, limits: Mapping[str, Any], trainer: str, *, dask_worker: Worker
) -> dict[str, Stamp]:
    """Put the run in the line of this worker's own processes; its files as they came."""
    here = host(dask_worker)
    kept = here.visit(visit)
    run = JobFolder(kept.folder)
    run.change_job(turn=0)
    run.lock_path.touch()
    run.write_state("queued", "waits for a worker", step=0)
    found = listing(kept.folder, OURS)
    kept.folder = kept.folder.rename(here.queue.root / visit)
    here.workers(limits, trainer).wake()
    return found


def look_at_run(
    visit: str, control: Mapping[str, Any] | None, *, dask_worker: Worker
) -> dict[str, Any]:
    """How a run stands: its state, whether a process has it, and its files. Raises OSError.

    Args:
        control: what its owner wishes, if that has changed.
    """
    here = host(dask_worker)
    run = JobFolder(here.folder(visit))
    if control is not None:
        run.write_control(**control)
    state = run.state()
    # To look whether a lock is free takes it for a moment, in which a process that wants it fails:
    # one that waits in line is left alone.
    held = state["status"] != "queued" and not is_free(run.lock_path)
    files = listing(run.path, OURS)
    if not held:
        state, files = run.state(), listing(run.path, OURS)  # as whoever had it left them
    return {"state": state, "held": held, "files": files, "trouble": here.trouble()}


def has_checkpoint(digest: str, *, dask_worker: Worker) -> bool:
    """Whether an earlier measurement has brought it."""
    return _checkpoint(host(dask_worker), digest).is_dir()


def keep_checkpoint(visit: str, digest: str, *, dask_worker: Worker) -> None:
    """The visit's folder "checkpoint" is kept for others that ask about the same."""
    here = host(dask_worker)
    kept = _checkpoint(here, digest)
    kept.parent.mkdir(parents=True, exist_ok=True)
    brought = here.folder(visit) / "checkpoint"
    try:
        brought.rename(kept)
    except OSError:  # another has brought it meanwhile
        shutil.rmtree(brought)


def _checkpoint(here: Host, digest: str) -> Path:
    return inside(here.root / "checkpoints", digest)


def begin_pass(
    visit: str,
    what: Mapping[str, Any],
    lane: str,
    limits: Mapping[str, Any],
    *,
    dask_worker: Worker,
) -> None:
    """Compute in a process of its own. Raises OSError.

    Args:
        what: "function", "given" and "file" of a `Computation`.
    """
    here = host(dask_worker)
    kept = here.visit(visit)
    given = dict(what["given"])
    if "checkpoint" in given:
        given["checkpoint"] = str(_checkpoint(here, given["hash"]))
    if what["file"]:
        given["file"] = str(inside(kept.folder, what["file"]))
    write_json(kept.folder / REQUEST, given)
    kept.process = LaneProcess(LANES[lane], Limits(**limits))
    kept.process.begin(kept.folder, Computation(what["function"], given, lane))
    threading.Thread(target=_wait, args=(kept, kept.process), daemon=True).start()


def _wait(kept: Visit, process: LaneProcess) -> None:
    code = process.wait()
    kept.code = 0 if has_ended(kept.folder) else code
    process.close()


def look_at_pass(visit: str, *, dask_worker: Worker) -> dict[str, Any]:
    """How a measurement stands: how it ended, None until then, and its files. Raises OSError."""
    kept = host(dask_worker).visit(visit)
    code = kept.code
    return {"code": code, "files": listing(kept.folder, frozenset({REQUEST}))}


def leave(visit: str, *, dask_worker: Worker) -> None:
    """The visit is over; its folder goes when nothing works in it any more."""
    found = host(dask_worker).visits.get(visit)
    if found is not None:
        found.over.set()
