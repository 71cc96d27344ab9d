"""All that takes long, as two kinds of job over one set of pieces.

Runs train: a queue of folders on disk, from which warm processes take the next that has room
(`queue`, `claims`, `worker`, `worker_pool`). Computations answer what pages ask: lines in memory,
one process for each lane (`computation`, `computation_service`, `lane_queue`, `lane_thread`,
`compute_process`, `results`).

They are not one queue, because they have to survive different things. A run is hours of somebody's
work: its place, its wishes and its last save lie in its folder, a worker claims it with a lock of
its own and saves it although the app is gone, several apps may share the folder, and nobody else
can ask for the same. A computation is a question: whoever asks it again gets the same result, it is
pushed to its process, which may be killed at any time, it is dropped when nobody looks any more,
and a new server starts with empty lines. One engine for both would carry every rule of both.

What they share is written once: whose turn it is and who is refused (`shares`), processes and the
seams for a cluster (`processes`), what a visitor may take (`limits`), sentences (`errors`), locks
(`training.locks`) and whole JSON files (`text.files`).
"""

from transformer.jobs.computation import Computation
from transformer.jobs.computation_service import Computing
from transformer.jobs.errors import JobError
from transformer.jobs.info import RunInfo
from transformer.jobs.jobs import Jobs, runs_folder
from transformer.jobs.limits import Limits, count_parameters
from transformer.jobs.results import Standing

__all__ = [
    "Computation",
    "Computing",
    "JobError",
    "Jobs",
    "Limits",
    "RunInfo",
    "Standing",
    "count_parameters",
    "runs_folder",
]
