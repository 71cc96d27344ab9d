"""From source ids to output ids: one encoder pass, then the decoding that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.hooks import Hooks
from transformer.inference.acceleration import backend_of, fast_products
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
    Choose,
    Prefixed,
    Sampler,
    forced,
    greedy,
    new_seed,
    search,
)
from transformer.inference.sessions import Session, UncachedSession
from transformer.inference.step_logits import Decoded
from transformer.model import Transformer
from transformer.text.batching import by_length, pad, shift_right

MAX_ROWS = 128
"""Most sentences side by side; more gain no speed on a CPU and cost memory."""

MAX_POSITIONS = 8192
"""Most source positions side by side, padding included."""


@dataclass(frozen=True)
class Output:
    """One decoded output, with the tree of its beam search or the seed of its sampling. `passed`
    are the ids that one pass of the whole decoder was made over, if there was one."""

    decoded: Decoded
    search: Hypotheses | None = None
    seed: int | None = None
    passed: list[int] | None = None


class SequenceDecoder:
    """All ways of decoding, over ids. Threads share it; each call keeps its own state."""

    def __init__(self, model: Transformer, precision: str = "auto") -> None:
        self.model, self.config = model, model.config
        self.device = model.embedding.weight.device
        self.backend = backend_of(model, precision)

    @torch.inference_mode()
    def encode(self, sources: Sequence[list[int]], hooks: Hooks | None = None) -> Memory:
        """One pass of the encoder over sources padded to the longest."""
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
        watch: Hooks | None = None,
        prefix: Sequence[int] = (),
    ) -> list[Output]:
        """One output a source; unless it is forced, it begins with `prefix`.

        With `hooks`, which may change what they see, the whole decoder runs through them at each
        step, or over a whole draft if they are causal. `watch` is for passes over a whole output,
        if any are made: `hooks`, and others that only look.
        """
        if options.method == "forced":
            return self._forced(memory, options, watch or hooks, targets or [])
        limits = [output_limit(n, self.config, options.max_len) for n in memory.lengths]
        check_prefix(prefix, min(limits), self.config)
        if options.method == "beam":
            session = self._session(memory, max(limits), hooks)
            searches = beam_search(session, limits, self.config, options, self.device, prefix)
            return [Output(one.decoded(), search=one) for one in searches]
        seeds: list[int | None] = [None] * len(limits)
        choose: Choose = greedy
        if options.method == "sample":
            drawn = [new_seed() if options.seed is None else options.seed for _ in limits]
            choose, seeds = Sampler(options, drawn, max(limits)), list(drawn)
        if prefix:
            choose = Prefixed(prefix, choose)
        if len(limits) == 1 and (not hooks or hooks.causal):
            output = self._speculative(memory, choose, limits[0], options, min_len, watch or hooks)
            if output is not None:
                return [replace(output, seed=seeds[0])]
        found = search(
            self._session(memory, max(limits), hooks),
            choose,
            limits,
            self.config,
            candidates=options.candidates,
            device=self.device,
            min_len=min_len,
        )
        return [Output(one, seed=seed) for one, seed in zip(found, seeds, strict=True)]

    def run(
        self,
        sources: Sequence[list[int]],
        options: Decoding,
        hooks: Hooks | None = None,
        targets: Sequence[list[int]] | None = None,
        min_len: int = 0,
        prefix: Sequence[int] = (),
    ) -> list[Output]:
        """Encode and decode any number of sources, those of like length side by side."""
        outputs: dict[int, Output] = {}
        for numbers in _batches([len(source) for source in sources], options.beam_size):
            memory = self.encode([sources[i] for i in numbers], hooks)
            given = None if targets is None else [targets[i] for i in numbers]
            found = self.decode(memory, options, hooks, given, min_len, prefix=prefix)
            outputs.update(zip(numbers, found, strict=True))
        return [outputs[i] for i in range(len(sources))]

    def check_target(self, ids: list[int], options: Decoding) -> list[int]:
        """`ids` as they are. Raises ValueError if a decoder cannot be forced to them."""
        config = self.config
        limit = options.max_len or source_limit(config) + EXTRA_LENGTH
        if config.positions == "learned":
            limit = min(limit, config.max_len)
        if len(ids) > limit:
            raise ValueError(
                f"The translation to force has {len(ids)} pieces; at most {limit} can be forced."
            )
        if not ids:
            raise ValueError("There is no translation to force; `</s>` at least is needed.")
        check_pieces("Target", ids, config)
        return ids

    def inputs(self, outputs: Sequence[list[int]]) -> Int[Tensor, "rows tgt"]:
        """What the decoder reads to write `outputs`: `<s>`, then all but the last (section 3.1)."""
        rows = shift_right(outputs, self.config.bos_id)
        return pad(rows, self.config.pad_id, self.device)

    @torch.inference_mode()
    def logits(
        self, memory: Memory, outputs: Sequence[list[int]], hooks: Hooks | None = None
    ) -> Float[Tensor, "rows tgt vocab"]:
        """One teacher-forced pass: row i are the logits that `outputs[…][i]` was chosen from."""
        tgt = self.inputs(outputs)
        with fast_products():
            states = self.model.decode(tgt, memory.states, memory.src_mask, hooks=hooks)
            return self.model.project(states, hooks)

    def _forced(
        self, memory: Memory, options: Decoding, hooks: Hooks | None, targets: Sequence[list[int]]
    ) -> list[Output]:
        rows = self.logits(memory, targets, hooks)
        return [
            Output(forced(row[: len(ids)], ids, self.config, options.candidates), passed=ids)
            for row, ids in zip(rows, targets, strict=True)
        ]

    def _speculative(
        self,
        memory: Memory,
        choose: Choose,
        limit: int,
        options: Decoding,
        min_len: int,
        watch: Hooks | None,
    ) -> Output | None:
        """One output by drafting and verifying, or None where the backend does not draft."""
        passed: list[int] = []

        def verify(ids: list[int]) -> Float[Tensor, "tgt vocab"]:
            passed[:] = ids
            return self.logits(memory, [ids], watch)[0]

        decoded = self.backend.decode_speculatively(memory, verify, choose, limit, options, min_len)
        return None if decoded is None else Output(decoded, passed=passed)

    def _session(self, memory: Memory, max_len: int, hooks: Hooks | None) -> Session:
        if hooks:
            return UncachedSession(self.model, memory.states, memory.src_mask, hooks)
        return self.backend.session(memory, max_len)


def _batches(lengths: Sequence[int], beam_size: int) -> list[list[int]]:
    """Numbers of the sources, grouped by length; each group fits `MAX_ROWS` and `MAX_POSITIONS`."""
    groups: list[list[int]] = []
    most = max(1, MAX_ROWS // beam_size)
    for number in by_length(lengths):
        full = not groups or len(groups[-1]) >= most
        if full or (len(groups[-1]) + 1) * lengths[number] > MAX_POSITIONS:
            groups.append([])
        groups[-1].append(number)
    return groups
