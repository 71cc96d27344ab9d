"""Decoding sessions: the state of a batch of outputs between two decoding steps.

`UncachedSession` runs the whole decoder at every step. It is slow and correct by construction, and
interventions use it: at each step a hook receives the tensors of all tokens so far. `CachedSession`
caches the keys and values of every layer, so that only the newest token passes through the decoder.
Both return the same distributions, which a test checks.
"""

from __future__ import annotations

from typing import Protocol, cast, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from transformer.hooks import HookFn, Hooks
from transformer.inference.next_tokens import NextTokens
from transformer.model import Transformer
from transformer.model.layers import DecoderLayer


@runtime_checkable
class Session(Protocol):
    """State of a batch of outputs during decoding, one row for each output."""

    def step(self, ids: Int[Tensor, " rows"], k: int) -> NextTokens:
        """Read the next token of each row (`<s>` first); return the distribution of the one after
        it, with the `k` most probable tokens."""

    def select(self, rows: list[int]) -> None:
        """Continue with the given rows, in this order; a row may occur more than once."""


class UncachedSession:
    """`Session` that runs the full decoder at every step, with the hooks of one call."""

    def __init__(
        self,
        model: Transformer,
        memory: Float[Tensor, "rows src d_model"],
        src_mask: Bool[Tensor, "rows 1 1 src"],
        hooks: Hooks | None = None,
    ) -> None:
        self.model, self.memory, self.src_mask, self.hooks = model, memory, src_mask, hooks
        self.prefix = torch.empty(len(memory), 0, dtype=torch.long, device=memory.device)

    def step(self, ids: Int[Tensor, " rows"], k: int) -> NextTokens:
        self.prefix = torch.cat([self.prefix, ids[:, None]], dim=1)
        states = self.model.decode(self.prefix, self.memory, self.src_mask, hooks=self.hooks)
        logits = self.model.project(states, self.hooks)[:, -1]
        return NextTokens.of(logits, self.model.config, k)

    def select(self, rows: list[int]) -> None:
        index = torch.tensor(rows, device=self.prefix.device)
        self.prefix = self.prefix[index]
        self.memory, self.src_mask = self.memory[index], self.src_mask[index]


class CachedSession:
    """`Session` that caches keys and values of every layer, each (rows, heads, length, d_k).

    `hooks` must be causal. A hook receives the tensors of all tokens so far, as in
    `UncachedSession`; of its result only the row of the newest token is used.
    """

    def __init__(
        self,
        model: Transformer,
        memory: Float[Tensor, "rows src d_model"],
        src_mask: Bool[Tensor, "rows 1 1 src"],
        hooks: Hooks | None = None,
    ) -> None:
        self.model, self.src_mask, self.length = model, src_mask, 0
        self.layers = cast(list[DecoderLayer], list(model.decoder.layers))
        self.cross_keys_values = [layer.cross_attn.project_memory(memory) for layer in self.layers]
        n_heads, d_k = model.config.n_heads, model.config.d_k
        empty = memory.new_empty(len(memory), n_heads, 0, d_k)
        self.self_keys_values = [(empty, empty) for _ in self.layers]
        # Keys and values always have all positions, so their hooks need no earlier ones.
        resolved = {} if hooks is None else hooks.resolved(model.hook_names)
        self.growing = {
            name: _HookWithEarlierPositions(hook)
            for name, hook in resolved.items()
            if not name.endswith(("hook_key", "hook_value"))
        }
        self.hooks = Hooks({**resolved, **self.growing}) if resolved else None

    def step(self, ids: Int[Tensor, " rows"], k: int) -> NextTokens:
        embedded = self.model.embed(ids[:, None])
        x = self.model.decoder.embed(embedded, self.hooks, start=self.length)
        for layer_index, layer in enumerate(self.layers):
            query, key, value = layer.self_attn.project(x, x)
            keys, values = self.self_keys_values[layer_index]
            keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
            self.self_keys_values[layer_index] = keys, values
            # No mask: all cached positions precede the newest token.
            heads = layer.self_attn.attend(query, keys, values, None, self.hooks)
            x = layer.self_attn_norm(x, heads, self.hooks)
            query = layer.cross_attn.project_query(x)
            heads = layer.cross_attn.attend(
                query, *self.cross_keys_values[layer_index], self.src_mask, self.hooks
            )
            x = layer.cross_attn_norm(x, heads, self.hooks)
            x = layer.ffn_norm(x, layer.ffn(x, self.hooks), self.hooks)
        self.length += 1
        return NextTokens.of(self.model.project(x, self.hooks)[:, 0], self.model.config, k)

    def select(self, rows: list[int]) -> None:
        # Each use of a list as an index would copy it to the device again.
        index = torch.tensor(rows, device=self.src_mask.device)
        self.src_mask = self.src_mask[index]
        self.self_keys_values = [
            (keys[index], values[index]) for keys, values in self.self_keys_values
        ]
        self.cross_keys_values = [
            (keys[index], values[index]) for keys, values in self.cross_keys_values
        ]
        for name, hook in self.growing.items():
            if not name.endswith("hook_positions"):  # the same for all rows
                hook.select(index)


class _HookWithEarlierPositions:
    """Calls a hook with the tensors of all positions so far, and returns the newest position of its
    result."""

    def __init__(self, hook: HookFn) -> None:
        self.hook = hook
        self.positions: Tensor | None = None  # (rows, …, positions, width), before the hook

    def __call__(self, newest: Tensor, name: str) -> Tensor | None:
        positions = newest
        if self.positions is not None:
            # Rows of self-attention become wider: earlier positions do not attend to the newest.
            n_new_keys = newest.shape[-1] - self.positions.shape[-1]
            earlier = functional.pad(self.positions, (0, n_new_keys))
            positions = torch.cat([earlier, newest], dim=-2)
        self.positions = positions
        argument = positions.clone()  # which the hook may change in place
        replaced = self.hook(argument, name)
        if replaced is None:
            replaced = argument
        if getattr(replaced, "shape", None) != positions.shape:
            return replaced  # the hook point raises an error
        return replaced[..., -1:, :]

    def select(self, index: Int[Tensor, " rows"]) -> None:
        if self.positions is not None:
            self.positions = self.positions[index]
