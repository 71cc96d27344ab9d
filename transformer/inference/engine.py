"""Which arrangement of the decoder is fastest here: measured, not guessed from a processor's name.

What is measured once is kept; copies of weights are made anew when somebody has edited the model.
"""

from __future__ import annotations

import threading
import time
from typing import Literal, get_args

import torch
from torch import Tensor

from transformer.inference.sessions import CachedSession, Session
from transformer.inference.speculative import SingleSession
from transformer.inference.weights import Bf16, DecoderWeights, Exact, ExactCopy, Int8
from transformer.model import Transformer

Precision = Literal["auto", "fp32", "bf16"]

MANY = 8
"""From so many rows on, bfloat16 products may be used."""

TRIALS = 10
"""Steps of each kind that are timed before one is chosen."""

WORTH_IT = 2_000_000
"""Weights of a decoder below which float32 is as fast, and nothing is measured."""


Stamp = tuple[tuple[int, int], ...]


class Engine:
    """Sessions for one model. Threads share it.

    One row is drafted in eight bits where that is faster, and checked in float32, so its result is
    that of float32. With precision "auto", `MANY` rows or more use bfloat16 products if they are
    faster here; then two nearly equal tokens may change places. "fp32" never does, "bf16" always.

    Weights may be edited in place between two calls: float32 is laid out for each call, from the
    model's own tensors, and copies in fewer bits are compared with them.
    """

    def __init__(self, model: Transformer, precision: str = "auto") -> None:
        if precision not in get_args(Precision):
            known = ", ".join(get_args(Precision))
            raise ValueError(f"precision must be one of {known}, not {precision!r}")
        self.model, self.precision = model, precision
        self._lock = threading.Lock()
        self._half: list[DecoderWeights | None] = []  # empty until it is known
        self._one: list[DecoderWeights | None] = []
        self._half_of: Stamp = ()
        self._one_of: Stamp = ()
        on_cpu = model.embedding.weight.device.type == "cpu"
        n_weights = sum(p.numel() for p in model.decoder.parameters())
        self._worth_it = on_cpu and n_weights >= WORTH_IT
        self._dot = model.config.score != "additive"

    def half(self, rows: int) -> DecoderWeights | None:
        """Weights for bfloat16 products if so many rows are to use them, else None."""
        auto = self.precision == "auto" and self._worth_it and rows >= MANY
        if not auto and self.precision != "bf16":
            return None
        stamp = self._stamp(content=True)
        with self._lock:
            if not self._half:
                self._half = [self._best_for_many()]
            elif self._half[0] is not None and self._half_of not in ((), stamp):
                self._half = [DecoderWeights(self.model, Bf16)]
            self._half_of = stamp
            return self._half[0]

    def draft(self) -> DecoderWeights | None:
        """Weights to draft one output with, or None if that is no faster here."""
        if not (self._worth_it and self._dot):
            return None
        stamp = self._stamp()
        with self._lock:
            if not self._one:
                self._one = [self._best_for_one()]
            elif self._one[0] is not None and self._one_of not in ((), stamp):
                self._one = [_eight_bits(self.model)]
            self._one_of = stamp
            return self._one[0]

    def exact(self) -> DecoderWeights:
        """The model's own weights: little is copied, and that in about a hundredth of the time of a
        short sentence."""
        return DecoderWeights(self.model, Exact)

    def _stamp(self, *, content: bool = False) -> Stamp:
        """Another one after an edit of a weight that copies are made of.

        torch counts edits in place, but not those through `.data`: `content` adds up the bits as
        well, in which one number that is changed shows, and two that are exchanged do not. A draft
        does without, for whatever it says is checked against the model.
        """
        weights = [*self.model.decoder.parameters(), self.model.embedding.weight]
        if self.model.output_bias is not None:
            weights.append(self.model.output_bias)
        edits = tuple((w.data_ptr(), 0 if w.is_inference() else w._version) for w in weights)
        if not content:
            return edits
        sums = (int(w.detach().view(torch.int32).sum(dtype=torch.int32)) for w in weights)
        return edits + tuple((number, total) for number, total in enumerate(sums))

    def _best_for_one(self) -> DecoderWeights | None:
        memory, mask = self._made_up(1)
        try:
            int8 = _eight_bits(self.model)
            draft = SingleSession(int8, memory, TRIALS)
            ratio = self._ratio(draft, CachedSession(self.exact(), memory, mask, TRIALS), 1)
        except (AttributeError, RuntimeError):  # a torch or a processor without this product
            return None
        return int8 if ratio < 0.6 else None  # the check takes its time as well

    def _best_for_many(self) -> DecoderWeights | None:
        half, rows = DecoderWeights(self.model, Bf16), 32
        if self.precision == "bf16":
            return half
        memory, mask = self._made_up(rows)
        one, other = (CachedSession(w, memory, mask, TRIALS) for w in (half, self.exact()))
        return half if self._ratio(one, other, rows) < 0.8 else None

    def _made_up(self, rows: int) -> tuple[Tensor, Tensor]:
        """Memory and mask of sentences of 16 pieces."""
        memory = self.model.embedding.weight.new_ones(rows, 16, self.model.config.d_model)
        return memory, torch.ones(rows, 1, 1, 16, dtype=torch.bool, device=memory.device)

    @torch.inference_mode()
    def _ratio(self, one: Session, other: Session, rows: int) -> float:
        """How long a step of `one` takes, in steps of `other`. They take turns, and the quickest of
        each counts: another process may disturb some steps, seldom all of one kind."""
        vocab, device = self.model.config.vocab_size, self.model.embedding.weight.device
        out = torch.empty(rows, vocab, device=device)
        ids = torch.full((rows,), vocab - 1, device=device)
        best = [float("inf")] * 2
        for _ in range(TRIALS):
            for number, session in enumerate((one, other)):
                begun = time.perf_counter()
                session.step(ids, out)
                best[number] = min(best[number], time.perf_counter() - begun)
        return best[0] / best[1]


def _eight_bits(model: Transformer) -> DecoderWeights:
    return DecoderWeights(model, Int8, ExactCopy)
