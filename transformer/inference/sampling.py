"""Drawing the next token: temperature, top-k and top-p, each output with numbers of its own."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.inference.options import Decoding


def new_seed() -> int:
    """From the operating system; the global generators of torch and Python stay as they are."""
    return secrets.randbits(31)


def narrowed(
    logits: Float[Tensor, "rows vocab"], options: Decoding
) -> tuple[Float[Tensor, "rows kept"], Int[Tensor, "rows kept"]]:
    """The probabilities that are drawn from, largest first, and their ids.

    Temperature divides the logits; top-k keeps the k largest; top-p (Holtzman et al. 2020) then
    keeps the fewest whose probabilities sum to at least p. What is left is made to sum to 1.
    """
    k = min(options.top_k or logits.shape[-1], logits.shape[-1])
    largest = (logits / (options.temperature or 1.0)).topk(k, dim=-1)
    shares = largest.values.double().softmax(dim=-1)
    if options.top_p is not None:
        before = shares.cumsum(dim=-1) - shares
        shares = shares.masked_fill(before >= options.top_p, 0.0)
        shares = shares / shares.sum(dim=-1, keepdim=True)
    return shares, largest.indices


def more_probable(
    logits: Float[Tensor, "rows vocab"], ids: Int[Tensor, " rows"]
) -> Float[Tensor, " rows"]:
    """In each row the probability of all pieces together that are more probable than that of `ids`,
    by the model's own softmax. A piece with at least p of it lies outside the top p."""
    shares = logits.double().softmax(dim=-1)
    taken = shares.gather(1, ids[:, None])
    return shares.masked_fill(shares <= taken, 0.0).sum(dim=-1)


class Sampler:
    """Chooses by the inverse of the distribution function, one uniform number a step.

    Every output has its own seed and numbers, whatever else is in its batch: a text gives the
    same translation alone and among others.
    """

    def __init__(self, options: Decoding, seeds: Sequence[int], max_len: int) -> None:
        self.options = options
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.uniform = [
            torch.rand(max_len, generator=generator, dtype=torch.float64).tolist()
            for generator in generators
        ]

    def __call__(
        self, logits: Float[Tensor, "rows vocab"], steps: list[int], batch_indices: list[int]
    ) -> Int[Tensor, " rows"]:
        shares, ids = narrowed(logits, self.options)
        reached = shares.cumsum(dim=-1)
        # The last sum is 1 but for rounding; a draw beyond it takes the last piece with a share.
        drawn = [
            [self.uniform[owner][step]] for owner, step in zip(batch_indices, steps, strict=True)
        ]
        target = torch.minimum(reached.new_tensor(drawn), reached[:, -1:] * (1 - 1e-12))
        place = torch.searchsorted(reached, target, right=True)
        return ids.gather(1, place)[:, 0]
