"""Which arrangement of the decoder is fastest here: measured, not guessed from a processor's name.

Each is built when it is first needed, behind a lock; afterwards nothing changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from transformer.inference.cache import CachedSession
from transformer.inference.plain import Session
from transformer.inference.single import SingleSession
from transformer.inference.weights import DecoderWeights, Exact, ExactCopy, Half, Int8
from transformer.model import Transformer

Precision = Literal["auto", "fp32", "bf16"]

MANY = 8
"""From so many rows on, bfloat16 products may be used."""

WORTH_IT = 2_000_000
"""Weights of a decoder below which float32 is as fast, and nothing is measured."""


class Engine:
    """Sessions for one model. Threads share it.

    One row is drafted in eight bits where that is faster, and checked in float32, so its result is
    that of float32. With precision "auto", `MANY` rows or more use bfloat16 products if they are
    faster here; then two nearly equal tokens may change places. "fp32" never does, "bf16" always.
    """

    def __init__(self, model: Transformer, precision: str = "auto") -> None:
        if precision not in get_args(Precision):
            known = ", ".join(get_args(Precision))
            raise ValueError(f"precision must be one of {known}, not {precision!r}")
        self.model, self.precision = model, precision
        self.exact, self.vocab = DecoderWeights(model, Exact), model.config.vocab_size
        self._lock = threading.Lock()
        self._half: list[DecoderWeights | None] = []  # empty until it is known
        self._one: list[DecoderWeights | None] = []
        on_cpu = self.exact.embedding.device.type == "cpu"
        n_weights = sum(p.numel() for p in model.decoder.parameters())
        self._worth_it = on_cpu and n_weights >= WORTH_IT
        self._dot = model.config.score != "additive"

    def half(self, rows: int) -> DecoderWeights | None:
        """Weights for bfloat16 products if so many rows are to use them, else None."""
        auto = self.precision == "auto" and self._worth_it and rows >= MANY
        if not auto and self.precision != "bf16":
            return None
        with self._lock:
            if not self._half:
                half = DecoderWeights(self.model, Half)
                faster = self.precision == "bf16" or self._many(half) < 0.8 * self._many(self.exact)
                self._half = [half if faster else None]
        return self._half[0]

    def draft(self) -> DecoderWeights | None:
        """Weights to draft one output with, or None if that is no faster here."""
        if not (self._worth_it and self._dot):
            return None
        with self._lock:
            if not self._one:
                self._one = [self._best_for_one()]
        return self._one[0]

    def many(
        self, memory: Tensor, src_mask: Tensor, max_len: int, *, exact: bool = False
    ) -> Session:
        """A session for any number of rows."""
        weights = None if exact else self.half(len(memory))
        return CachedSession(weights or self.exact, memory, src_mask, max_len)

    def _best_for_one(self) -> DecoderWeights | None:
        try:
            int8 = DecoderWeights(self.model, Int8, ExactCopy)
            return int8 if self._single(int8) < 0.6 * self._many(self.exact, 1) else None
        except (AttributeError, RuntimeError):  # a torch or a processor without this product
            return None

    def _many(self, weights: DecoderWeights, rows: int = 32) -> float:
        memory = self.exact.embedding.new_ones(rows, 16, self.model.config.d_model)
        mask = torch.ones(rows, 1, 1, 16, dtype=torch.bool)
        return _seconds(lambda: CachedSession(weights, memory, mask, 8), rows, self.vocab)

    def _single(self, weights: DecoderWeights) -> float:
        memory = self.exact.embedding.new_ones(1, 16, self.model.config.d_model)
        return _seconds(lambda: SingleSession(weights, memory, 8), 1, self.vocab)


@torch.inference_mode()
def _seconds(start: Callable[[], Session], rows: int, vocab: int) -> float:
    """The quickest of some steps."""
    session, times = start(), []
    out, ids = torch.empty(rows, vocab), torch.full((rows,), vocab - 1)
    for _ in range(6):
        begun = time.perf_counter()
        session.step(ids, out)
        times.append(time.perf_counter() - begun)
    return min(times)
