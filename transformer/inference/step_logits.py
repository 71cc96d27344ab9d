"""What is recorded of each decoding step: the chosen token's probability and the candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.config import ModelConfig

StepRecord = tuple[Any, Any, Any]
"""Of one step of one output: log probability of the chosen id, candidate ids, probabilities."""


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
