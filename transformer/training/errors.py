"""What ends a run that should go on, as a sentence for the user."""

from __future__ import annotations


class TrainingError(RuntimeError):
    """Training cannot go on; one sentence says why and at which step."""


def as_training_error(error: Exception, step: int, batch_tokens: int) -> Exception:
    """A TrainingError where the machine is what failed, a full disk or memory; else `error`."""
    if isinstance(error, OSError):
        return TrainingError(
            f"a file could not be written at step {step} ({error.strerror or error}); once it can, "
            "the same command goes on from the last save"
        )
    if out_of_memory(error):
        return TrainingError(
            f"the memory was not enough at step {step}: lower batch_tokens from {batch_tokens}, or "
            "take a smaller model"
        )
    return error


def out_of_memory(error: BaseException) -> bool:
    """Whether Python, or torch on a CPU (which has no class for it) or a GPU, found no room."""
    said = ("not enough memory", "can't allocate memory")
    torchs = isinstance(error, RuntimeError) and any(words in str(error) for words in said)
    names = {kind.__name__ for kind in type(error).__mro__}  # torch's, without a wait for torch
    return torchs or not names.isdisjoint({"MemoryError", "OutOfMemoryError"})
