"""What a trainer trains: where its batches come from, their loss, looks at it, and what is kept."""

from __future__ import annotations

from typing import Any

from transformer.training.learner import MixedPrecision


class TrainTask:
    """A model with its data, as `Trainer` asks for them; what a task has no use for stays as it is.

    Attributes:
        learner: the exact weights, their working copy and Adam.
        validates: whether `validation_loss` is to be asked every `valid_every` steps.
    """

    learner: MixedPrecision[Any]
    validates = False

    def gradients(self) -> dict[str, float]:
        """Set the exact weights' gradients to those of the next step's loss, and go on.

        Returns:
            "loss" in nats, "tokens", and what else belongs on the step's line of metrics.jsonl.
        """
        raise NotImplementedError

    def before_update(self) -> None:
        """The gradients are set, the weights not yet changed."""

    def look(self, share: float, *, whole: bool) -> dict[str, Any]:
        """Look at the model, if it is time to; what was measured, for metrics.jsonl.

        Args:
            share: of the run that is over, 0 to 1.
            whole: look at everything, whatever it takes: the end of the run.
        """
        return {}

    def validation_loss(self) -> float:
        """Mean negative log-likelihood of a validation token, in nats."""
        raise NotImplementedError

    def rewind(self, step: int) -> None:
        """Forget what was kept after `step`: a resumed run takes those steps again."""

    def keep_weights(self, step: int) -> None:
        """Before the state to resume from is saved. Raises OSError."""

    def save_model(self) -> None:
        """After the state to resume from has been saved. Raises OSError."""
