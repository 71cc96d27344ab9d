"""The error whose message is shown to the user."""

from collections.abc import Iterator
from contextlib import contextmanager


class JobError(ValueError):
    """A request cannot be fulfilled; the message says why and what would be right."""


@contextmanager
def as_job_error(problem: str) -> Iterator[None]:
    """Convert an OSError within the block to a JobError for the user."""
    try:
        yield
    except OSError as error:
        raise JobError(f"{problem}: {error.strerror or error}") from error
