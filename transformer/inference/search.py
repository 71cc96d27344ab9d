"""One hypothesis an output, a token after the other: greedy, drawn, or of a forced target."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.config import ModelConfig
from transformer.inference.options import Decoding
from transformer.inference.sessions import Session
from transformer.inference.step_logits import Decoded, StepRecord, never_generated, read

Choose = Callable[[Float[Tensor, "rows vocab"], list[int], list[int]], Int[Tensor, " rows"]]
"""(logits, -∞ for what is not allowed; which step and which output each row is) to one id a row."""


def greedy(
    logits: Float[Tensor, "rows vocab"], steps: list[int], batch_indices: list[int]
) -> Int[Tensor, " rows"]:
    """The most probable piece (section 6.1's beam of one)."""
    if logits.device.type == "cpu":  # NumPy looks at many numbers at a time, torch at one
        return torch.from_numpy(logits.numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)


class Prefixed:
    """Chooses the pieces of `prefix`, one a step, and then as `choose` does."""

    def __init__(self, prefix: Sequence[int], choose: Choose) -> None:
        self.prefix, self.choose = prefix, choose

    def __call__(
        self, logits: Float[Tensor, "rows vocab"], steps: list[int], batch_indices: list[int]
    ) -> Int[Tensor, " rows"]:
        ids = self.choose(logits, steps, batch_indices)
        given = [row for row, step in enumerate(steps) if step < len(self.prefix)]
        if given:
            ids[given] = ids.new_tensor([self.prefix[steps[row]] for row in given])
        return ids


class Allowed:
    """Logits with -∞ for `<pad>`, `<s>`, `<unk>`, and for `</s>` in the first `min_len` steps."""

    def __init__(self, config: ModelConfig, device: torch.device, min_len: int = 0) -> None:
        self.config, self.min_len = config, min_len
        self.bias = torch.zeros(config.vocab_size, device=device)
        self.bias[never_generated(config)] = -torch.inf

    def __call__(
        self, logits: Float[Tensor, "rows vocab"], steps: list[int]
    ) -> Float[Tensor, "rows vocab"]:
        allowed = logits + self.bias
        if steps[0] < self.min_len:
            allowed[[step < self.min_len for step in steps], self.config.eos_id] = -torch.inf
        return allowed


@dataclass
class _Output:
    """One output while it is decoded: its ids and what `read` returned at every step."""

    ids: list[int] = field(default_factory=list)
    steps: list[StepRecord] = field(default_factory=list)

    def decoded(self, eos_id: int) -> Decoded:
        log_probabilities, best, probabilities = map(np.array, zip(*self.steps, strict=True))
        finished = self.ids[-1] == eos_id
        return Decoded(self.ids, finished, log_probabilities.astype("f8"), best, probabilities)


def search(
    session: Session,
    choose: Choose,
    limits: Sequence[int],
    config: ModelConfig,
    *,
    candidates: int,
    device: torch.device,
    min_len: int = 0,
) -> list[Decoded]:
    """Decode one output a row of `session` until `</s>` or its limit.

    Args:
        limits: the greatest number of ids of each output.
        candidates: how many of the most probable tokens each step records.
        min_len: `</s>` is not chosen before so many other tokens (for benchmarks).
    """
    outputs = [_Output() for _ in limits]
    active = list(range(len(limits)))  # the output that each row of the session writes
    allowed = Allowed(config, device, min_len)
    ids = torch.full((len(limits),), config.bos_id, device=device)
    for step in range(max(limits)):
        logits = session.step(ids)
        steps = [step] * len(active)
        ids = choose(allowed(logits, steps), steps, active)
        chosen = ids.tolist()
        records = zip(*read(logits, chosen, config, candidates), strict=True)
        for number, id, record in zip(active, chosen, records, strict=True):
            outputs[number].ids.append(id)
            outputs[number].steps.append(record)
        remaining = [
            row
            for row, number in enumerate(active)
            if chosen[row] != config.eos_id and step + 1 < limits[number]
        ]
        if not remaining:
            break
        if len(remaining) < len(active):
            session.select(remaining)
            ids, active = ids[remaining], [active[row] for row in remaining]
    return [output.decoded(config.eos_id) for output in outputs]


def forced(
    logits: Float[Tensor, "tgt vocab"], ids: list[int], config: ModelConfig, candidates: int
) -> Decoded:
    """The record of a given output; `logits` are of the step before each of its ids."""
    taken, best, shares = read(logits, ids, config, candidates)
    return Decoded(ids, ids[-1] == config.eos_id, taken.astype("float64"), best, shares)


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
