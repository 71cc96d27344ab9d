"""From source ids to output ids: one encoder pass, then one of the decoding methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.acceleration import fast_products, fastest_backend
from transformer.inference.backend import Memory
from transformer.inference.beam import Hypotheses, beam_search
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
from transformer.inference.sessions import Session, UncachedSession
from transformer.inference.step_logits import DecodedSequence
from transformer.model import Transformer
from transformer.text.batching import by_length, pad, shift_right

MAX_ROWS = 128
"""Maximum batch size in sentences; larger batches are no faster on a CPU and need more memory."""

MAX_POSITIONS = 8192
"""Maximum batch size in source positions, padding included."""


@dataclass(frozen=True)
class Output:
    """One decoded output, with its beam search or its sampling seed.

    `teacher_forced_ids` are the ids of the last teacher-forced decoder pass, if there was one: a
    trace of the same ids needs no second pass.
    """

    decoded: DecodedSequence
    search: Hypotheses | None = None
    seed: int | None = None
    teacher_forced_ids: list[int] | None = None


class SequenceDecoder:
    """All decoding methods, on ids. Safe to share between threads: each call has its own state."""

    def __init__(self, model: Transformer, precision: str = "auto") -> None:
        self.model, self.config = model, model.config
        self.device = model.embedding.weight.device
        self.backend = fastest_backend(model, precision)

    @torch.inference_mode()
    def encode(self, sources: Sequence[list[int]], hooks: Hooks | None = None) -> Memory:
        """Run the encoder over sources padded to the longest."""
        src = pad(sources, self.config.pad_id, self.device)
        return self.backend.encode(src, [len(source) for source in sources], hooks)

    @torch.inference_mode()
    def decode(
        self,
        memory: Memory,
        options: Decoding,
        hooks: Hooks | None = None,
        targets: Sequence[list[int]] | None = None,
        min_len: int = 0,
        recording_hooks: Hooks | None = None,
        prefix: Sequence[int] = (),
    ) -> list[Output]:
        """Decode one output for each source; unless it is forced, it begins with `prefix`.

        With `hooks`, which may replace tensors, the whole decoder runs at each step, or once over a
        whole draft if they are causal. `recording_hooks` are used instead of `hooks` in passes over
        a whole output: the same interventions, with hooks that record.
        """
        if options.method == "forced":
            return self._forced(memory, options, recording_hooks or hooks, targets or [])
        limits = [output_limit(n, self.config, options.max_len) for n in memory.lengths]
        check_prefix(prefix, min(limits), self.config)
        if options.method == "beam":
            session = self._session(memory, max(limits), hooks)
            searches = beam_search(session, limits, self.config, options, self.device, prefix)
            return [Output(result.decoded(), search=result) for result in searches]
        seeds: list[int | None] = [None] * len(limits)
        choose: TokenChooser = greedy
        if options.method == "sample":
            sampling_seeds = [new_seed() if options.seed is None else options.seed for _ in limits]
            choose, seeds = Sampler(options, sampling_seeds, max(limits)), list(sampling_seeds)
        if prefix:
            choose = PrefixChooser(prefix, choose)
        if len(limits) == 1 and (not hooks or hooks.causal):
            output = self._speculative(
                memory, choose, limits[0], options, min_len, recording_hooks or hooks
            )
            if output is not None:
                return [replace(output, seed=seeds[0])]
        sequences = search(
            self._session(memory, max(limits), hooks),
            choose,
            limits,
            self.config,
            candidates=options.candidates,
            device=self.device,
            min_len=min_len,
        )
        return [Output(result, seed=seed) for result, seed in zip(sequences, seeds, strict=True)]

    def run(
        self,
        sources: Sequence[list[int]],
        options: Decoding,
        hooks: Hooks | None = None,
        targets: Sequence[list[int]] | None = None,
        min_len: int = 0,
        prefix: Sequence[int] = (),
    ) -> list[Output]:
        """Encode and decode any number of sources in batches of similar length."""
        outputs: dict[int, Output] = {}
        max_rows = max(1, MAX_ROWS // options.beam_size)
        for indices in group_by_length([len(source) for source in sources], max_rows):
            memory = self.encode([sources[i] for i in indices], hooks)
            batch_targets = None if targets is None else [targets[i] for i in indices]
            batch_outputs = self.decode(
                memory, options, hooks, batch_targets, min_len, prefix=prefix
            )
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
        with fast_products():
            states = self.model.decode(tgt, memory.states, memory.src_mask, hooks=hooks)
            return self.model.project(states, hooks)

    def _forced(
        self, memory: Memory, options: Decoding, hooks: Hooks | None, targets: Sequence[list[int]]
    ) -> list[Output]:
        rows = self.logits(memory, targets, hooks)
        return [
            Output(
                record_forced(row[: len(ids)], ids, self.config, options.candidates),
                teacher_forced_ids=ids,
            )
            for row, ids in zip(rows, targets, strict=True)
        ]

    def _speculative(
        self,
        memory: Memory,
        choose: TokenChooser,
        limit: int,
        options: Decoding,
        min_len: int,
        recording_hooks: Hooks | None,
    ) -> Output | None:
        """Decode one output by drafting and verifying; None if the backend does not draft."""
        teacher_forced_ids: list[int] = []

        def verify(ids: list[int]) -> Float[Tensor, "tgt vocab"]:
            teacher_forced_ids[:] = ids
            return self.logits(memory, [ids], recording_hooks)[0]

        decoded = self.backend.decode_speculatively(memory, verify, choose, limit, options, min_len)
        return None if decoded is None else Output(decoded, teacher_forced_ids=teacher_forced_ids)

    def _session(self, memory: Memory, max_len: int, hooks: Hooks | None) -> Session:
        if hooks:
            return UncachedSession(self.model, memory.states, memory.src_mask, hooks)
        return self.backend.session(memory, max_len)


def group_by_length(lengths: Sequence[int], max_rows: int) -> list[list[int]]:
    """Return source indices grouped by length, within `max_rows` and `MAX_POSITIONS`."""
    groups: list[list[int]] = []
    for index in by_length(lengths):
        is_full = not groups or len(groups[-1]) >= max_rows
        if is_full or (len(groups[-1]) + 1) * lengths[index] > MAX_POSITIONS:
            groups.append([])
        groups[-1].append(index)
    return groups
