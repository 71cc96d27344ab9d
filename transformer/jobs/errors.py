"""The one error that a visitor reads."""

from collections.abc import Iterator
from contextlib import contextmanager


class JobError(ValueError):
    """A wish that cannot be granted; one sentence says why, and what would be right."""


@contextmanager
def as_job_error(problem: str) -> Iterator[None]:
    """An OSError within the block becomes a JobError that a visitor can read."""
    try:
        yield
    except OSError as error:
        raise JobError(f"{problem}: {error.strerror or error}") from error
