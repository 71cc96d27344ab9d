"""Exact speculative decoding of one output: drafted with int8 weights, verified in float32.

One pass of the model over all positions verifies the whole draft, which takes about as long as a
few steps. Up to the first position where the exact logits choose another token the draft equals
exact decoding; from there on it is drafted again. (Leviathan et al. 2023 verify samples; here the
choice is a deterministic function of the logits.) The pass that confirms the output is a
teacher-forced pass, so a trace can be recorded in it.

Drafting uses few operations per step: with one row the time is spent on reading weights and
starting operations. So each layer's attention over the memory is folded into two small matrices,
once per sentence: with k_j a key and W^Q the query projection of a head, score_j = x W^Q k_j
= x · (W^Q k_j), and likewise Σ_j w_j v_j W^O = w · (v W^O). In a model with biases the score gains
b^Q · k_j, and b^O is added to the folded values of the first head, whose weights sum to 1.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from transformer.cancellation import check_cancelled
from transformer.config import ModelConfig
from transformer.inference.backend import Verify
from transformer.inference.fast.weights import DecoderWeights, LayerWeights
from transformer.inference.search import TokenChooser, TokenMask, record_forced
from transformer.inference.step_logits import DecodedSequence

CACHE_BLOCK = 32
"""Minimum number of positions by which the cache grows."""


class SingleSession:
    """`Session` for one row and dot-product attention."""

    def __init__(
        self, weights: DecoderWeights, memory: Float[Tensor, "1 src d_model"], max_len: int
    ) -> None:
        self.weights, self.length = weights, 0
        config = weights.config
        self.n_layers, self.n_heads, self.d_k = config.n_layers, config.n_heads, config.d_k
        self.positions = weights.positions(max_len)
        self.folded = [self._fold(layer, memory[0]) for layer in weights.layers]
        self.cache = memory.new_zeros(self.n_layers, 0, 3, self.n_heads, self.d_k)
        self._grow()

    def step(self, ids: Int[Tensor, "1"]) -> Float[Tensor, "1 vocab"]:
        check_cancelled()
        weights, t = self.weights, self.length
        if t == self.cache.shape[1]:
            self._grow()
        width, n_heads = self.n_heads * self.d_k, self.n_heads
        x = torch.add(self.positions[t], weights.embedding[ids], alpha=weights.embedding_scale)
        qkv_rows = self.cache[:, t].view(self.n_layers, 1, 3 * width).unbind(0)
        queries = self.cache[:, t, 0].view(self.n_layers, 1, n_heads, 1, self.d_k).unbind(0)
        keys, values = self.keys[..., : t + 1, :].unbind(0), self.values[..., : t + 1, :].unbind(0)
        layers = zip(weights.layers, self.folded, qkv_rows, queries, keys, values, strict=True)
        for layer, (score_matrix, score_bias, output_matrix), row, query, key, value in layers:
            row.copy_(layer.qkv(x))
            heads = scaled_dot_product_attention(query, key, value, scale=layer.self_score.scale)
            x = layer.self_norm(layer.o.addmm(x, heads.view(1, width)))
            scores = (
                torch.mm(x, score_matrix)
                if score_bias is None
                else torch.addmm(score_bias, x, score_matrix)
            )
            attention = scores.view(n_heads, -1).softmax(dim=-1)
            x = layer.cross_norm(torch.addmm(x, attention.view(1, -1), output_matrix))
            hidden = layer.activation(layer.w_1.addmm(layer.b_1, x))
            x = layer.ffn_norm(layer.w_2.addmm(x, hidden))
        self.length = t + 1
        return weights.output(x).float()

    def rewind(self, length: int) -> None:
        """Discard all but the first `length` tokens."""
        self.length = length

    def select(self, rows: list[int]) -> None:
        """Raise ValueError unless `rows` is [0]."""
        if rows != [0]:
            raise ValueError(f"this session has one row, so rows must be [0], not {rows}")

    def _fold(
        self, layer: LayerWeights, memory: Float[Tensor, "src d_model"]
    ) -> tuple[
        Float[Tensor, "d_model heads_src"],
        Float[Tensor, " heads_src"] | None,
        Float[Tensor, "heads_src d_model"],
    ]:
        """Return the matrix from an input row to the scores of all heads, the bias of the scores,
        and the matrix from the attention weights to an output row."""
        shape = (self.n_heads, self.d_k, -1)
        keys_values = memory @ layer.cross_kv_weight
        if layer.b_kv is not None:
            keys_values = keys_values + layer.b_kv
        keys, values = (
            part.unflatten(-1, shape[:2]) for part in keys_values.chunk(2, dim=-1)
        )  # (src, heads, d_k)
        scale = layer.cross_score.scale
        score_matrix = layer.cross_q_weight.view(shape).transpose(1, 2) @ (
            keys.permute(1, 2, 0) * scale
        )
        output_matrix = values.transpose(0, 1) @ layer.cross_o_weight.t().view(shape)
        score_bias = None
        if layer.b_q is not None:
            score_bias = (
                torch.einsum("shk,hk->hs", keys, layer.b_q.view(shape[:2])).flatten() * scale
            )
        if layer.b_o is not None:
            output_matrix[0] += layer.b_o
        return score_matrix.transpose(0, 1).flatten(1), score_bias, output_matrix.flatten(0, 1)

    def _grow(self) -> None:
        old_capacity = self.cache.shape[1]
        cache = self.cache.new_zeros(
            self.n_layers, old_capacity + max(CACHE_BLOCK, old_capacity), *self.cache.shape[2:]
        )
        cache[:, :old_capacity] = self.cache
        self.cache = cache
        heads_first = cache.permute(2, 0, 3, 1, 4)[:, :, None]
        self.keys, self.values = heads_first[1], heads_first[2]  # (layers, 1, heads, room, d_k)


MAX_CORRECTIONS = 3
"""Maximum corrections of a draft before speculative decoding of this text is given up."""


def speculative_decode(
    session: SingleSession,
    verify: Verify,
    choose: TokenChooser,
    limit: int,
    config: ModelConfig,
    *,
    candidates: int,
    min_len: int = 0,
) -> DecodedSequence | None:
    """Return the same output as exact decoding, or None if the draft was wrong too often.

    Arguments are those of `search.search`. The last call of `verify` receives the returned ids,
    unless the draft was longer.
    """
    device = session.cache.device
    token_mask = TokenMask(config, device, min_len)
    ids: list[int] = []
    for _ in range(MAX_CORRECTIONS + 1):
        _draft(session, ids, choose, limit, token_mask)
        exact_logits = verify(ids)
        steps = list(range(len(ids)))
        exact_ids = choose(token_mask(exact_logits, steps), steps, [0] * len(ids)).tolist()
        if ids == exact_ids:
            return record_forced(exact_logits, ids, config, candidates)
        first_error = next(i for i in steps if ids[i] != exact_ids[i])
        ids = [*ids[:first_error], exact_ids[first_error]]
        if ids[-1] == config.eos_id or len(ids) == limit:
            return record_forced(exact_logits[: len(ids)], ids, config, candidates)
        session.rewind(len(ids))
    return None


def _draft(
    session: SingleSession, ids: list[int], choose: TokenChooser, limit: int, token_mask: TokenMask
) -> None:
    """Extend `ids` in place until `</s>` or the limit."""
    config, device = token_mask.config, session.cache.device
    last = torch.tensor([ids[-1] if ids else config.bos_id], device=device)
    for step in range(len(ids), limit):
        last = choose(token_mask(session.step(last), [step]), [step], [0])
        ids.append(int(last))
        if ids[-1] == config.eos_id:
            return
