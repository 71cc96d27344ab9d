"""The recurrent layers that came before attention (section 1), for the race beside Table 1's."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from transformer.model.rivals import RivalConfig, Vectors


class Gated(nn.Module):
    """What both have: `blocks` matrices W that read x, as many U that read the state, and b.

    W reads all positions at once, and only U has to wait, as in `rivals.Recurrent`; both begin as
    they do there.
    """

    def __init__(self, config: RivalConfig, blocks: int = 1) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(blocks * config.d, config.d))
        self.u = nn.Parameter(torch.empty(blocks * config.d, config.d))
        self.b = nn.Parameter(torch.zeros(blocks * config.d))
        for w, u in zip(self.w.chunk(blocks), self.u.chunk(blocks), strict=True):
            nn.init.xavier_uniform_(w)
            nn.init.orthogonal_(u)

    def read(self, x: Vectors) -> tuple[Tensor, ...]:
        """x_t W + b of every position, one after the other."""
        return functional.linear(x, self.w, self.b).unbind(dim=1)


class Lstm(Gated):
    """c_t = f ⊙ c_{t−1} + i ⊙ g, h_t = o ⊙ tanh(c_t): a memory that gates write and wipe.

    i, f, o = σ(x_t W + h_{t−1} U + b) and g = tanh of the same (Hochreiter and Schmidhuber 1997;
    the forget gate f is from Gers et al. 2000). b of f begins at 1: it keeps what it has.
    """

    def __init__(self, config: RivalConfig) -> None:
        super().__init__(config, blocks=4)
        with torch.no_grad():
            self.b[config.d : 2 * config.d] = 1.0

    def forward(self, x: Vectors) -> Vectors:
        cell = state = torch.zeros_like(x[:, 0])
        states = []
        for step in self.read(x):
            total = torch.addmm(step, state, self.u.T)
            i, f, g, o = total.chunk(4, dim=-1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            state = o.sigmoid() * cell.tanh()
            states.append(state)
        return torch.stack(states, dim=1)


class Gru(Gated):
    """h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}: one gate decides what is kept and what is new.

    r, z = σ(x_t W + h_{t−1} U + b), n = tanh(x_t W_n + b_n + r ⊙ (h_{t−1} U_n)) (Cho et al. 2014,
    where r stands inside the product; here, as in PyTorch, outside, which is one product a step).
    """

    def __init__(self, config: RivalConfig) -> None:
        super().__init__(config, blocks=3)

    def forward(self, x: Vectors) -> Vectors:
        state = torch.zeros_like(x[:, 0])
        states = []
        for step in self.read(x):
            for_r, for_z, for_n = step.chunk(3, dim=-1)
            by_r, by_z, by_n = (state @ self.u.T).chunk(3, dim=-1)
            reset, keep = (for_r + by_r).sigmoid(), (for_z + by_z).sigmoid()
            new = torch.tanh(for_n + reset * by_n)
            state = new + keep * (state - new)
            states.append(state)
        return torch.stack(states, dim=1)


GATED: dict[str, type[Gated]] = {"lstm": Lstm, "gru": Gru}
"""By the names that a `Tagger` takes, beside those of `rivals.stack`."""
