"""The layer types of Table 1 (section 4), and gated recurrent ones; each maps n vectors of width d
to n vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from transformer.config import ModelConfig
from transformer.model.attention import MultiHeadAttention, attention_weights, merge_heads

Vectors = Float[Tensor, "batch n d"]


@dataclass(frozen=True)
class LayerConfig:
    """Sizes of one layer; each layer ignores the sizes that it does not use.

    Attributes:
        d: width of the vectors, in and out.
        k: kernel size of the convolution; odd, because the kernel is centred on a position.
        r: size of the neighbourhood of restricted self-attention; odd for the same reason.
        dilation: distance between neighbouring inputs of the kernel; 1 is contiguous.
        n_heads: of both kinds of attention; the number of operations does not depend on it.
    """

    d: int
    k: int = 3
    r: int = 5
    dilation: int = 1
    n_heads: int = 1

    def __post_init__(self) -> None:
        for name in ("d", "k", "r", "dilation", "n_heads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("k", "r"):
            if getattr(self, name) % 2 == 0:
                raise ValueError(
                    f"{name} must be odd, not {getattr(self, name)}: it is centred on a position"
                )

    @property
    def attention(self) -> ModelConfig:
        """Return these sizes as the config that `MultiHeadAttention` expects."""
        return ModelConfig(vocab_size=4, d_model=self.d, n_heads=self.n_heads, n_layers=1)


class SelfAttention(nn.Module):
    """Self-attention (section 3.2) that stores all n² weights. Fused kernels would save this
    memory, but no multiplications."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.attention)

    def forward(self, x: Vectors) -> Vectors:
        query, key, value = self.attention.project(x, x)
        weights = attention_weights(self.attention.score(query, key), None)
        return functional.linear(merge_heads(weights @ value), self.attention.w_o)


class Recurrent(nn.Module):
    """h_t = tanh(x_t W + h_{t−1} U + b), h_0 = 0: one step after the other (Elman 1990)."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(config.d, config.d))
        self.u = nn.Parameter(torch.empty(config.d, config.d))
        self.b = nn.Parameter(torch.zeros(config.d))
        nn.init.xavier_uniform_(self.w)
        # An orthogonal U neither amplifies nor damps the state, which helps over long distances.
        nn.init.orthogonal_(self.u)

    def forward(self, x: Vectors) -> Vectors:
        # The product with W is computed for all positions at once; only U is sequential.
        inputs = functional.linear(x, self.w.T, self.b)
        state, states = torch.zeros_like(inputs[:, 0]), []
        # `unbind` once, because the gradient of every single slice would have all n positions.
        for step in inputs.unbind(dim=1):
            state = torch.tanh(torch.addmm(step, state, self.u))
            states.append(state)
        return torch.stack(states, dim=1)


class Convolutional(nn.Module):
    """Convolution over k positions, `dilation` apart; zeros beyond the ends."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(
            config.d,
            config.d,
            config.k,
            dilation=config.dilation,
            padding=config.dilation * (config.k // 2),
        )

    def forward(self, x: Vectors) -> Vectors:
        return self.convolution(x.transpose(1, 2)).transpose(1, 2)  # type: ignore[no-any-return]


class RestrictedAttention(nn.Module):
    """Self-attention to the r positions around each, in r·n·d instead of n²·d (section 4). Its
    weights are those of `SelfAttention`, so that one can be loaded into the other."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.attention)
        self.r = config.r

    def forward(self, x: Vectors) -> Vectors:
        query, key, value = self.attention.project(x, x)
        scores = query.unsqueeze(-2) @ self._around(key) * self.attention.score.scale
        weights = attention_weights(scores.squeeze(-2), self._inside(x.shape[1], x.device))
        heads = self._around(value) @ weights.unsqueeze(-1)
        return functional.linear(merge_heads(heads.squeeze(-1)), self.attention.w_o)

    def _around(
        self, vectors: Float[Tensor, "batch heads n d_k"]
    ) -> Float[Tensor, "batch heads n d_k {self.r}"]:
        """Return the r vectors around each position; zeros beyond the ends, which are masked."""
        half = self.r // 2
        return functional.pad(vectors, (0, 0, half, half)).unfold(2, self.r, 1)

    def _inside(self, n: int, device: torch.device) -> Bool[Tensor, "n {self.r}"]:
        """Return whether each neighbour of each position exists."""
        half = self.r // 2
        exists = torch.ones(n, dtype=torch.bool, device=device)
        return functional.pad(exists, (half, half)).unfold(0, self.r, 1)


TABLE1_LAYERS: dict[str, type[nn.Module]] = {
    "self-attention": SelfAttention,
    "recurrent": Recurrent,
    "convolutional": Convolutional,
    "restricted": RestrictedAttention,
}
"""In the order of Table 1; each is created from a `LayerConfig`."""


def layer_stack(name: str, config: LayerConfig, n_layers: int) -> list[nn.Module]:
    """Return layers for a stack: one of `TABLE1_LAYERS`, or "dilated", a stack of dilated
    convolutions.

    The dilation of layer i (from 0) of "dilated" is mⁱ times that of the configuration, with m =
    (k+1)/2: 1, 2, 4 … for k = 3, as in ByteNet (Kalchbrenner et al. 2016). Every distance is then a
    sum of one step per layer, all in the same direction: its digits in base m. With dilations kⁱ
    some distances need steps in both directions (63 = 81 − 27 + 9), and such a path may lead beyond
    the ends of the sequence. Raises ValueError for an unknown name.
    """
    if name == "dilated":
        return [
            Convolutional(replace(config, dilation=config.dilation * (config.k // 2 + 1) ** layer))
            for layer in range(n_layers)
        ]
    if name not in TABLE1_LAYERS:
        raise ValueError(
            f"There is no layer {name!r}; the layers are {', '.join(TABLE1_LAYERS)} and dilated."
        )
    return [TABLE1_LAYERS[name](config) for _ in range(n_layers)]


class GatedRecurrent(nn.Module):
    """Base class of LSTM and GRU (section 1): `blocks` matrices W for the input x, as many U for
    the state, and biases b.

    As in `Recurrent`, the product with W is computed for all positions at once; initialization is
    the same.
    """

    def __init__(self, config: LayerConfig, blocks: int = 1) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(blocks * config.d, config.d))
        self.u = nn.Parameter(torch.empty(blocks * config.d, config.d))
        self.b = nn.Parameter(torch.zeros(blocks * config.d))
        for w, u in zip(self.w.chunk(blocks), self.u.chunk(blocks), strict=True):
            nn.init.xavier_uniform_(w)
            nn.init.orthogonal_(u)

    def project_inputs(self, x: Vectors) -> tuple[Tensor, ...]:
        """Return x_t W + b of every position."""
        return functional.linear(x, self.w, self.b).unbind(dim=1)


class Lstm(GatedRecurrent):
    """c_t = f ⊙ c_{t−1} + i ⊙ g, h_t = o ⊙ tanh(c_t): a memory with input and forget gates.

    i, f, o = σ(x_t W + h_{t−1} U + b) and g = tanh of the same (Hochreiter and Schmidhuber 1997;
    the forget gate f is from Gers et al. 2000). The bias of f is initialized to 1, so that the
    memory is kept at first.
    """

    def __init__(self, config: LayerConfig) -> None:
        super().__init__(config, blocks=4)
        with torch.no_grad():
            self.b[config.d : 2 * config.d] = 1.0

    def forward(self, x: Vectors) -> Vectors:
        cell = state = torch.zeros_like(x[:, 0])
        states = []
        for step in self.project_inputs(x):
            total = torch.addmm(step, state, self.u.T)
            i, f, g, o = total.chunk(4, dim=-1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            state = o.sigmoid() * cell.tanh()
            states.append(state)
        return torch.stack(states, dim=1)


class Gru(GatedRecurrent):
    """h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}: one gate mixes old and new state.

    r, z = σ(x_t W + h_{t−1} U + b), n = tanh(x_t W_n + b_n + r ⊙ (h_{t−1} U_n)) (Cho et al. 2014,
    where r is inside the product; here, as in PyTorch, it is outside, for one product per step).
    """

    def __init__(self, config: LayerConfig) -> None:
        super().__init__(config, blocks=3)

    def forward(self, x: Vectors) -> Vectors:
        state = torch.zeros_like(x[:, 0])
        states = []
        for step in self.project_inputs(x):
            input_r, input_z, input_n = step.chunk(3, dim=-1)
            state_r, state_z, state_n = (state @ self.u.T).chunk(3, dim=-1)
            reset, keep = (input_r + state_r).sigmoid(), (input_z + state_z).sigmoid()
            candidate = torch.tanh(input_n + reset * state_n)
            state = candidate + keep * (state - candidate)
            states.append(state)
        return torch.stack(states, dim=1)


GATED: dict[str, type[GatedRecurrent]] = {"lstm": Lstm, "gru": Gru}
"""Gated layers by the name that a `Tagger` takes, in addition to those of `layer_stack`."""
