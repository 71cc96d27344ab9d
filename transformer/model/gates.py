"""Gates that learn to be exactly 0 or 1: the hard concrete distribution (Louizos et al. 2018)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# β, γ and ζ of their section 4.1, and of their program (github.com/AMLab-Amsterdam).
TEMPERATURE, LOW, HIGH = 2 / 3, -0.1, 1.1


class HardConcrete(nn.Module):
    """`count` gates, each with a learned log α; a larger log α means a higher probability of 1.

    A sample is s = σ((log u − log(1 − u) + log α) / β), u uniform, stretched to (γ, ζ) and clipped
    to 0 … 1 (their equations 10 and 11). So many samples are exactly 0 or 1, but log α still has a
    gradient.
    """

    def __init__(self, count: int, log_alpha: float = 2.0) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.full((count,), log_alpha))

    def prob_nonzero(self) -> Float[Tensor, "gate"]:
        """P(z ≠ 0) = σ(log α − β log(−γ/ζ)), the expected L0 norm of each gate (their eq. 12)."""
        return torch.sigmoid(self.log_alpha - TEMPERATURE * math.log(-LOW / HIGH))

    def prob_zero(self) -> Float[Tensor, "gate"]:
        """P(z = 0)."""
        return 1 - self.prob_nonzero()

    def prob_one(self) -> Float[Tensor, "gate"]:
        """P(z = 1) = σ(log α − β log((1 − γ)/(ζ − 1))), the probability that s is clipped to 1."""
        return torch.sigmoid(self.log_alpha - TEMPERATURE * math.log((1 - LOW) / (HIGH - 1)))

    def rounded(self) -> Float[Tensor, "gate"]:
        """Return the more probable of 0 and 1, as Voita et al. 2019, section 6, do after training.
        Since γ is as far below 0 as ζ is above 1, this is 1 where log α is above 0."""
        return (self.prob_one() > self.prob_zero()).to(self.log_alpha.dtype)

    def sample(self, rows: int, generator: torch.Generator) -> Float[Tensor, "rows gate"]:
        """Sample every gate once per row, with gradients. The generator is on the CPU."""
        u = torch.rand(rows, len(self.log_alpha), generator=generator).clamp(1e-6, 1 - 1e-6)
        noise = (u.log() - (1 - u).log()).to(self.log_alpha)
        return _stretch_and_clip(torch.sigmoid((noise + self.log_alpha) / TEMPERATURE))

    def forward(self) -> Float[Tensor, "gate"]:
        """Deterministic gates for evaluation (Louizos et al. 2018, eq. 13): σ(log α), stretched
        and clipped."""
        return _stretch_and_clip(torch.sigmoid(self.log_alpha))


def _stretch_and_clip(s: Tensor) -> Tensor:
    return (s * (HIGH - LOW) + LOW).clamp(0, 1)
