"""What runs on a worker of the cluster: the task that executes one job, and reports on the jobs."""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from distributed import Worker, get_worker, secede

from transformer.cluster.folders import (
    Changes,
    read_changes,
    read_stamps,
    write_changes,
)
from transformer.jobs.computation import fingerprint
from transformer.jobs.folder import JobFolder
from transformer.jobs.queue import Kind, Queue
from transformer.jobs.worker_pool import WorkerPool
from transformer.text.files import Stamp, is_free, read_json, write_json

RUN_RESOURCE = "run"
"""The resource that a worker offers, `--resources "run=2"`: the number of concurrent runs."""
_POLL_SECONDS = 0.1


@dataclass
class HostedJob:
    """A job that a local process executes for an app, with the versions of the files that the app
    has received."""

    folder: JobFolder
    sent: dict[str, Stamp]

    def report(self) -> tuple[dict[str, Any], Changes]:
        """Return the state of the job and the files that have changed since the last report."""
        state = self.folder.state()
        changes, self.sent = read_changes(self.folder.path, self.sent)
        return state, changes


_jobs: dict[str, HostedJob] = {}
_pools: dict[Kind, tuple[Queue, WorkerPool]] = {}
_guard = threading.RLock()


def execute(name: str, kind: Kind, files: Changes) -> tuple[dict[str, Any], Changes]:
    """Dask task: execute a job in a process of this machine; return its last report. The job is
    stopped when the app releases the task, or has ended, so that Dask does.

    Args:
        name: unique name of the job.
        files: of its folder, which has the checkpoints that a computation reads.
    """
    worker = get_worker()
    key = worker.get_current_task()
    queue, pool = _workers(kind, worker)
    secede()  # this thread only waits, so it must not block other tasks
    new = queue.add(name, {}, {"turn": 0})
    write_changes(new.path, files)
    if not kind.saves:
        use_own_checkpoints(new.path / "config.json", queue.root / name)
    folder = queue.publish(new)
    job = HostedJob(folder, read_stamps(folder.path))
    with _guard:
        _jobs[name] = job
    pool.wake()
    try:
        while folder.status() in ("queued", "running") or not is_free(folder.lock_path):
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
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


def use_own_checkpoints(config: Path, folder: Path) -> None:
    """Replace the folders of checkpoints in a computation's arguments (`checkpoint_folders`) by
    those in `folder`."""
    values = read_json(config)
    arguments = values["arguments"]
    own_folders = (str(folder / f"checkpoint-{number}") for number in itertools.count())
    if "checkpoint" in arguments:
        arguments["checkpoint"] = next(own_folders)
    if "models" in arguments:
        arguments["models"] = [(next(own_folders), digest) for _, digest in arguments["models"]]
    write_json(config, values)


def report(
    kind: Kind, controls: Mapping[str, Mapping[str, Any]], *, dask_worker: Worker
) -> dict[str, Any]:
    """Return what an app needs to know about this worker, and start its processes for runs.

    Args:
        kind: of the app's jobs.
        controls: content of control.json for each of them.
    """
    _, pool = _workers(kind, dask_worker)
    reports = {}
    with _guard:
        for name in _jobs.keys() & controls.keys():
            job = _jobs[name]
            if asdict(job.folder.control()) != controls[name]:
                job.folder.write_control(**controls[name])
            reports[name] = job.report()
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
