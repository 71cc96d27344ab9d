"""Evaluations of a model during training: at fixed steps, frequent at first."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from transformer.config import did_you_mean
from transformer.text import Vocabulary
from transformer.training.evaluator import Evaluator, ProbeSet
from transformer.training.learner import Learner
from transformer.training.run_config import INSPECT
from transformer.training.run_folder import RunFolder

N_EVALUATIONS = 40  # evenly spaced over the run, besides those up to DENSE_STEPS
DENSE_STEPS = 64  # up to this step, every power of two is evaluated
MAX_TIME_SHARE = 0.15  # fraction of the time that evaluations of a run with a time limit may take
FREE_SECONDS = 0.2  # evaluation time that is always allowed
MAX_CORNER = 16  # maximum number of rows and columns of the inspected matrix


class EvaluationCallback:
    """Writes snapshots/, examples.jsonl and inspect.json; returns figures for metrics.jsonl.

    An evaluation has two parts. The snapshot (attention, examples, Adam's moments) is cheap and due
    at steps 0, 1, 2, 4, 8, … 64 and then 40 times over the run. The measurement (accuracies, BLEU,
    AER) is slower and due only at those 40, or every `measure_every` steps. In a run with a time
    limit, an evaluation is postponed while the time of all evaluations is above 15% of the run's;
    otherwise runs with different seeds are evaluated at the same steps. Evaluations do not change
    what is learned.
    """

    def __init__(
        self,
        run: RunFolder,
        learner: Learner,
        vocabulary: Vocabulary,
        probe_set: ProbeSet,
        *,
        resumed: bool = False,
        measure_every: int = 0,
        time_limited: bool = False,
    ) -> None:
        """
        Args:
            measure_every: steps between two measurements; 0 means 40 of them over the run.
            time_limited: whether evaluations may take only `MAX_TIME_SHARE` of the time.
        """
        self.run, self.clock = run, time.monotonic
        self.measure_every, self.time_limited = measure_every, time_limited
        self.evaluator = Evaluator(learner.model, vocabulary, probe_set)
        self.moments = Moments(learner, probe_set.inspect) if probe_set.inspect else None
        self.seconds_spent = 0.0
        # Progress at which the next evaluation is due; unknown until a resumed run continues.
        self._next_due = -1.0 if resumed else 0.0
        self._snapshot_due = self._measure_due = False

    def before_update(self) -> None:
        """Record the weights before a step; call it before every update."""
        if self.moments:
            self.moments.before_update()

    def evaluate_if_due(
        self, step: int, progress: float, elapsed: float, *, final: bool = False
    ) -> dict[str, Any]:
        """Evaluate the model if that is due; return the measured figures, or an empty dict.

        Args:
            step: steps taken so far.
            progress: completed fraction of the run, 0 to 1.
            elapsed: seconds of training so far, including evaluations.
            final: evaluate everything regardless of time, at the end of the run.
        """
        if self._next_due < 0:  # resumed: this step was evaluated before the interruption
            self._next_due = _next_due_progress(progress)
        else:
            is_due = progress >= self._next_due
            if is_due:
                self._next_due = _next_due_progress(progress)
            if is_due or (step <= DENSE_STEPS and step & (step - 1) == 0):
                self._snapshot_due = True
            if self.measure_every:
                is_due = step % self.measure_every == 0
            if is_due and step:
                self._measure_due = True
        budget = FREE_SECONDS + MAX_TIME_SHARE * elapsed
        if self.time_limited and self.seconds_spent > budget and not final:
            return {}
        began, figures = self.clock(), {}
        if self._snapshot_due or final:
            self._write_snapshot(step)
        if self._measure_due or final:
            figures = self.evaluator.measure(full=final)
        self._snapshot_due = self._measure_due = False
        self.seconds_spent += self.clock() - began
        return figures

    def _write_snapshot(self, step: int) -> None:
        evaluator = self.evaluator
        self.run.write_snapshot(step, evaluator.attention(), evaluator.labels())
        self.run.append_examples(step, evaluator.examples())
        if self.moments and (update := self.moments.after_update()):
            self.run.write_inspect(update)


def _next_due_progress(progress: float) -> float:
    """Return the next multiple of 1/N_EVALUATIONS above `progress`."""
    return (int(progress * N_EVALUATIONS + 1e-9) + 1) / N_EVALUATIONS


class Moments:
    """Records Adam's updates of the first rows and columns of a weight matrix.

    θ_t = θ_{t-1} - α·m̂_t / (√v̂_t + ε), with m̂_t = m_t / (1 - β₁ᵗ) and v̂_t = v_t / (1 - β₂ᵗ)
    (Kingma and Ba 2015, algorithm 1; section 5.3 of the paper).
    """

    def __init__(self, learner: Learner, name: str = INSPECT) -> None:
        """`name` is one of `model.named_parameters()`. Raises ValueError for an unknown name or a
        parameter that is not a matrix."""
        weights = {n: p for n, p in learner.model.named_parameters() if p.dim() == 2}
        if name not in weights:
            raise ValueError(f"the model has no matrix {name!r}{did_you_mean(name, weights)}")
        self.learner, self.name, self.weight = learner, name, weights[name]
        self._before = self._corner(self.weight)

    def _corner(self, matrix: Tensor) -> Tensor:
        return matrix.detach()[:MAX_CORNER, :MAX_CORNER].to("cpu", torch.float64, copy=True)

    def before_update(self) -> None:
        """Record the weights; call it before every step whose update may be shown."""
        self._before = self._corner(self.weight)

    def after_update(self) -> dict[str, Any]:
        """Return the last update, with matrices as lists of rows; empty before the first step.

        Keys: name, shape (of the full matrix), t, learning_rate, beta1, beta2, epsilon,
        weight_decay; before
        (θ_{t-1}), value (θ_t), gradient (after clipping), m, v, m_hat, v_hat, and step, where
        value = before - step. Matrices are float64.
        """
        adam = self.learner.adam
        state = adam.state.get(self.weight)
        if not state or self.weight.grad is None:
            return {}
        group = adam.param_groups[0]
        (beta1, beta2), epsilon, rate = group["betas"], group["eps"], group["lr"]
        decay = group["weight_decay"]
        t = int(state["step"])
        m, v = self._corner(state["exp_avg"]), self._corner(state["exp_avg_sq"])
        m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
        matrices = {
            "before": self._before,
            "value": self._corner(self.weight),
            "gradient": self._corner(self.weight.grad),
            "m": m,
            "v": v,
            "m_hat": m_hat,
            "v_hat": v_hat,
            "step": rate * (m_hat / (v_hat.sqrt() + epsilon) + decay * self._before),
        }
        return {
            "name": self.name,
            "shape": list(self.weight.shape),
            "t": t,
            "learning_rate": rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
            "weight_decay": decay,
            **{key: matrix.tolist() for key, matrix in matrices.items()},
        }
