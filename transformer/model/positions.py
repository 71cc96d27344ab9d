"""Positional encodings (section 3.5): sinusoidal, learned, or none."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer.config import ModelConfig


def sinusoidal(length: int, d_model: int, start: int = 0) -> Float[Tensor, "length d_model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle.

    Sine and cosine of one pair share the exponent 2i/d_model (section 3.5); with 2i+1 in the
    exponent of the cosine, a common misprint, PE(pos+k) = M_k · PE(pos) would not hold. Computed on
    the CPU, in float64, which Apple GPUs do not have.
    """
    position = torch.arange(start, start + length, dtype=torch.float64, device="cpu")[:, None]
    even_dimensions = torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu")
    angle = position * torch.exp(even_dimensions * (-math.log(10000.0) / d_model))
    table = torch.empty(length, d_model, dtype=torch.float64, device="cpu")
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle[:, : d_model // 2])
    return table.float()


class SinusoidalPositions(nn.Module):
    """The closed form: a table up to `max_len`, computed on demand beyond it."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_model = config.d_model
        table = torch.empty(config.max_len, config.d_model)
        if not table.is_meta:  # on "meta" only shapes are needed, so no values are computed
            table = sinusoidal(config.max_len, config.d_model).to(table.device)
        self.register_buffer("table", table, persistent=False)
        self.table: Tensor

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "length d_model"]:
        if start + length <= self.table.shape[0]:
            return self.table[start : start + length]
        # Not stored: a cached model is shared between threads and must not change.
        return sinusoidal(length, self.d_model, start).to(self.table)


class LearnedPositions(nn.Module):
    """One trained vector per position (Table 3, row E), up to `max_len`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.max_len, config.d_model))
        nn.init.normal_(self.weight, std=config.d_model**-0.5)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "length d_model"]:
        """Raises ValueError past the last learned position."""
        if start + length > self.weight.shape[0]:
            raise ValueError(
                f"this model learned {self.weight.shape[0]} positions; "
                f"a sequence of {start + length} tokens needs more"
            )
        return self.weight[start : start + length]


class NoPositions(nn.Module):
    """Zeros: no information about the order of tokens."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.register_buffer("zero", torch.zeros(1, config.d_model), persistent=False)
        self.zero: Tensor

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "length d_model"]:
        return self.zero.expand(length, -1)


POSITIONS: dict[str, type[nn.Module]] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
    "none": NoPositions,
}
