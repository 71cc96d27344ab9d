"""All that takes long: a queue of run folders and warm processes that train them; computations that
pages ask for, in processes of their own."""

from transformer.jobs.computation import Computation
from transformer.jobs.computing import Computing
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
