"""Many rows at once: keys and values kept in blocks, rows moved in place.

Gives what `sessions.CachedSession` gives, from any kind of `DecoderWeights`.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer.cancellation import check_cancelled
from transformer.inference.fast.weights import DecoderWeights, LayerWeights
from transformer.model.attention import ScoreFunction

BLOCK = 16
"""Keys are kept in multiples of this; torch's batched product is slow below 13 of them."""

Flat = Float[Tensor, "rows_heads length d_k"]


class BatchSession:
    """`Session` for any number of rows; one token a row and step goes through the decoder."""

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
        spare = max(0, BLOCK - memory.shape[1])
        seen = torch.nn.functional.pad(src_mask[:, 0, 0], (0, spare))
        memory = torch.nn.functional.pad(memory, (0, 0, 0, spare))
        self.cross = memory.new_empty(*self.cache.shape[:4], memory.shape[1], self.d_k)
        for kept, layer in zip(self.cross, weights.layers, strict=True):
            kept.copy_(self._cross(layer, memory))
        hidden = memory.new_zeros(seen.shape).masked_fill_(~seen, -torch.inf)
        self.cross_mask = hidden[:, None, None].repeat(1, self.n_heads, 1, 1)
        self._lay_out()

    def step(self, ids: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        check_cancelled()
        weights, t = self.weights, self.length
        if t == self.cache.shape[4]:
            self._grow()
            self._lay_out()
        x = torch.add(self.positions[t], weights.embedding[ids], alpha=weights.embedding_scale)
        mask, width = self.masks[t], self.n_heads * self.d_k
        layers = zip(weights.layers, self.flat_cache, self.flat_cross, strict=True)
        for layer, (cache, keys, values), (cross_keys, cross_values) in layers:
            parts = x.new_empty(3, self.rows, self.n_heads, self.d_k)
            parts.copy_(layer.qkv(x).view(self.rows, 3, self.n_heads, self.d_k).transpose(0, 1))
            flat = parts.view(3, -1, 1, self.d_k)
            cache[:, :, t] = flat[1:, :, 0]
            heads = self._attend(layer.own_score, flat[0], keys, values, mask)
            x = layer.own_norm(layer.o.plus(x, heads.view(self.rows, width)))
            query = layer.cross_q(x).to(x.dtype).view(-1, 1, self.d_k)
            heads = self._attend(
                layer.cross_score, query, cross_keys, cross_values, self.flat_cross_mask
            )
            x = layer.cross_norm(layer.cross_o.plus(x, heads.view(self.rows, width)))
            hidden = layer.activation(layer.w_1.plus(layer.b_1, x))
            x = layer.ffn_norm(layer.w_2.plus(x, hidden))
        self.length = t + 1
        return weights.output(x).float()

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
            self._move(rows, batch_indices)
        if (batch_indices, len(rows)) != (self.batch_indices, self.rows):
            self.batch_indices, self.rows = batch_indices, len(rows)
            self._lay_out()

    def _move(self, rows: list[int], batch_indices: list[int]) -> None:
        """Where they are: new room costs more than what is copied into it. What a place
        has already is not copied, nor what no step has written yet."""
        moves = [(row, place) for place, row in enumerate(rows) if row != place]
        _copy_rows(self.cache[..., : self.length, :], 2, moves)
        others = [(row, to) for row, to in moves if batch_indices[to] != self.batch_indices[to]]
        _copy_rows(self.cross, 2, others)
        _copy_rows(self.cross_mask, 0, others)
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
        """One query a row and head; `mask` is added to the scores, -∞ where nothing may be seen."""
        if score.kind == "additive":
            shape = (self.rows, self.n_heads, -1, self.d_k)
            scores = score(query.view(shape), keys.view(shape)).flatten(0, 1) + mask
        else:
            scores = torch.baddbmm(mask, query, keys.transpose(1, 2), alpha=score.scale)
        return torch.bmm(scores.softmax(dim=-1), values)

    def _cross(
        self, layer: LayerWeights, memory: Float[Tensor, "rows src d_model"]
    ) -> Float[Tensor, "2 rows heads src d_k"]:
        both = layer.cross_kv(memory.flatten(0, 1)).unflatten(0, memory.shape[:2])
        return both.unflatten(-1, (2, self.n_heads, self.d_k)).permute(2, 0, 3, 1, 4)  # type: ignore[no-any-return]

    def _grow(self) -> None:
        """Twice the room for keys and values, and masks that hide what is not there yet."""
        had = self.cache.shape[4]
        room = max(BLOCK, 2 * had)
        cache = self.cache.new_zeros(*self.cache.shape[:4], room, self.d_k)
        cache[:, :, :, :, :had] = self.cache
        self.cache = cache
        later = torch.ones(room, room, dtype=torch.bool, device=cache.device).triu(1)
        masks = cache.new_zeros(room, 1, 1, room)
        self.masks = masks.masked_fill_(later[:, None, None], -torch.inf).unbind(0)

    def _lay_out(self) -> None:
        """Views that every step needs, rows and heads as one dimension."""
        caches = self.cache.flatten(2, 3).unbind(0)
        self.flat_cache = [(cache, *cache.unbind(0)) for cache in caches]
        self.flat_cross = [tuple(both.flatten(1, 2).unbind(0)) for both in self.cross.unbind(0)]
        self.flat_cross_mask = self.cross_mask.flatten(0, 1)


def _copy_rows(kept: Tensor, dim: int, moves: list[tuple[int, int]]) -> None:
    """Write row `i` of `kept` to where row `j` is, for all (i, j) at once."""
    if moves:
        rows, places = torch.tensor(moves, device=kept.device).unbind(1)
        kept.index_copy_(dim, places, kept.index_select(dim, rows))
