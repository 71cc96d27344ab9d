"""From source ids to output ids: one encoder pass, then one of the decoding methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.beam import Hypotheses, beam_search
from transformer.inference.next_tokens import DecodedSequence, never_generated
from transformer.inference.onnx_session import OnnxModel, OnnxSession
from transformer.inference.options import (
    EXTRA_LENGTH,
    Decoding,
    check_pieces,
    check_prefix,
    output_limit,
    source_limit,
)
from transformer.inference.search import (
    PrefixChooser,
    Sampler,
    TokenChooser,
    greedy,
    new_seed,
    record_forced,
    search,
)
from transformer.inference.sessions import CachedSession, Session, UncachedSession
from transformer.model import Transformer
from transformer.model.attention import padding_mask
from transformer.text.batching import by_length, pad, shift_right

MAX_ROWS = 128
"""Maximum batch size in sentences; larger batches are no faster on a CPU and need more memory."""

MAX_POSITIONS = 8192
"""Maximum batch size in source positions, padding included."""


@dataclass(frozen=True)
class Memory:
    """Encoder output for a batch of sources, padded to the longest."""

    src: Int[Tensor, "rows src"]
    src_mask: Bool[Tensor, "rows 1 1 src"]
    states: Float[Tensor, "rows src d_model"]
    lengths: list[int]


@dataclass(frozen=True)
class Output:
    """One decoded output, with its beam search or its sampling seed."""

    decoded: DecodedSequence
    search: Hypotheses | None = None
    seed: int | None = None


class SequenceDecoder:
    """All decoding methods, on ids. Safe to share between threads: each call has its own state.

    A float32 model on a CPU runs in ONNX Runtime, unless there are hooks; any other one, and one
    with hooks, in PyTorch. The two differ by rounding only.
    """

    def __init__(self, model: Transformer) -> None:
        self.model, self.config = model, model.config
        self.device = model.embedding.weight.device
        self.onnx_model = OnnxModel(model) if OnnxModel.supports(model) else None

    @torch.inference_mode()
    def encode(self, sources: Sequence[list[int]], hooks: Hooks | None = None) -> Memory:
        """Run the encoder over sources padded to the longest."""
        src = pad(sources, self.config.pad_id, self.device)
        mask = padding_mask(src, self.config.pad_id)
        if self.onnx_model is None or hooks:
            states = self.model.encode(src, mask, hooks)
        else:
            states = self.onnx_model.encode(src, mask)
        return Memory(src, mask, states, [len(source) for source in sources])

    @torch.inference_mode()
    def decode(
        self,
        memory: Memory,
        options: Decoding,
        hooks: Hooks | None = None,
        targets: Sequence[list[int]] | None = None,
        prefix: Sequence[int] = (),
    ) -> list[Output]:
        """Decode one output for each source; unless it is forced, it begins with `prefix`.

        With `hooks` that are not causal, the whole decoder runs at each step.
        """
        if options.method == "forced":
            return self._forced(memory, options, hooks, targets or [])
        limits = [output_limit(n, self.config, options.max_len) for n in memory.lengths]
        check_prefix(prefix, min(limits), self.config)
        if options.method == "beam":
            searches = beam_search(
                self._session(memory, hooks), limits, self.config, options, self.device, prefix
            )
            return [Output(result.decoded(), search=result) for result in searches]
        seeds: list[int | None] = [None] * len(limits)
        choose: TokenChooser = greedy
        if options.method == "sample":
            sampling_seeds = [new_seed() if options.seed is None else options.seed for _ in limits]
            banned = never_generated(self.config)
            choose = Sampler(options, sampling_seeds, max(limits), banned)
            seeds = list(sampling_seeds)
        if prefix:
            choose = PrefixChooser(prefix, choose)
        sequences = search(
            self._session(memory, hooks),
            choose,
            limits,
            self.config,
            candidates=options.candidates,
            device=self.device,
        )
        return [Output(result, seed=seed) for result, seed in zip(sequences, seeds, strict=True)]

    def run(
        self,
        sources: Sequence[list[int]],
        options: Decoding,
        hooks: Hooks | None = None,
        targets: Sequence[list[int]] | None = None,
        prefix: Sequence[int] = (),
    ) -> list[Output]:
        """Encode and decode any number of sources in batches of similar length."""
        outputs: dict[int, Output] = {}
        max_rows = max(1, MAX_ROWS // options.beam_size)
        for indices in group_by_length([len(source) for source in sources], max_rows):
            memory = self.encode([sources[i] for i in indices], hooks)
            batch_targets = None if targets is None else [targets[i] for i in indices]
            batch_outputs = self.decode(memory, options, hooks, batch_targets, prefix)
            outputs.update(zip(indices, batch_outputs, strict=True))
        return [outputs[i] for i in range(len(sources))]

    def check_target(self, ids: list[int], options: Decoding) -> list[int]:
        """Return `ids` unchanged. Raises ValueError if the decoder cannot be forced to them."""
        config = self.config
        limit = options.max_len or source_limit(config) + EXTRA_LENGTH
        if config.positions == "learned":
            limit = min(limit, config.max_len)
        if len(ids) > limit:
            raise ValueError(
                f"The translation to force has {len(ids)} tokens; at most {limit} can be forced."
            )
        if not ids:
            raise ValueError("There is no translation to force; it needs at least `</s>`.")
        check_pieces("Target", ids, config)
        return ids

    def inputs(self, outputs: Sequence[list[int]]) -> Int[Tensor, "rows tgt"]:
        """Return the decoder inputs: `outputs` shifted right by one, `<s>` first (section 3.1)."""
        rows = shift_right(outputs, self.config.bos_id)
        return pad(rows, self.config.pad_id, self.device)

    @torch.inference_mode()
    def logits(
        self, memory: Memory, outputs: Sequence[list[int]], hooks: Hooks | None = None
    ) -> Float[Tensor, "rows tgt vocab"]:
        """Run one teacher-forced pass; `[n, i]` holds the logits that `outputs[n][i]` is chosen
        from."""
        tgt = self.inputs(outputs)
        states = self.model.decode(tgt, memory.states, memory.src_mask, hooks=hooks)
        return self.model.project(states, hooks)

    def _forced(
        self, memory: Memory, options: Decoding, hooks: Hooks | None, targets: Sequence[list[int]]
    ) -> list[Output]:
        rows = self.logits(memory, targets, hooks)
        return [
            Output(record_forced(row[: len(ids)], ids, self.config, options.candidates))
            for row, ids in zip(rows, targets, strict=True)
        ]

    def _session(self, memory: Memory, hooks: Hooks | None) -> Session:
        if hooks and not hooks.causal:
            return UncachedSession(self.model, memory.states, memory.src_mask, hooks)
        if hooks or self.onnx_model is None:
            return CachedSession(self.model, memory.states, memory.src_mask, hooks)
        return OnnxSession(self.onnx_model, memory.states, memory.src_mask)


def group_by_length(lengths: Sequence[int], max_rows: int) -> list[list[int]]:
    """Return source indices grouped by length, within `max_rows` and `MAX_POSITIONS`."""
    groups: list[list[int]] = []
    for index in by_length(lengths):
        is_full = not groups or len(groups[-1]) >= max_rows
        if is_full or (len(groups[-1]) + 1) * lengths[index] > MAX_POSITIONS:
            groups.append([])
        groups[-1].append(index)
    return groups
