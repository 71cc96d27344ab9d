"""One corner of one weight matrix, as Adam moves it: every number of the update written out.

θ_t = θ_{t-1} - α·m̂_t / (√v̂_t + ε), with m̂_t = m_t / (1 - β₁ᵗ) and v̂_t = v_t / (1 - β₂ᵗ)
(Kingma and Ba 2015, algorithm 1; section 5.3 of the paper).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from transformer.config import near
from transformer.run_config import INSPECT
from transformer.training.learner import Learner

CORNER = 16
"""Most rows and columns that are shown."""


class Moments:
    """Follows the first rows and columns of a weight through its updates."""

    def __init__(self, learner: Learner, name: str = INSPECT) -> None:
        """`name` is one of `model.named_parameters()`.

        Raises:
            ValueError: for a name that the model does not have, or one that is no matrix.
        """
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
