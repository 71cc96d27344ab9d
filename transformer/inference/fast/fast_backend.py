"""Which arrangement of the decoder is fastest here: measured, not guessed from a processor's name.

What is measured once is kept; copies of weights are made again when the model has been edited.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.backend import Backend, Memory, Verify
from transformer.inference.fast.batch_session import BatchSession
from transformer.inference.fast.products import onednn_products
from transformer.inference.fast.speculative import SingleSession, speculative
from transformer.inference.fast.weights import Bf16, DecoderWeights, Exact, ExactCopy, Int8
from transformer.inference.options import Decoding
from transformer.inference.search import Choose
from transformer.inference.sessions import Session
from transformer.inference.step_logits import Decoded
from transformer.model import Transformer
from transformer.model.attention import padding_mask

MIN_BF16_ROWS = 8
"""Rows from which on bfloat16 products may be used."""

TRIALS = 10
"""Steps of each kind that are timed before one is chosen."""

MIN_TUNED_WEIGHTS = 2_000_000
"""Weights of a decoder below which float32 is as fast, and nothing is measured."""


Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FastMemory(Memory):
    """`Memory`, with the weights that its outputs are decoded with: float32 if None."""

    bf16_weights: DecoderWeights | None = None


class FastBackend(Backend):
    """Sessions for one model. Threads share it.

    One row is drafted in eight bits where that is faster, and verified in float32, so its result is
    that of float32. With precision "auto", `MIN_BF16_ROWS` rows or more use bfloat16 products if
    they are faster here; then two nearly equal tokens may change places. "fp32" never does, "bf16"
    always.

    Weights may be edited in place between two calls: float32 is laid out for each call, from the
    model's own tensors, and copies in fewer bits are compared with them.
    """

    def __init__(self, model: Transformer, precision: str = "auto") -> None:
        super().__init__(model, precision)
        self._lock = threading.Lock()
        self._bf16: list[DecoderWeights | None] = []  # empty until it is known
        self._draft: list[DecoderWeights | None] = []
        self._bf16_stamp: Stamp = ()
        self._draft_stamp: Stamp = ()
        on_cpu = model.embedding.weight.device.type == "cpu"
        n_weights = sum(p.numel() for p in model.decoder.parameters())
        self._tuned = on_cpu and n_weights >= MIN_TUNED_WEIGHTS
        self._dot_product = model.config.score != "additive"

    def encode(
        self, src: Int[Tensor, "rows src"], lengths: list[int], hooks: Hooks | None = None
    ) -> FastMemory:
        mask = padding_mask(src, self.model.config.pad_id)
        weights = None if hooks else self.bf16_weights(len(src))
        bf16 = weights is not None
        with onednn_products(), torch.autocast(src.device.type, torch.bfloat16, enabled=bf16):
            states = self.model.encode(src, mask, hooks)
        return FastMemory(src, mask, states.float(), lengths, weights)

    def session(self, memory: Memory, max_len: int) -> Session:
        bf16 = memory.bf16_weights if isinstance(memory, FastMemory) else None
        weights = bf16 or self.exact_weights()
        return BatchSession(weights, memory.states, memory.src_mask, max_len)

    def decode_speculatively(
        self,
        memory: Memory,
        verify: Verify,
        choose: Choose,
        limit: int,
        options: Decoding,
        min_len: int = 0,
    ) -> Decoded | None:
        weights = self.draft_weights()
        if weights is None:
            return None
        return speculative(
            SingleSession(weights, memory.states, limit),
            verify,
            choose,
            limit,
            self.model.config,
            candidates=options.candidates,
            min_len=min_len,
        )

    def bf16_weights(self, rows: int) -> DecoderWeights | None:
        """Weights for bfloat16 products if so many rows are to use them, else None."""
        auto = self.precision == "auto" and self._tuned and rows >= MIN_BF16_ROWS
        if not auto and self.precision != "bf16":
            return None
        stamp = self._stamp(content=True)
        with self._lock:
            if not self._bf16:
                self._bf16 = [self._fastest_for_many()]
            elif self._bf16[0] is not None and self._bf16_stamp not in ((), stamp):
                self._bf16 = [DecoderWeights(self.model, Bf16)]
            self._bf16_stamp = stamp
            return self._bf16[0]

    def draft_weights(self) -> DecoderWeights | None:
        """Weights to draft one output with, or None if that is no faster here."""
        if not (self._tuned and self._dot_product):
            return None
        stamp = self._stamp()
        with self._lock:
            if not self._draft:
                self._draft = [self._fastest_for_one()]
            elif self._draft[0] is not None and self._draft_stamp not in ((), stamp):
                self._draft = [_int8_weights(self.model)]
            self._draft_stamp = stamp
            return self._draft[0]

    def exact_weights(self) -> DecoderWeights:
        """The model's own weights: little is copied, and that in about a hundredth of the time of a
        short sentence."""
        return DecoderWeights(self.model, Exact)

    def _stamp(self, *, content: bool = False) -> Stamp:
        """A value that changes with an edit of a weight that copies are made of.

        torch counts edits in place, but not those through `.data`: `content` adds up the bits as
        well, in which one number that is changed shows, and two that are exchanged do not. A draft
        needs no such sum, since the model verifies it.
        """
        weights = [*self.model.decoder.parameters(), self.model.embedding.weight]
        if self.model.output_bias is not None:
            weights.append(self.model.output_bias)
        edits = tuple((w.data_ptr(), 0 if w.is_inference() else w._version) for w in weights)
        if not content:
            return edits
        sums = (int(w.detach().view(torch.int32).sum(dtype=torch.int32)) for w in weights)
        return edits + tuple((number, total) for number, total in enumerate(sums))

    def _fastest_for_one(self) -> DecoderWeights | None:
        memory, mask = self._sample_memory(1)
        try:
            int8 = _int8_weights(self.model)
            draft = SingleSession(int8, memory, TRIALS)
            exact = BatchSession(self.exact_weights(), memory, mask, TRIALS)
            ratio = self._time_ratio(draft, exact, 1)
        except (AttributeError, RuntimeError):  # a torch or a processor without this product
            return None
        return int8 if ratio < 0.6 else None  # verifying takes its time as well

    def _fastest_for_many(self) -> DecoderWeights | None:
        bf16, rows = DecoderWeights(self.model, Bf16), 32
        if self.precision == "bf16":
            return bf16
        memory, mask = self._sample_memory(rows)
        weights = (bf16, self.exact_weights())
        one, other = (BatchSession(each, memory, mask, TRIALS) for each in weights)
        return bf16 if self._time_ratio(one, other, rows) < 0.8 else None

    def _sample_memory(self, rows: int) -> tuple[Tensor, Tensor]:
        """Memory and mask of sentences of 16 tokens."""
        memory = self.model.embedding.weight.new_ones(rows, 16, self.model.config.d_model)
        return memory, torch.ones(rows, 1, 1, 16, dtype=torch.bool, device=memory.device)

    @torch.inference_mode()
    def _time_ratio(self, one: Session, other: Session, rows: int) -> float:
        """How long a step of `one` takes, in steps of `other`. They take turns, and the quickest of
        each counts: another process may disturb some steps, seldom all of one kind."""
        vocab, device = self.model.config.vocab_size, self.model.embedding.weight.device
        ids = torch.full((rows,), vocab - 1, device=device)
        best = [float("inf")] * 2
        for _ in range(TRIALS):
            for number, session in enumerate((one, other)):
                start = time.perf_counter()
                session.step(ids)
                best[number] = min(best[number], time.perf_counter() - start)
        return best[0] / best[1]


def _int8_weights(model: Transformer) -> DecoderWeights:
    return DecoderWeights(model, Int8, ExactCopy)
