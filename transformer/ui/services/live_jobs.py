"""The training queue and the computations of this server, shared by all its sessions."""

from __future__ import annotations

import os
from collections.abc import Callable

from transformer.jobs import (
    ComputationService,
    JobError,
    Jobs,
    Limits,
    RunInfo,
    runs_folder,
)
from transformer.jobs.limits import LIMITS_VARIABLE, machine_memory
from transformer.jobs.queue import Queue
from transformer.jobs.worker_pool import Executor, WorkerPool
from transformer.training.run_config import TrainingRun
from transformer.ui.base import state, visitor
from transformer.ui.services import live_classes, models, shared

MIN_MEMORY_FOR_WARM_WORKERS = 2_000_000_000
"""Bytes of memory from which workers are started in advance; two take 280 MB. On a smaller
machine the first run waits a few seconds for its worker."""


def jobs() -> Jobs:
    """Return the server's jobs; start workers in advance if there is enough memory.

    Raises:
        ValueError: if limits.toml or the folder of runs cannot be used.
    """
    service = _shared_jobs()
    if shared.shared_service(_has_memory_for_warm_workers):
        service.start()
    return service


def _has_memory_for_warm_workers() -> bool:
    return machine_memory() >= MIN_MEMORY_FOR_WARM_WORKERS


def resume_runs() -> None:
    """Start workers at the server's start if an earlier server left queued or running runs (its
    workers may still be saving). Raises ValueError, see `jobs`."""
    service = _shared_jobs()
    if any(info.status in ("queued", "running") for info in service.runs()):
        service.start()


def _shared_jobs() -> Jobs:
    settings = str(runs_folder()), os.environ.get(LIMITS_VARIABLE, ""), str(models.shipped_folder())
    return shared.shared_service(_new_jobs, *settings)


def _new_jobs(folder: str, limits: str, shipped: str) -> Jobs:
    """Create the jobs. When this process ends, a pipe closes, and workers save and exit."""
    allowed = Limits.load(limits or None)
    return Jobs(folder, allowed, executor=_executor(allowed), shipped=shipped)


def start_run(config: TrainingRun, pairs: bytes = b"", open_run: str = "") -> None:
    """Queue a run of this visitor, or join an equal one, and open its page; for callbacks.

    Args:
        pairs: the visitor's sentence pairs, for a run on them.
        open_run: the run on the page, so that the second click of a double click is ignored.

    Raises JobError if a limit is exceeded or the data are invalid.
    """
    if state.page_view().run != open_run:
        return  # a double click
    name = jobs().submit(
        config,
        visitor.current_id(),
        pairs,
        address=visitor.address_hash(),
        first=live_classes.is_teacher(),
        reuse=True,
    )
    state.change(run=name, form="")


def run_info(name: str) -> RunInfo:
    """Return the status of one run.

    Raises:
        JobError: if there is no such run, or this visitor may not see it.
    """
    info = jobs().run(name)
    if not info.visible_to(visitor.current_id()):
        raise JobError("this run trains on its owner's sentences and is not shared")
    return info


def runs() -> list[RunInfo]:
    """Return all runs that this visitor may see, newest first. Raises JobError."""
    return [info for info in jobs().runs() if info.visible_to(visitor.current_id())]


def computation_service() -> ComputationService:
    """Return the server's computations.

    Raises:
        JobError: (a ValueError) if the folder of runs cannot be used.
        ValueError: if limits.toml cannot be used.
    """
    return shared.shared_service(
        _new_computation_service, str(runs_folder()), os.environ.get(LIMITS_VARIABLE, "")
    )


def _new_computation_service(folder: str, limits: str) -> ComputationService:
    allowed = Limits.load(limits or None)
    return ComputationService(folder, allowed, executor=_executor(allowed))


def _executor(limits: Limits) -> Callable[[Queue], Executor]:
    """Return what creates the executor of a queue: processes of this machine, or a cluster.

    Raises:
        ValueError: if the extra is not installed.
    """
    if not limits.executor:
        return WorkerPool
    try:
        from transformer.cluster import cluster_executor
    except ImportError as error:
        raise ValueError(
            'limits.toml: executor = "dask" needs the optional extra: pip install '
            '"heads-up[cluster]", or pip install -r requirements-cluster.txt'
        ) from error
    return cluster_executor(limits)
