"""What runs on a worker of the cluster: the task that executes one job, and reports on the jobs."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from distributed import Worker, get_worker, secede

from transformer.cluster.folders import (
    Changes,
    Stamp,
    checkpoint_folders,
    read_changes,
    read_stamps,
    with_checkpoints,
    write_changes,
)
from transformer.jobs.computation import fingerprint
from transformer.jobs.folder import JobFolder
from transformer.jobs.queue import Kind, Queue
from transformer.jobs.worker_pool import WorkerPool
from transformer.text.files import is_free, read_json, write_json

RUN_RESOURCE = "run"
"""The resource that a worker offers, `--resources "run=2"`: the number of concurrent runs."""
LEASE_SECONDS = 30.0
"""Seconds after which a job is stopped that no app asks for: the app must have exited."""
_POLL_SECONDS = 0.1


@dataclass
class HostedJob:
    """A job that a local process executes for an app, with the versions of the files that the app
    has received."""

    folder: JobFolder
    sent: dict[str, Stamp]
    last_asked: float = field(default_factory=time.monotonic)

    def report(self) -> tuple[dict[str, Any], Changes]:
        """Return the state of the job and the files that have changed since the last report."""
        self.last_asked = time.monotonic()
        state = self.folder.state()
        changes, self.sent = read_changes(self.folder.path, self.sent)
        return state, changes


_jobs: dict[str, HostedJob] = {}
_pools: dict[Kind, tuple[Queue, WorkerPool]] = {}
_guard = threading.RLock()


def execute(name: str, kind: Kind, files: Changes) -> tuple[dict[str, Any], Changes]:
    """Dask task: execute a job in a process of this machine; return its last report.

    Args:
        name: unique name of the job; its beginning names the app.
        files: of its folder, which has the checkpoints that a computation reads.
    """
    queue, pool = _workers(kind, get_worker())
    secede()  # this thread only waits, so it must not block other tasks
    new = queue.add(name, {}, {"turn": 0})
    write_changes(new.path, files)
    if not kind.saves:
        config = read_json(new.path / "config.json")
        count = len(checkpoint_folders(config["arguments"]))
        here = [str(queue.root / name / f"checkpoint-{number}") for number in range(count)]
        config["arguments"] = with_checkpoints(config["arguments"], here)
        write_json(new.path / "config.json", config)
    folder = queue.publish(new)
    job = HostedJob(folder, read_stamps(folder.path))
    with _guard:
        _jobs[name] = job
    pool.wake()
    try:
        while folder.status() in ("queued", "running") or not is_free(folder.lock_path):
            if time.monotonic() > job.last_asked + LEASE_SECONDS:
                with queue.locked():
                    queue.discard(folder)
            time.sleep(_POLL_SECONDS)
    finally:
        with _guard:
            del _jobs[name]
    if not folder.exists:  # discarded
        return {}, {}
    last_report = job.report()
    queue.remove(folder)
    return last_report


def report(
    app: str, kind: Kind, controls: Mapping[str, Mapping[str, Any]], *, dask_worker: Worker
) -> dict[str, Any]:
    """Return what an app needs to know about this worker, and start its processes for runs.

    Args:
        app: beginning of the names of the app's jobs.
        kind: of these jobs.
        controls: content of control.json for each job; the app's other jobs are stopped.
    """
    queue, pool = _workers(kind, dask_worker)
    reports = {}
    with _guard:
        for name, job in _jobs.items():
            if name in controls:
                if asdict(job.folder.control()) != controls[name]:
                    job.folder.write_control(**controls[name])
                reports[name] = job.report()
            elif name.startswith(app):
                with queue.locked():
                    queue.discard(job.folder)
    return {
        "code": fingerprint(),
        "slots": _slots(dask_worker),
        "error": pool.startup_error(),
        "jobs": reports,
    }


def _slots(worker: Worker) -> int:
    return int(worker.state.total_resources.get(RUN_RESOURCE, 0))


def _workers(kind: Kind, worker: Worker) -> tuple[Queue, WorkerPool]:
    """Return the queue and the pool of processes for jobs of this kind, one process for each
    slot; those for runs are started on first use."""
    with _guard:
        if kind not in _pools:
            slots = max(1, _slots(worker))
            here = replace(kind, name="", abandoned_after=0, threads=_threads(slots))
            here = replace(here, processes=slots, warm=slots if kind.saves else 0)
            # Each pool has a folder, so that none claims jobs of another kind or other limits.
            root = Path(worker.local_directory) / "heads-up" / str(len(_pools))
            queue = Queue(root, here)
            _pools[kind] = queue, WorkerPool(queue)
            _pools[kind][1].start()
            # Dask logs every report, five a second.
            logging.getLogger("distributed.worker").addFilter(
                lambda record: "out-of-band" not in str(record.msg)
            )
        return _pools[kind]


def _threads(slots: int) -> int:
    """Return OpenMP threads for each run: Dask sets OMP_NUM_THREADS to 1 unless configured."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdecimal() and int(setting):
        return int(setting)
    return max(1, (os.cpu_count() or 1) // slots)
