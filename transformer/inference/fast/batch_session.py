"""Cached decoding of many rows: the cache grows in blocks, and rows are moved in place.

Returns the same logits as `sessions.CachedSession`, from any kind of `DecoderWeights`.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer.cancellation import check_cancelled
from transformer.inference.fast.weights import DecoderWeights, LayerWeights
from transformer.model.attention import ScoreFunction

INITIAL_CAPACITY = 16
"""Number of positions that the cache has room for before it first grows."""

Flat = Float[Tensor, "rows_heads length d_k"]


class BatchSession:
    """`Session` for any number of rows; each step runs the decoder on one token per row."""

    def __init__(
        self,
        weights: DecoderWeights,
        memory: Float[Tensor, "rows src d_model"],
        src_mask: Bool[Tensor, "rows 1 1 src"],
        max_len: int,
    ) -> None:
        self.weights, self.length, self.max_len = weights, 0, max_len
        config = weights.config
        self.n_layers, self.n_heads, self.d_k = config.n_layers, config.n_heads, config.d_k
        self.rows, self.batch_indices = len(memory), list(range(len(memory)))
        self.positions = weights.positions(max_len)
        self.cache = memory.new_zeros(self.n_layers, 2, self.rows, self.n_heads, 0, self.d_k)
        self._grow()
        self.cross = memory.new_empty(*self.cache.shape[:4], memory.shape[1], self.d_k)
        for layer_cache, layer in zip(self.cross, weights.layers, strict=True):
            layer_cache.copy_(self._memory_keys_values(layer, memory))
        mask = memory.new_zeros(src_mask.shape).masked_fill_(~src_mask, -torch.inf)
        self.cross_mask = mask.repeat(1, self.n_heads, 1, 1)
        self._update_views()

    def step(self, ids: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        check_cancelled()
        weights, t = self.weights, self.length
        if t == self.cache.shape[4]:
            self._grow()
            self._update_views()
        x = torch.add(self.positions[t], weights.embedding[ids], alpha=weights.embedding_scale)
        mask, width = self.masks[t], self.n_heads * self.d_k
        layers = zip(weights.layers, self.flat_cache, self.flat_cross, strict=True)
        for layer, (cache, keys, values), (cross_keys, cross_values) in layers:
            parts = x.new_empty(3, self.rows, self.n_heads, self.d_k)
            parts.copy_(layer.qkv(x).view(self.rows, 3, self.n_heads, self.d_k).transpose(0, 1))
            flat = parts.view(3, -1, 1, self.d_k)
            cache[:, :, t] = flat[1:, :, 0]
            heads = self._attend(layer.self_score, flat[0], keys, values, mask)
            x = layer.self_norm(layer.o.addmm(x, heads.view(self.rows, width)))
            query = layer.cross_q(x).to(x.dtype).view(-1, 1, self.d_k)
            heads = self._attend(
                layer.cross_score, query, cross_keys, cross_values, self.flat_cross_mask
            )
            x = layer.cross_norm(layer.cross_o.addmm(x, heads.view(self.rows, width)))
            x = layer.ffn_norm(layer.w_2.addmm(x, layer.activation(layer.w_1(x))))
        self.length = t + 1
        return weights.output(x).float()

    def rewind(self, length: int) -> None:
        """Discard all but the first `length` tokens; later steps overwrite their positions."""
        self.length = length

    def select(self, rows: list[int]) -> None:
        if rows == list(range(self.rows)):
            return
        batch_indices = [self.batch_indices[row] for row in rows]
        if len(rows) > self.rows:
            index = torch.tensor(rows, device=self.cache.device)
            self.cache = self.cache.index_select(2, index)
            self.cross = self.cross.index_select(2, index)
            self.cross_mask = self.cross_mask.index_select(0, index)
        else:
            self._move_rows(rows, batch_indices)
        if (batch_indices, len(rows)) != (self.batch_indices, self.rows):
            self.batch_indices, self.rows = batch_indices, len(rows)
            self._update_views()

    def _move_rows(self, rows: list[int], batch_indices: list[int]) -> None:
        """Copy the selected rows into the first rows of the existing cache, which is cheaper than
        allocating a new one. Skips rows that are already in place, the memory of rows that continue
        the same output, and cache positions not written yet."""
        moves = [(row, target_row) for target_row, row in enumerate(rows) if row != target_row]
        _copy_rows(self.cache[..., : self.length, :], 2, moves)
        other_sources = [
            (row, target_row)
            for row, target_row in moves
            if batch_indices[target_row] != self.batch_indices[target_row]
        ]
        _copy_rows(self.cross, 2, other_sources)
        _copy_rows(self.cross_mask, 0, other_sources)
        self.cache, self.cross = self.cache[:, :, : len(rows)], self.cross[:, :, : len(rows)]
        self.cross_mask = self.cross_mask[: len(rows)]

    def _attend(
        self,
        score: ScoreFunction,
        query: Float[Tensor, "rows_heads 1 d_k"],
        keys: Flat,
        values: Flat,
        mask: Float[Tensor, "#rows_heads 1 length"],
    ) -> Float[Tensor, "rows_heads 1 d_k"]:
        """Attend with one query per row and head; `mask` is added to the scores, -∞ at positions
        that may not be attended to."""
        if score.kind == "additive":
            shape = (self.rows, self.n_heads, -1, self.d_k)
            scores = score(query.view(shape), keys.view(shape)).flatten(0, 1) + mask
        else:
            scores = torch.baddbmm(mask, query, keys.transpose(1, 2), alpha=score.scale)
        return torch.bmm(scores.softmax(dim=-1), values)

    def _memory_keys_values(
        self, layer: LayerWeights, memory: Float[Tensor, "rows src d_model"]
    ) -> Float[Tensor, "2 rows heads src d_k"]:
        keys_values = layer.cross_kv(memory.flatten(0, 1)).unflatten(0, memory.shape[:2])
        return keys_values.unflatten(-1, (2, self.n_heads, self.d_k)).permute(2, 0, 3, 1, 4)  # type: ignore[no-any-return]

    def _grow(self) -> None:
        """Double the cache of keys and values; the masks hide positions not written yet."""
        old_capacity = self.cache.shape[4]
        capacity = max(INITIAL_CAPACITY, 2 * old_capacity)
        cache = self.cache.new_zeros(*self.cache.shape[:4], capacity, self.d_k)
        cache[:, :, :, :, :old_capacity] = self.cache
        self.cache = cache
        future = torch.ones(capacity, capacity, dtype=torch.bool, device=cache.device).triu(1)
        masks = cache.new_zeros(capacity, 1, 1, capacity)
        self.masks = masks.masked_fill_(future[:, None, None], -torch.inf).unbind(0)

    def _update_views(self) -> None:
        """Update the views of the caches that have rows and heads as one dimension."""
        caches = self.cache.flatten(2, 3).unbind(0)
        self.flat_cache = [(cache, *cache.unbind(0)) for cache in caches]
        self.flat_cross = [
            tuple(keys_values.flatten(1, 2).unbind(0)) for keys_values in self.cross.unbind(0)
        ]
        self.flat_cross_mask = self.cross_mask.flatten(0, 1)


def _copy_rows(tensor: Tensor, dim: int, moves: list[tuple[int, int]]) -> None:
    """Copy row i of `tensor` to row j along `dim`, for all (i, j) of `moves` at once."""
    if moves:
        rows, targets = torch.tensor(moves, device=tensor.device).unbind(1)
        tensor.index_copy_(dim, targets, tensor.index_select(dim, rows))
