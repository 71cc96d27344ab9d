"""Decoding with one hypothesis for each output: greedy search, sampling, and forced decoding."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.config import ModelConfig
from transformer.inference.next_tokens import DecodedSequence, NextTokens, StepRecord
from transformer.inference.options import Decoding
from transformer.inference.sessions import Session

TokenChooser = Callable[[NextTokens, int, list[int]], Int[Tensor, " rows"]]
"""Function of (distribution, step, output index of each row) that returns one id per row."""


def greedy(next_tokens: NextTokens, step: int, batch_indices: list[int]) -> Int[Tensor, " rows"]:
    """Choose the most probable token: beam search with beam size 1."""
    return next_tokens.top_ids[:, 0]


class PrefixChooser:
    """Chooses the tokens of `prefix`, one at each step, and then those of `choose`."""

    def __init__(self, prefix: Sequence[int], choose: TokenChooser) -> None:
        self.prefix, self.choose = prefix, choose

    def __call__(
        self, next_tokens: NextTokens, step: int, batch_indices: list[int]
    ) -> Int[Tensor, " rows"]:
        ids = self.choose(next_tokens, step, batch_indices)
        return torch.full_like(ids, self.prefix[step]) if step < len(self.prefix) else ids


@dataclass
class _PartialOutput:
    """One output during decoding: its ids and the record of every step."""

    ids: list[int] = field(default_factory=list)
    steps: list[StepRecord] = field(default_factory=list)

    def decoded(self, eos_id: int) -> DecodedSequence:
        log_probabilities, candidate_ids, probabilities = map(
            np.array, zip(*self.steps, strict=True)
        )
        finished = self.ids[-1] == eos_id
        return DecodedSequence(
            self.ids, finished, log_probabilities.astype("f8"), candidate_ids, probabilities
        )


def search(
    session: Session,
    choose: TokenChooser,
    limits: Sequence[int],
    config: ModelConfig,
    *,
    candidates: int,
    device: torch.device,
) -> list[DecodedSequence]:
    """Decode one output for each row of `session` until `</s>` or its limit.

    Args:
        limits: maximum number of ids of each output.
        candidates: number of most probable tokens recorded at each step.
    """
    outputs = [_PartialOutput() for _ in limits]
    active = list(range(len(limits)))  # output index of each row of the session
    ids = torch.full((len(limits),), config.bos_id, device=device)
    for step in range(max(limits)):
        next_tokens = session.step(ids, candidates)
        ids = choose(next_tokens, step, active)
        chosen = ids.tolist()
        for number, id, record in zip(active, chosen, next_tokens.records(ids), strict=True):
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


def record_forced(
    logits: Float[Tensor, "tgt vocab"], ids: list[int], config: ModelConfig, candidates: int
) -> DecodedSequence:
    """Return the record of a forced output; row i of `logits` is the distribution of id i."""
    next_tokens = NextTokens.of(logits, config, candidates)
    records = next_tokens.records(torch.tensor(ids, device=logits.device))
    return _PartialOutput(ids, list(records)).decoded(config.eos_id)


def new_seed() -> int:
    """Return a seed from the operating system, without using the global random generators."""
    return secrets.randbits(31)


def sampling_distribution(
    logits: Float[Tensor, "rows vocab"], options: Decoding
) -> tuple[Float[Tensor, "rows kept"], Int[Tensor, "rows kept"]]:
    """Return the probabilities that sampling draws from, in descending order, and their ids.

    Temperature divides the logits; top-k keeps the k largest; top-p (Holtzman et al. 2020) then
    keeps the smallest set whose probabilities sum to at least p. The rest is normalized to sum 1.
    The result is on the CPU, in float64, which Apple GPUs do not have.
    """
    k = min(options.top_k or logits.shape[-1], logits.shape[-1])
    largest = logits.topk(k, dim=-1)
    values = largest.values.cpu().double()
    # The maximum is subtracted first, so that a very low temperature gives no infinite values.
    scaled = (values - values[:, :1]) / (options.temperature or 1.0)
    probabilities = scaled.softmax(dim=-1)
    if options.top_p is not None:
        cumulative_before = probabilities.cumsum(dim=-1) - probabilities
        probabilities = probabilities.masked_fill(cumulative_before >= options.top_p, 0.0)
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    return probabilities, largest.indices.cpu()


class Sampler:
    """Samples by the inverse of the cumulative distribution, with one uniform random number per
    step.

    Every output has its own seed and random numbers, so a text gets the same translation alone and
    in a batch.
    """

    def __init__(
        self,
        options: Decoding,
        seeds: Sequence[int],
        max_len: int,
        excluded_ids: Sequence[int] = (),
    ) -> None:
        self.options, self.excluded_ids = options, excluded_ids
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.uniform = [
            torch.rand(max_len, generator=generator, dtype=torch.float64, device="cpu").tolist()
            for generator in generators
        ]

    def __call__(
        self, next_tokens: NextTokens, step: int, batch_indices: list[int]
    ) -> Int[Tensor, " rows"]:
        allowed = next_tokens.log_probabilities.clone()
        allowed[:, self.excluded_ids] = -torch.inf
        probabilities, ids = sampling_distribution(allowed, self.options)
        cumulative = probabilities.cumsum(dim=-1)
        # The last sum may be slightly below 1; a larger number selects the last token.
        uniform = [[self.uniform[index_in_batch][step]] for index_in_batch in batch_indices]
        threshold = torch.minimum(cumulative.new_tensor(uniform), cumulative[:, -1:] * (1 - 1e-12))
        index = torch.searchsorted(cumulative, threshold, right=True)
        return ids.gather(1, index)[:, 0].to(allowed.device)
