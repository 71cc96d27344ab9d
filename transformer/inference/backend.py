"""How decoding runs the model: here with its own modules, in float32.

`inference/fast` has a subclass that gives the same tokens sooner. It is optional: all of decoding
is correct with this one (`acceleration.py` chooses).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.options import Decoding
from transformer.inference.search import Choose
from transformer.inference.sessions import CachedSession, Session
from transformer.inference.step_logits import Decoded
from transformer.model import Transformer
from transformer.model.attention import padding_mask

Precision = Literal["auto", "fp32", "bf16"]

Verify = Callable[[list[int]], Float[Tensor, "tgt vocab"]]
"""One pass of the model over an output: the logits that each of these ids is chosen from."""


@dataclass(frozen=True)
class Memory:
    """The encoder's output for some sources, padded to the longest."""

    src: Int[Tensor, "rows src"]
    src_mask: Bool[Tensor, "rows 1 1 src"]
    states: Float[Tensor, "rows src d_model"]
    lengths: list[int]


class Backend:
    """Runs the model's own modules. Threads share it."""

    def __init__(self, model: Transformer, precision: str = "auto") -> None:
        """Raises ValueError for a precision that does not exist."""
        if precision not in get_args(Precision):
            known = ", ".join(get_args(Precision))
            raise ValueError(f"precision must be one of {known}, not {precision!r}")
        self.model, self.precision = model, precision

    def encode(
        self, src: Int[Tensor, "rows src"], lengths: list[int], hooks: Hooks | None = None
    ) -> Memory:
        """One pass of the encoder over padded sources of these lengths."""
        mask = padding_mask(src, self.model.config.pad_id)
        return Memory(src, mask, self.model.encode(src, mask, hooks), lengths)

    def session(self, memory: Memory, max_len: int) -> Session:
        """A session over all rows of `memory`, for outputs of at most `max_len` tokens."""
        return CachedSession(self.model, memory.states, memory.src_mask)

    def decode_speculatively(
        self,
        memory: Memory,
        verify: Verify,
        choose: Choose,
        limit: int,
        options: Decoding,
        min_len: int = 0,
    ) -> Decoded | None:
        """One output, drafted by cheaper products and then verified; None if that is no faster, as
        here. The last call of `verify` is with the ids returned, unless the draft went beyond."""
        return None
