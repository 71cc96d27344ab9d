"""Speculative decoding of one output, exactly: drafted in eight bits, verified in float32.

The whole draft is verified by one pass of the model over all its positions at once, which takes
about as long as a few steps. Up to the first position where the exact logits choose another
token the draft is what exact decoding would have given; from there on it is drafted again.
(Leviathan et al. 2023 do this by samples; here the choice is a function of the logits.)
The pass that confirms the output is a teacher-forced pass like that of a trace, and serves as it.

Drafting takes as few operations a step as can be: at one row the time goes into reading weights
and into starting operations. So each layer's attention over the memory is folded into two small
matrices once a sentence: with k_j a key and W^Q the query projection of a head, score_j = x W^Q k_j
= x · (W^Q k_j), and likewise Σ_j w_j v_j W^O = w · (v W^O). Of a model with biases the first gains
b^Q · k_j, and b^O joins what the first head's keys send: its weights sum to 1.
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
from transformer.inference.search import Allowed, Choose, forced
from transformer.inference.step_logits import Decoded

BLOCK = 32
"""Positions that are made room for at a time."""


class SingleSession:
    """`Session` for one row, and score functions that are dot products."""

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
        here = self.cache[:, t].view(self.n_layers, 1, 3 * width).unbind(0)
        queries = self.cache[:, t, 0].view(self.n_layers, 1, n_heads, 1, self.d_k).unbind(0)
        keys, values = self.keys[..., : t + 1, :].unbind(0), self.values[..., : t + 1, :].unbind(0)
        layers = zip(weights.layers, self.folded, here, queries, keys, values, strict=True)
        for layer, (scorer, shift, mixer), row, query, key, value in layers:
            row.copy_(layer.qkv(x))
            heads = scaled_dot_product_attention(query, key, value, scale=layer.own_score.scale)
            x = layer.own_norm(layer.o.plus(x, heads.view(1, width)))
            scores = torch.mm(x, scorer) if shift is None else torch.addmm(shift, x, scorer)
            shares = scores.view(n_heads, -1).softmax(dim=-1)
            x = layer.cross_norm(torch.addmm(x, shares.view(1, -1), mixer))
            hidden = layer.activation(layer.w_1.plus(layer.b_1, x))
            x = layer.ffn_norm(layer.w_2.plus(x, hidden))
        self.length = t + 1
        return weights.output(x).float()

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` tokens read."""
        self.length = length

    def select(self, rows: list[int]) -> None:
        """One row stays one row."""
        if rows != [0]:
            raise ValueError(f"this session has one row, row 0, not {rows}")

    def _fold(
        self, layer: LayerWeights, memory: Float[Tensor, "src d_model"]
    ) -> tuple[
        Float[Tensor, "d_model heads_src"],
        Float[Tensor, " heads_src"] | None,
        Float[Tensor, "heads_src d_model"],
    ]:
        """From a row to the scores of all heads, what they are shifted by, and from their weights
        to a row."""
        shape = (self.n_heads, self.d_k, -1)
        both = memory @ layer.raw_kv
        if layer.b_kv is not None:
            both = both + layer.b_kv
        keys, values = (
            part.unflatten(-1, shape[:2]) for part in both.chunk(2, dim=-1)
        )  # (src, heads, d_k)
        scale = layer.cross_score.scale
        scorer = layer.raw_q.view(shape).transpose(1, 2) @ (keys.permute(1, 2, 0) * scale)
        mixer = values.transpose(0, 1) @ layer.raw_o.t().view(shape)
        shift = None
        if layer.b_q is not None:
            shift = torch.einsum("shk,hk->hs", keys, layer.b_q.view(shape[:2])).flatten() * scale
        if layer.b_o is not None:
            mixer[0] += layer.b_o
        return scorer.transpose(0, 1).flatten(1), shift, mixer.flatten(0, 1)

    def _grow(self) -> None:
        had = self.cache.shape[1]
        cache = self.cache.new_zeros(self.n_layers, had + max(BLOCK, had), *self.cache.shape[2:])
        cache[:, :had] = self.cache
        self.cache = cache
        heads_first = cache.permute(2, 0, 3, 1, 4)[:, :, None]
        self.keys, self.values = heads_first[1], heads_first[2]  # (layers, 1, heads, room, d_k)


CORRECTIONS = 3
"""After so many the draft is no help for this text."""


def speculative(
    session: SingleSession,
    verify: Verify,
    choose: Choose,
    limit: int,
    config: ModelConfig,
    *,
    candidates: int,
    min_len: int = 0,
) -> Decoded | None:
    """What exact decoding gives, or None if the draft was wrong too often.

    Arguments are those of `search.search`. The last call of `verify` is with the ids returned,
    unless the draft went past their end.
    """
    device = session.cache.device
    allowed = Allowed(config, device, min_len)
    ids: list[int] = []
    for _ in range(CORRECTIONS + 1):
        _draft(session, ids, choose, limit, allowed)
        exact = verify(ids)
        steps = list(range(len(ids)))
        right = choose(allowed(exact, steps), steps, [0] * len(ids)).tolist()
        if ids == right:
            return forced(exact, ids, config, candidates)
        wrong = next(i for i in steps if ids[i] != right[i])
        ids = [*ids[:wrong], right[wrong]]
        if ids[-1] == config.eos_id or len(ids) == limit:
            return forced(exact[: len(ids)], ids, config, candidates)
        session.rewind(len(ids))
    return None


def _draft(
    session: SingleSession, ids: list[int], choose: Choose, limit: int, allowed: Allowed
) -> None:
    """Draft on from `ids`, in place, until `</s>` or the limit."""
    config, device = allowed.config, session.cache.device
    last = torch.tensor([ids[-1] if ids else config.bos_id], device=device)
    for step in range(len(ids), limit):
        last = choose(allowed(session.step(last), [step]), [step], [0])
        ids.append(int(last))
        if ids[-1] == config.eos_id:
            return
