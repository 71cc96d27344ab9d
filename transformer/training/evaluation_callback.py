"""Looks at a model while it learns: often at first, then more seldom, and never for long."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer.config import near
from transformer.run_config import INSPECT
from transformer.text import Vocabulary
from transformer.text.files import atomic_path
from transformer.training.evaluator import Evaluator, ProbeSet
from transformer.training.learner import Learner
from transformer.training.run import RunFolder

LOOKS = 40  # over the whole run, besides the dense ones at its beginning
DENSE = 64  # up to this step every power of two
SHARE = 0.15  # of a run's time that looks may take
GRACE = 0.2  # seconds of looks before that is counted
CORNER = 16  # most rows and columns of a matrix that are shown


class EvaluationCallback:
    """Writes snapshots/, examples.jsonl and inspect.json; gives figures for metrics.jsonl.

    A look has two parts. Seeing (snapshots, examples, moments) is cheap and comes at steps 0, 1,
    2, 4, 8, … 64 and then 40 times over the run. Measuring (accuracies, BLEU, AER) is dearer and
    begins after the dense steps. Each waits for a later step if it would bring the time of all
    looks above 15% of the run's. Nothing here changes what the run learns.
    """

    def __init__(
        self,
        run: RunFolder,
        learner: Learner,
        vocabulary: Vocabulary,
        probe_set: ProbeSet,
        *,
        resumed: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.run, self.clock = run, clock
        self.evaluator = Evaluator(learner.model, vocabulary, probe_set)
        self.moments = Moments(learner, probe_set.inspect) if probe_set.inspect else None
        self.spent = 0.0
        self._price: dict[str, float] = {}  # seconds of the fastest so far
        self._cold = {"see", "measure"}  # the first of each says nothing of the next
        # Share of the run at which the next look is due; unknown until a resumed run goes on.
        self._next = -1.0 if resumed else 0.0
        self._due = {"see": False, "measure": False}

    def before_update(self) -> None:
        """To be called before every step."""
        if self.moments:
            self.moments.before_update()

    def look(
        self, step: int, share: float, elapsed: float, *, whole: bool = False
    ) -> dict[str, Any]:
        """Look, if it is time to; what was measured, if it was.

        Args:
            step: steps taken so far.
            share: of the run that is over, 0 to 1.
            elapsed: seconds of training so far, those of looks counted.
            whole: look at everything, whatever it takes: the end of the run.
        """
        if self._next < 0:  # what there was to see here was seen before the run ended
            self._next = _after(share)
        elif share >= self._next:
            self._next = _after(share)
            self._due = {"see": True, "measure": self._due["measure"] or step > 0}
        elif step <= DENSE and step & (step - 1) == 0:
            self._due["see"] = True
        if whole or self._allowed("see", elapsed):
            self._timed("see", lambda: self._see(step))
        elif self._due["see"]:  # measuring waits for it, else it would take all the time there is
            return {}
        if whole or self._allowed("measure", elapsed):
            return self._timed("measure", lambda: self.evaluator.measure(whole=whole))
        return {}

    def _allowed(self, part: str, elapsed: float) -> bool:
        would = self.spent + self._price.get(part, 0.0)
        return self._due[part] and would <= GRACE + SHARE * elapsed

    def _timed(self, part: str, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        began = self.clock()
        found = act()
        seconds = self.clock() - began
        if part in self._cold:
            self._cold.remove(part)
        else:
            self._price[part] = min(seconds, self._price.get(part, seconds))
        self.spent += seconds
        self._due[part] = False
        return found

    def _see(self, step: int) -> dict[str, Any]:
        run = self.run
        labels = run.snapshots_path / "labels.json"
        if not labels.is_file():
            with atomic_path(labels) as temporary:
                temporary.write_text(json.dumps(self.evaluator.labels()) + "\n", encoding="utf-8")
        with (
            atomic_path(run.snapshots_path / f"{step:08d}.npz") as temporary,
            temporary.open("wb") as file,
        ):
            np.savez(file, **self.evaluator.attention())  # type: ignore[arg-type]
        run.append_examples(step, self.evaluator.examples())
        if self.moments and (update := self.moments.after_update()):
            with atomic_path(run.inspect_path) as temporary:
                temporary.write_text(json.dumps(update) + "\n", encoding="utf-8")
        return {}


def _after(share: float) -> float:
    """The next of the shares at which looks are due."""
    return (int(share * LOOKS + 1e-9) + 1) / LOOKS


class Moments:
    """Follows the first rows and columns of a weight through its updates, as Adam makes them.

    θ_t = θ_{t-1} - α·m̂_t / (√v̂_t + ε), with m̂_t = m_t / (1 - β₁ᵗ) and v̂_t = v_t / (1 - β₂ᵗ)
    (Kingma and Ba 2015, algorithm 1; section 5.3 of the paper).
    """

    def __init__(self, learner: Learner, name: str = INSPECT) -> None:
        """`name` is one of `model.named_parameters()`. Raises ValueError for a name that the model
        does not have, or one that is no matrix."""
        weights = {n: p for n, p in learner.model.named_parameters() if p.dim() == 2}
        if name not in weights:
            raise ValueError(f"the model has no matrix {name!r}{near(name, weights)}")
        self.learner, self.name, self.weight = learner, name, weights[name]
        self._before = self._corner(self.weight)

    def _corner(self, matrix: Tensor) -> Tensor:
        return matrix.detach()[:CORNER, :CORNER].to("cpu", torch.float64, copy=True)

    def before_update(self) -> None:
        """Keep the weights as they are; call it before every step that may be shown."""
        self._before = self._corner(self.weight)

    def after_update(self) -> dict[str, Any]:
        """The last update: matrices as lists of rows, in float64; empty before the first.

        Keys: name, shape (of the whole matrix), t, learning_rate, beta1, beta2, epsilon; before
        (θ_{t-1}), value (θ_t), gradient (clipped, as Adam saw it), m, v, m_hat, v_hat and step,
        which was taken from `before`.
        """
        adam = self.learner.adam
        state = adam.state.get(self.weight)
        if not state or self.weight.grad is None:
            return {}
        group = adam.param_groups[0]
        (beta1, beta2), epsilon, rate = group["betas"], group["eps"], group["lr"]
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
            "step": rate * m_hat / (v_hat.sqrt() + epsilon),
        }
        return {
            "name": self.name,
            "shape": list(self.weight.shape),
            "t": t,
            "learning_rate": rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
            **{key: matrix.tolist() for key, matrix in matrices.items()},
        }
