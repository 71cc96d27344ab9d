"""The backend that measures which decoder weights are fastest on this machine.

Each measurement is made once per process; copies of weights are renewed after the model is edited.
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
from transformer.inference.fast.speculative import speculative_decode
from transformer.inference.fast.weights import Bf16, DecoderWeights, Fp32, Int8
from transformer.inference.options import Decoding
from transformer.inference.search import TokenChooser
from transformer.inference.sessions import Session
from transformer.inference.step_logits import DecodedSequence
from transformer.model import Transformer
from transformer.model.attention import padding_mask

MIN_BF16_ROWS = 8
"""Minimum batch size for bfloat16 matrix products."""

TRIALS = 10
"""Number of decoding steps that each alternative is timed for."""

MIN_TUNED_WEIGHTS = 2_000_000
"""Minimum decoder weights for a measurement; a smaller decoder is as fast in float32."""


Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FastMemory(Memory):
    """`Memory` with the weights to decode its outputs with; None means float32."""

    bf16_weights: DecoderWeights | None = None


class FastBackend(Backend):
    """Sessions for one model. Safe to share between threads.

    A single row is drafted with int8 weights if that is faster, and verified in float32, so the
    result equals that of float32. With precision "auto", `MIN_BF16_ROWS` rows or more use bfloat16
    products if these are faster; two almost equally probable tokens may then be swapped. "fp32"
    never uses them, "bf16" always does.

    Weights may be edited in place between two calls: float32 sessions read the model's own tensors
    in each call, and copies of lower precision are renewed after an edit.
    """

    def __init__(self, model: Transformer, precision: str = "auto") -> None:
        super().__init__(model, precision)
        self._lock = threading.Lock()
        self._bf16: list[DecoderWeights | None] = []  # empty until measured, then one element
        self._draft: list[DecoderWeights | None] = []
        self._bf16_stamp: Stamp = ()
        self._draft_stamp: Stamp = ()
        on_cpu = model.embedding.weight.device.type == "cpu"
        n_weights = sum(p.numel() for p in model.decoder.parameters())
        self._tuned = on_cpu and n_weights >= MIN_TUNED_WEIGHTS

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
        weights = bf16 or self.fp32_weights()
        return BatchSession(weights, memory.states, memory.src_mask, max_len)

    def decode_speculatively(
        self,
        memory: Memory,
        verify: Verify,
        choose: TokenChooser,
        limit: int,
        options: Decoding,
        min_len: int = 0,
    ) -> DecodedSequence | None:
        weights = self.draft_weights()
        if weights is None:
            return None
        return speculative_decode(
            BatchSession(weights, memory.states, memory.src_mask, limit),
            verify,
            choose,
            limit,
            self.model.config,
            candidates=options.candidates,
            min_len=min_len,
        )

    def bf16_weights(self, rows: int) -> DecoderWeights | None:
        """Return bfloat16 weights if a batch of `rows` should use them, else None."""
        auto = self.precision == "auto" and self._tuned and rows >= MIN_BF16_ROWS
        if not auto and self.precision != "bf16":
            return None
        stamp = self._stamp(content=True)
        with self._lock:
            if not self._bf16:
                self._bf16 = [self._bf16_if_faster()]
            elif self._bf16[0] is not None and self._bf16_stamp not in ((), stamp):
                self._bf16 = [DecoderWeights(self.model, Bf16)]
            self._bf16_stamp = stamp
            return self._bf16[0]

    def draft_weights(self) -> DecoderWeights | None:
        """Return the weights to draft one output with, or None if drafting is not faster."""
        if not self._tuned:
            return None
        stamp = self._stamp()
        with self._lock:
            if not self._draft:
                self._draft = [self._int8_if_faster()]
            elif self._draft[0] is not None and self._draft_stamp not in ((), stamp):
                self._draft = [DecoderWeights(self.model, Int8)]
            self._draft_stamp = stamp
            return self._draft[0]

    def fp32_weights(self) -> DecoderWeights:
        """Return the model's own weights; building the object takes about a hundredth of the time
        of translating a short sentence."""
        return DecoderWeights(self.model, Fp32)

    def _stamp(self, *, content: bool = False) -> Stamp:
        """Return a value that changes when a copied weight is edited.

        torch counts in-place edits, except those through `.data`. `content` also sums the bits of
        every weight, which detects a changed number, but not two swapped ones. A draft does not
        need this sum, since the model verifies it.
        """
        weights = [*self.model.decoder.parameters(), self.model.embedding.weight]
        if self.model.output_bias is not None:
            weights.append(self.model.output_bias)
        edits = tuple((w.data_ptr(), 0 if w.is_inference() else w._version) for w in weights)
        if not content:
            return edits
        sums = (int(w.detach().view(torch.int32).sum(dtype=torch.int32)) for w in weights)
        return edits + tuple((number, total) for number, total in enumerate(sums))

    def _int8_if_faster(self) -> DecoderWeights | None:
        memory, mask = self._sample_memory(1)
        try:
            int8 = DecoderWeights(self.model, Int8)
            draft = BatchSession(int8, memory, mask, TRIALS)
            exact = BatchSession(self.fp32_weights(), memory, mask, TRIALS)
            ratio = self._time_ratio(draft, exact, 1)
        except (AttributeError, RuntimeError):  # torch or the processor lacks this product
            return None
        return int8 if ratio < 0.6 else None  # leaves time for the verification

    def _bf16_if_faster(self) -> DecoderWeights | None:
        bf16, rows = DecoderWeights(self.model, Bf16), 32
        if self.precision == "bf16":
            return bf16
        memory, mask = self._sample_memory(rows)
        weights = (bf16, self.fp32_weights())
        fast, baseline = (
            BatchSession(decoder_weights, memory, mask, TRIALS) for decoder_weights in weights
        )
        return bf16 if self._time_ratio(fast, baseline, rows) < 0.8 else None

    def _sample_memory(self, rows: int) -> tuple[Tensor, Tensor]:
        """Return memory and mask of a batch of sentences of 16 tokens, for timing."""
        memory = self.model.embedding.weight.new_ones(rows, 16, self.model.config.d_model)
        return memory, torch.ones(rows, 1, 1, 16, dtype=torch.bool, device=memory.device)

    @torch.inference_mode()
    def _time_ratio(self, candidate: Session, baseline: Session, rows: int) -> float:
        """Return the time of a step of `candidate` divided by that of `baseline`. The two alternate
        and the fastest step of each counts, since other processes may slow down some steps."""
        vocab, device = self.model.config.vocab_size, self.model.embedding.weight.device
        ids = torch.full((rows,), vocab - 1, device=device)
        best_seconds = [float("inf")] * 2
        for _ in range(TRIALS):
            for number, session in enumerate((candidate, baseline)):
                start = time.perf_counter()
                session.step(ids)
                best_seconds[number] = min(best_seconds[number], time.perf_counter() - start)
        return best_seconds[0] / best_seconds[1]
