"""Long work: jobs as folders in one kind of queue, and the workers that claim them.

A job is a folder with its settings, state, lock, progress and result (`folder`). A queue decides
which one is next, fairly between visitors (`queue`, `shares`). A pool of processes claims jobs,
executes them and writes how they end (`worker_pool`, `fork_server`, `worker`);
`transformer.cluster` does the same on other machines.

There are two kinds of jobs. A run trains a model, saves, and continues from its last save when it
was interrupted (`jobs`, `info`). A computation answers a page and has no saves, so it starts again;
it is dropped when no page asks for it any more (`computation`). Equal requests share one job.
"""

from transformer.jobs.computation import Computation, ComputationService, ComputationStatus
from transformer.jobs.errors import JobError
from transformer.jobs.info import RunInfo
from transformer.jobs.jobs import Jobs, runs_folder
from transformer.jobs.limits import Limits, count_parameters

__all__ = [
    "Computation",
    "ComputationService",
    "ComputationStatus",
    "JobError",
    "Jobs",
    "Limits",
    "RunInfo",
    "count_parameters",
    "runs_folder",
]
