"""Jobs on other machines with Dask's scheduler; an optional extra.

The queue remains a local folder: the app claims a job and submits it as a Dask task, with the files
of its folder. An ordinary worker process executes it on the other machine, in a folder of its own;
what it writes is reported to the app five times a second. No disk is shared. If a machine is lost,
only the steps since the last save received are lost; the job is queued again.

`limits.toml` selects it: `executor = "dask"` and `scheduler`. Otherwise this package is never
imported. It may import `jobs`, but no package that builds on `jobs`; only `host.py` runs on the
other machines.
"""

from __future__ import annotations

from collections.abc import Callable

from transformer.cluster.executor import ClusterExecutor
from transformer.jobs.limits import Limits
from transformer.jobs.queue import Queue
from transformer.jobs.worker_pool import Executor


def cluster_executor(limits: Limits) -> Callable[[Queue], Executor]:
    """Return a factory of executors for queues."""
    return lambda queue: ClusterExecutor(queue, limits)
