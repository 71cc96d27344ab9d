"""The backend that decoding runs the model with: here the model's own modules, in float32.

`inference/fast` has a faster subclass that returns the same tokens. It is optional: decoding is
correct without it (`acceleration.py` chooses).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.options import Decoding
from transformer.inference.search import TokenChooser
from transformer.inference.sessions import CachedSession, Session
from transformer.inference.step_logits import DecodedSequence
from transformer.model import Transformer
from transformer.model.attention import padding_mask

Precision = Literal["auto", "fp32", "bf16"]

Verify = Callable[[list[int]], Float[Tensor, "tgt vocab"]]
"""A teacher-forced pass over output ids; row i holds the logits that id i is chosen from."""


@dataclass(frozen=True)
class Memory:
    """Encoder output for a batch of sources, padded to the longest."""

    src: Int[Tensor, "rows src"]
    src_mask: Bool[Tensor, "rows 1 1 src"]
    states: Float[Tensor, "rows src d_model"]
    lengths: list[int]


class Backend:
    """Runs the model's own modules. Safe to share between threads."""

    def __init__(self, model: Transformer, precision: str = "auto") -> None:
        """Raises ValueError for an unknown precision."""
        if precision not in get_args(Precision):
            choices = ", ".join(get_args(Precision))
            raise ValueError(f"precision must be one of {choices}, not {precision!r}")
        self.model, self.precision = model, precision

    def encode(
        self, src: Int[Tensor, "rows src"], lengths: list[int], hooks: Hooks | None = None
    ) -> Memory:
        """Run the encoder over padded sources of the given lengths."""
        mask = padding_mask(src, self.model.config.pad_id)
        return Memory(src, mask, self.model.encode(src, mask, hooks), lengths)

    def session(self, memory: Memory, max_len: int) -> Session:
        """Return a session for all rows of `memory` and outputs of at most `max_len` tokens."""
        return CachedSession(self.model, memory.states, memory.src_mask)

    def decode_speculatively(
        self,
        memory: Memory,
        verify: Verify,
        choose: TokenChooser,
        limit: int,
        options: Decoding,
        min_len: int = 0,
    ) -> DecodedSequence | None:
        """Decode one output by drafting it cheaply and verifying it; None if that is not faster,
        as in this class. The last call of `verify` receives the returned ids, unless the draft was
        longer."""
        return None
