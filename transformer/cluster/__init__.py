"""Training and measuring on other machines with Dask's scheduler; an optional extra.

The queue stays what it is, a folder at home: a run is claimed here, its files travel to a worker of
the cluster, an ordinary worker of ours trains it there over a folder of its own, and what it writes
comes home file by file, metrics line by line. No disk is shared. A machine that is lost loses
nothing but the steps since the last save that came home; the run waits in line again.

`limits.toml` chooses it: `executor = "dask"` and `scheduler`. Without, this room is never imported.
It may use `jobs` and nothing above; what runs on the other machines is `host.py` alone.
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
    """What makes the executor of `Jobs`; `trainer` is "module:function" on the other machines."""
    return lambda queue, limits: ClusterRuns(queue, limits, _connection(limits), trainer)


def for_lanes(lane: Lane, limits: Limits) -> LaneExecutor:
    """The executor of one of `ComputationService`'s lanes: here, what measures this machine."""
    if lane.local_only:
        return LaneProcess(lane, limits)
    return ClusterLane(lane, limits, _connection(limits))


def _connection(limits: Limits) -> Connection:
    """One for all of this server."""
    return services.shared_service(Connection, limits.scheduler, limits.cluster_keys)
