"""Who trains and measures for this server: processes of this machine, or those of a cluster."""

from __future__ import annotations

from collections.abc import Callable

from transformer.jobs.computation import Lane
from transformer.jobs.jobs import TRAINER
from transformer.jobs.limits import Limits
from transformer.jobs.processes import LaneExecutor, LaneProcess, RunExecutor
from transformer.jobs.queue import Queue

_LACKING = (
    'limits.toml: executor = "dask" needs what comes with the extra: '
    'pip install "heads-up[cluster]", or pip install -r requirements-cluster.txt'
)


def for_runs(limits: Limits) -> Callable[[Queue, Limits], RunExecutor] | None:
    """What makes the executor of `Jobs`; None: its own.

    Raises:
        ValueError: if the extra is lacking.
    """
    if not limits.executor:
        return None
    try:
        from transformer.cluster import for_runs
    except ImportError as error:
        raise ValueError(_LACKING) from error
    return for_runs(TRAINER)


def for_lanes(limits: Limits) -> Callable[[Lane, Limits], LaneExecutor]:
    """What makes the executors of `Computing`. Raises ValueError if the extra is lacking."""
    if not limits.executor:
        return LaneProcess
    try:
        from transformer.cluster import for_lanes
    except ImportError as error:
        raise ValueError(_LACKING) from error
    return for_lanes
