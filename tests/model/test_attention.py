"""Attention with one and many heads, compared with explicit loops and PyTorch's kernel."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.model.small import SRC, TGT, make_config, make_model
from transformer.config import Score
from transformer.model.attention import (
    MultiHeadAttention,
    ScoreFunction,
    attention_weights,
)

SCORES: list[Score] = ["scaled_dot", "dot", "additive"]


@given(st.lists(st.tuples(st.floats(-50, 50), st.booleans()), min_size=1, max_size=9))
def test_weights_equal_an_explicit_softmax(row: list[tuple[float, bool]]) -> None:
    row[0] = (row[0][0], True)  # each query has an unmasked key
    scores, allowed = (list(column) for column in zip(*row, strict=True))
    actual = attention_weights(
        torch.tensor(scores, dtype=torch.float64).view(1, 1, 1, -1), torch.tensor(allowed)
    ).flatten()
    highest = max(score for score, is_allowed in row if is_allowed)
    parts = [math.exp(score - highest) if is_allowed else 0.0 for score, is_allowed in row]
    assert actual.tolist() == pytest.approx([part / sum(parts) for part in parts], abs=1e-12)
    assert all(
        weight == 0
        for weight, is_allowed in zip(actual.tolist(), allowed, strict=True)
        if not is_allowed
    )


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("crossed", [False, True])
def test_multi_head_attention_equals_its_equation(kind: Score, crossed: bool) -> None:
    """head_i = softmax(score(x W_i^Q, m W_i^K)) m W_i^V; Concat(head_1, …, head_h) W^O."""
    attention = MultiHeadAttention(make_config(score=kind)).double()
    x = torch.randn(2, 5, 24).double()
    memory = torch.randn(2, 7, 24).double() if crossed else x
    heads = []
    for i in range(4):
        rows = slice(6 * i, 6 * i + 6)
        query, key, value = (
            source @ weight[rows].T
            for source, weight in (
                (x, attention.w_q),
                (memory, attention.w_k),
                (memory, attention.w_v),
            )
        )
        if kind == "additive":
            scores = torch.tanh(query[:, :, None] + key[:, None]) @ attention.score.v[i]
        else:
            scores = query @ key.mT / (math.sqrt(6) if kind == "scaled_dot" else 1)
        heads.append(scores.exp() / scores.exp().sum(-1, keepdim=True) @ value)
    expected = torch.cat(heads, dim=-1) @ attention.w_o.T
    torch.testing.assert_close(attention(x, memory, None), expected)


@pytest.mark.parametrize("d_k", [1, 8, 64, 512])
def test_scaling_keeps_the_variance_of_scores(d_k: int) -> None:
    """For q and k of variance 1, q·k has variance d_k and q·k/√d_k has 1 (section 3.2.1)."""
    query, key = torch.randn(1, 40, 50, d_k), torch.randn(1, 40, 50, d_k)
    variance = ScoreFunction("scaled_dot", 40, d_k)(query, key).var().item()
    assert variance == pytest.approx(1, rel=0.1)
    plain = ScoreFunction("dot", 40, d_k)(query, key).var().item()
    assert plain == pytest.approx(d_k, rel=0.1)


@pytest.mark.parametrize("n_heads", [1, 4, 16, 64])
def test_initial_scores_have_the_same_variance_at_every_head_width(n_heads: int) -> None:
    """Inputs of variance 1, as after a norm; queries and keys start with variance 1/2 each."""
    attention = MultiHeadAttention(make_config(d_model=256, n_heads=n_heads))
    x, memory = torch.randn(8, 60, 256), torch.randn(8, 60, 256)
    scores = attention.score(*attention.project(x, memory)[:2])
    assert scores.var().item() == pytest.approx(1 / 4, rel=0.15)


def test_scores_cannot_overflow_the_softmax() -> None:
    scores = torch.tensor([[[[1e4, -1e4, 1e4]]]])
    assert torch.equal(attention_weights(scores, None), torch.tensor([[[[0.5, 0.0, 0.5]]]]))


def test_the_additive_vector_has_a_gradient() -> None:
    model = make_model(score="additive")
    model(SRC, TGT).square().sum().backward()
    vectors: list[Tensor] = [w for name, w in model.named_parameters() if name.endswith("score.v")]
    assert len(vectors) == 6
    assert all(v.grad is not None and (v.grad != 0).all() for v in vectors)
