"""Live training: a queue of run folders, and warm processes that train them; passes over a corpus,
in processes of their own."""

from transformer.jobs.errors import JobError
from transformer.jobs.info import RunInfo
from transformer.jobs.jobs import Jobs, runs_folder
from transformer.jobs.limits import Limits, count_parameters
from transformer.jobs.pass_files import Pass
from transformer.jobs.passes import Passes

__all__ = [
    "JobError",
    "Jobs",
    "Limits",
    "Pass",
    "Passes",
    "RunInfo",
    "count_parameters",
    "runs_folder",
]
