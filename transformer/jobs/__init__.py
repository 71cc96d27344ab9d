"""Live training: a queue of run folders, and warm processes that train them."""

from transformer.jobs.errors import JobError
from transformer.jobs.info import RunInfo
from transformer.jobs.jobs import Jobs, runs_folder
from transformer.jobs.limits import Limits, count_parameters

__all__ = ["JobError", "Jobs", "Limits", "RunInfo", "count_parameters", "runs_folder"]
