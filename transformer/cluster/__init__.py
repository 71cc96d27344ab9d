"""Jobs on other machines with Dask's scheduler; an optional extra.

The queue remains a local folder: the app claims a job, copies its files to a worker of the cluster,
and an ordinary worker process executes it there in a folder of its own. What it writes is copied
back file by file, metrics line by line. No disk is shared. If a machine is lost, only the steps
since the last copied save are lost; the job is queued again.

`limits.toml` selects it: `executor = "dask"` and `scheduler`. Otherwise this package is never
imported. It may import `jobs`, but no package that builds on `jobs`; only `host.py` runs on the
other machines.
"""

from __future__ import annotations

from collections.abc import Callable

from transformer.cluster.connection import Connection
from transformer.cluster.executor import ClusterExecutor
from transformer.jobs import services
from transformer.jobs.limits import Limits
from transformer.jobs.queue import Queue
from transformer.jobs.worker_pool import Executor, WorkerPool


def cluster_executor(limits: Limits) -> Callable[[Queue], Executor]:
    """Return a factory of executors for queues; jobs that measure this machine stay here. All share
    one connection."""

    def make(queue: Queue) -> Executor:
        if queue.kind.local_only:
            return WorkerPool(queue)
        connection = services.shared_service(Connection, limits.scheduler, limits.cluster_keys)
        return ClusterExecutor(queue, connection)

    return make
