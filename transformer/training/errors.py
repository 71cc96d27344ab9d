"""Errors that end a run early, as sentences for the user."""

from __future__ import annotations


class TrainingError(RuntimeError):
    """Training cannot continue; the message gives the reason and the step."""


def as_training_error(error: Exception, step: int, batch_tokens: int) -> Exception:
    """Return a TrainingError for a full disk or missing memory, else `error` itself."""
    if isinstance(error, OSError):
        return TrainingError(
            f"a file could not be written at step {step} ({error.strerror or error}); once that is "
            "fixed, the same command resumes from the last save"
        )
    if out_of_memory(error):
        return TrainingError(
            f"out of memory at step {step}: lower batch_tokens from {batch_tokens}, or use a "
            "smaller model"
        )
    return error


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python or torch means that memory could not be allocated."""
    memory_messages = ("not enough memory", "can't allocate memory")
    is_torch_error = isinstance(error, RuntimeError) and any(
        message in str(error) for message in memory_messages
    )
    # torch has an error class for GPUs only; compared by name, as importing torch is slow.
    class_names = {cls.__name__ for cls in type(error).__mro__}
    return is_torch_error or not class_names.isdisjoint({"MemoryError", "OutOfMemoryError"})
