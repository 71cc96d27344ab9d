"""Keeping the steps' logits as they come, and reading candidates from all of them at once.

Softmax and top-k of every step together cost a few hundred microseconds a sentence; one at a time
they would cost a good part of the decoding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.config import ModelConfig

BUFFER = 1_000_000
"""Floats of logits kept before they are read: 4 MB, still near the processor then."""


@dataclass(frozen=True)
class Decoded:
    """One output: n ids, their log probabilities, and k candidates of each step."""

    ids: list[int]
    finished: bool
    log_probabilities: npt.NDArray[np.float64]  # (n,)
    candidate_ids: npt.NDArray[np.int64]  # (n, k)
    candidate_probabilities: npt.NDArray[np.float32]  # (n, k), falling

    @property
    def log_probability(self) -> float:
        return float(self.log_probabilities.sum())


def never_generated(config: ModelConfig) -> list[int]:
    """`<pad>`, `<s>` and `<unk>` are no words of an output."""
    return [config.pad_id, config.bos_id, config.unk_id]


def read(
    logits: Float[Tensor, "n vocab"], chosen: list[int], config: ModelConfig, k: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Log probabilities of `chosen` (n,), ids (n, k) and probabilities (n, k) of the candidates.
    Probabilities are of the softmax over the whole vocabulary."""
    log_probabilities = logits.log_softmax(dim=-1)
    ids = torch.tensor(chosen, device=logits.device)
    taken = log_probabilities.gather(1, ids[:, None])
    banned = never_generated(config)
    log_probabilities[:, banned] = -torch.inf
    best = log_probabilities.topk(min(k, logits.shape[1] - len(banned)), dim=-1)
    shares = best.values.exp()
    return taken[:, 0].cpu().numpy(), best.indices.cpu().numpy(), shares.cpu().numpy()


class Recorder:
    """A buffer of logits, one row a step and output, and whose row it is."""

    def __init__(self, config: ModelConfig, k: int, rows: int, device: torch.device) -> None:
        self.config, self.k = config, k
        self.buffer = torch.empty(
            max(rows, BUFFER // config.vocab_size), config.vocab_size, device=device
        )
        self.used, self.batch_indices, self.chosen = 0, [-1] * 0, [-1] * 0
        self.all_batch_indices: list[int] = []
        self.parts: list[tuple[npt.NDArray[np.generic], ...]] = []

    def room(self, rows: int) -> Float[Tensor, "rows vocab"]:
        """Where the next step's logits go."""
        if self.used + rows > len(self.buffer):
            self._flush()
        return self.buffer[self.used : self.used + rows]

    def add(self, batch_indices: list[int], chosen: list[int]) -> None:
        """Tell whose the rows just written are (-1: nobody's), and what was chosen after each."""
        self.used += len(batch_indices)
        self.batch_indices += batch_indices
        self.chosen += chosen

    def decoded(self, ids: list[list[int]], finished: list[bool]) -> list[Decoded]:
        """The outputs, numbered as their batch_indices were."""
        self._flush()
        columns = [np.concatenate(column) for column in zip(*self.parts, strict=True)]
        batch_indices = np.array(self.all_batch_indices)
        made = []
        for number, (output, ended) in enumerate(zip(ids, finished, strict=True)):
            rows = np.flatnonzero(batch_indices == number)
            taken, best, shares = (column[rows] for column in columns)
            made.append(Decoded(output, ended, taken.astype(np.float64), best, shares))
        return made

    def _flush(self) -> None:
        if self.used:
            logits = self.buffer[: self.used]
            self.parts.append(read(logits, self.chosen, self.config, self.k))
            self.all_batch_indices += self.batch_indices
            self.used, self.batch_indices, self.chosen = 0, [], []
