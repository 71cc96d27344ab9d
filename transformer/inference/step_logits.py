"""Record of each decoding step: the probability of the chosen token, and the candidates."""

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


def record_steps(
    logits: Float[Tensor, "n vocab"], chosen: list[int], config: ModelConfig, k: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return log probabilities of `chosen` (n,), candidate ids (n, k) and their probabilities
    (n, k), from the softmax over the whole vocabulary."""
    log_probabilities = logits.float().log_softmax(dim=-1)
    ids = torch.tensor(chosen, device=logits.device)
    chosen_log_probabilities = log_probabilities.gather(1, ids[:, None])
    banned = never_generated(config)
    log_probabilities[:, banned] = -torch.inf
    top = log_probabilities.topk(min(k, logits.shape[1] - len(banned)), dim=-1)
    probabilities = top.values.exp()
    return (
        chosen_log_probabilities[:, 0].cpu().numpy(),
        top.indices.cpu().numpy(),
        probabilities.cpu().numpy(),
    )
