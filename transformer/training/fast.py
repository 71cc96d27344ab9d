"""What training needs for speed alone, applied to a model from outside.

`python -m benchmarks.training` prints what each part gains.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn


class ByteDropout(nn.Dropout):
    """Dropout by one random byte a number instead of one random float.

    Drawing floats takes 9 % (AMD EPYC) to 29 % of a training step on a CPU. Here eight numbers
    share one 64-bit draw, so the probability is a multiple of 1/256 (0.1 becomes 26/256 = 0.1016;
    255/256 is the most); the scale uses that very probability, so the mean stays exact.
    """

    def forward(self, input: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if not self.training or self.p == 0 or input.device.type != "cpu":
            return super().forward(input)
        return input * byte_mask(input, min(round(self.p * 256), 255))


def byte_mask(x: Float[Tensor, "*shape"], threshold: int) -> Float[Tensor, "*shape"]:
    """0 with probability threshold/256, else 256/(256 - threshold), by torch's global generator."""
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
    words.random_(-(2**63), None)
    drawn = words.view(torch.uint8)[: x.numel()].view(x.shape)
    keep = torch.empty(x.shape, dtype=x.dtype)  # not through bool, which is slower
    return torch.ge(drawn, threshold, out=keep).mul_(256 / (256 - threshold))


def use_byte_dropout(model: nn.Module) -> None:
    """Put `ByteDropout` in the place of every `nn.Dropout` of the model."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, ByteDropout(child.p))
