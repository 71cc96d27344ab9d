"""Long-running work: the training queue, its workers, and computations with progress and results.

Two kinds of job share the code of this package. Runs train a model: they are folders on disk,
queued, and claimed by worker processes (`queue`, `claims`, `worker`, `worker_pool`). Computations
answer a page: they wait in memory, with one process for each lane (`computation`,
`computation_service`, `lane_queue`, `lane_thread`, `compute_process`, `results`).

They have separate queues because they survive different events. A run may take hours: its position
in the queue, its settings and its last save are in its folder; a worker holds a lock on it and
saves it even if the app has ended; several apps may share the folder. A computation can be
repeated: equal requests share one result, its process may be killed at any time, it is dropped when
no page waits for it, and a new server starts with empty lanes.
"""

from transformer.jobs.computation import Computation
from transformer.jobs.computation_service import ComputationService
from transformer.jobs.errors import JobError
from transformer.jobs.info import RunInfo
from transformer.jobs.jobs import Jobs, runs_folder
from transformer.jobs.limits import Limits, count_parameters
from transformer.jobs.results import ComputationStatus

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
