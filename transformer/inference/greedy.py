"""One hypothesis an output: greedy decoding and sampling, and the scoring of a forced target."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.config import ModelConfig
from transformer.inference.sessions import Session
from transformer.inference.step_logits import Decoded, Recorder, never_generated, read

Choose = Callable[[Float[Tensor, "rows vocab"], list[int], list[int]], Int[Tensor, " rows"]]
"""(logits, -∞ for what is not allowed; which step and which output each row is) to one id a row."""

COMPACT = 0.25
"""Share of rows whose outputs have ended, from which on they are taken out of the batch."""


def greedy(
    logits: Float[Tensor, "rows vocab"], steps: list[int], batch_indices: list[int]
) -> Int[Tensor, " rows"]:
    """The most probable piece (section 6.1's beam of one)."""
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
        limits: most ids of each output.
        candidates: how many pieces each step keeps.
        min_len: `</s>` is not chosen before so many other pieces (for benchmarks).
    """
    rows = len(limits)
    recorder = Recorder(config, candidates, rows, device)
    outputs: list[list[int]] = [[] for _ in limits]
    finished = [False] * rows
    batch_indices = list(range(rows))
    allowed = Allowed(config, device, min_len)
    ids = torch.full((rows,), config.bos_id, device=device)
    for step in range(max(limits)):
        logits = recorder.room(len(batch_indices))
        session.step(ids, logits)
        steps = [step] * len(batch_indices)
        ids = choose(allowed(logits, steps), steps, batch_indices)
        chosen = ids.tolist()
        recorder.add(list(batch_indices), chosen)
        for row, (owner, token) in enumerate(zip(batch_indices, chosen, strict=True)):
            if owner < 0:
                continue
            outputs[owner].append(token)
            finished[owner] = token == config.eos_id
            if finished[owner] or len(outputs[owner]) >= limits[owner]:
                batch_indices[row] = -1
        alive = [row for row, owner in enumerate(batch_indices) if owner >= 0]
        if not alive:
            break
        if len(alive) <= len(batch_indices) * (1 - COMPACT):
            session.select(alive)
            ids, batch_indices = ids[alive], [batch_indices[row] for row in alive]
    return recorder.decoded(outputs, finished)


def forced(
    logits: Float[Tensor, "tgt vocab"], ids: list[int], config: ModelConfig, candidates: int
) -> Decoded:
    """The record of a given output; `logits` are of the step before each of its ids."""
    taken, best, shares = read(logits.clone(), ids, config, candidates)
    return Decoded(ids, ids[-1] == config.eos_id, taken.astype("float64"), best, shares)
