"""The one error that a visitor reads."""


class JobError(ValueError):
    """A wish that cannot be granted; one sentence says why, and what would be right."""
