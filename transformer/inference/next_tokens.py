"""The distribution of the next token at each decoding step, and the record of it in an output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.config import ModelConfig

StepRecord = tuple[Any, Any, Any]
"""One step of one output: log probability of the chosen id, candidate ids, their probabilities."""


@dataclass(frozen=True)
class DecodedSequence:
    """One output: n ids, their log probabilities, and k candidates for each step."""

    ids: list[int]
    finished: bool
    log_probabilities: npt.NDArray[np.float64]  # (n,)
    candidate_ids: npt.NDArray[np.int64]  # (n, k)
    candidate_probabilities: npt.NDArray[np.float32]  # (n, k), descending

    @property
    def log_probability(self) -> float:
        return float(self.log_probabilities.sum())


def never_generated(config: ModelConfig) -> list[int]:
    """Return the ids of `<pad>`, `<s>` and `<unk>`, which no output contains."""
    return [config.pad_id, config.bos_id, config.unk_id]


def n_candidates(config: ModelConfig, k: int) -> int:
    """Return `k`, or the number of tokens that an output may contain if that is smaller."""
    return min(k, config.vocab_size - len(never_generated(config)))


@dataclass(frozen=True)
class NextTokens:
    """The distribution of the next token of n sequences: the softmax over the whole vocabulary.

    The k most probable tokens are in descending order, without `<pad>`, `<s>` and `<unk>`.
    """

    log_probabilities: Float[Tensor, "n vocab"]
    top_log_probabilities: Float[Tensor, "n k"]
    top_ids: Int[Tensor, "n k"]

    @classmethod
    def of(cls, logits: Float[Tensor, "n vocab"], config: ModelConfig, k: int) -> NextTokens:
        dtype = torch.promote_types(logits.dtype, torch.float32)
        log_probabilities = logits.log_softmax(dim=-1, dtype=dtype)
        allowed = log_probabilities.clone()
        allowed[:, never_generated(config)] = -torch.inf
        return cls(log_probabilities, *allowed.topk(n_candidates(config, k), dim=-1))

    def records(self, chosen: Int[Tensor, " n"]) -> Iterator[StepRecord]:
        """Yield the record of each sequence, whose next token is `chosen`."""
        log_probabilities = self.log_probabilities.gather(1, chosen[:, None])[:, 0]
        columns = log_probabilities, self.top_ids, self.top_log_probabilities.float().exp()
        return zip(*(column.cpu().numpy() for column in columns), strict=True)
