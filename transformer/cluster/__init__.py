"""Training and measuring on other machines with Dask's scheduler; an optional extra.

The queue remains a local folder: the app claims a run, copies its files to a worker of the cluster,
and an ordinary worker process trains it there in a folder of its own. What it writes is copied back
file by file, metrics line by line. No disk is shared. If a machine is lost, only the steps since
the last copied save are lost; the run is queued again.

`limits.toml` selects it: `executor = "dask"` and `scheduler`. Otherwise this package is never
imported. It may import `jobs`, but no package that builds on `jobs`; only `host.py` runs on the
other machines.
"""

from __future__ import annotations

from collections.abc import Callable

from transformer.cluster.connection import Connection
from transformer.cluster.lane import ClusterLane
from transformer.cluster.runs import ClusterRuns
from transformer.jobs import services
from transformer.jobs.computation import Lane
from transformer.jobs.limits import Limits
from transformer.jobs.processes import LaneExecutor, LaneProcess, RunExecutor
from transformer.jobs.queue import Queue


def for_runs(trainer: str) -> Callable[[Queue, Limits], RunExecutor]:
    """Return a factory of the executor of `Jobs`; `trainer` is "module:function" on the workers."""
    return lambda queue, limits: ClusterRuns(queue, limits, _connection(limits), trainer)


def for_lanes(lane: Lane, limits: Limits) -> LaneExecutor:
    """Return the executor of a lane of `ComputationService`; local-only lanes stay on this
    machine."""
    if lane.local_only:
        return LaneProcess(lane, limits)
    return ClusterLane(lane, limits, _connection(limits))


def _connection(limits: Limits) -> Connection:
    """Return the one connection of this server, shared by its runs and lanes."""
    return services.shared_service(Connection, limits.scheduler, limits.cluster_keys)
