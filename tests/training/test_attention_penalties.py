"""Penalties on attention weights: values, gradients, and the rows that are included."""

from __future__ import annotations

import math

import pytest
import torch

from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS
from transformer.model import Transformer
from transformer.text.batching import Batch
from transformer.training.learner import Learner
from transformer.training.loss import AttentionRegularizer, gini_impurity, query_overlap

CONFIG = ModelConfig(vocab_size=20, d_model=16, n_layers=2, n_heads=4, d_ff=32, dropout=0.0)


def make_test_batch() -> Batch:
    src = torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0]])
    out = torch.tensor([[10, 11, 2], [12, 2, 0]])
    return Batch(src, torch.tensor([[1, 10, 11], [1, 12, 0]]), out)


def make_regularizer(
    batch: Batch, sharpness_penalty: float, diversity_penalty: float
) -> AttentionRegularizer:
    return AttentionRegularizer(
        2,
        batch.src != 0,
        batch.tgt_out != 0,
        sharpness_penalty=sharpness_penalty,
        diversity_penalty=diversity_penalty,
    )


def test_penalties_equal_their_closed_forms() -> None:
    no_padding = torch.ones(1, 8, dtype=torch.bool)
    uniform, diagonal = torch.full((1, 1, 8, 8), 1 / 8), torch.eye(8)[None, None]
    column = torch.zeros(1, 1, 8, 8)
    column[..., 3] = 1
    assert gini_impurity(uniform, no_padding).item() == pytest.approx(1 - 1 / 8, rel=1e-6)
    assert (
        gini_impurity(diagonal, no_padding).item() == gini_impurity(column, no_padding).item() == 0
    )
    assert query_overlap(uniform, no_padding).item() == pytest.approx(1 / 8, rel=1e-6)
    assert query_overlap(diagonal, no_padding).item() == pytest.approx(1 / 8, rel=1e-6)
    assert query_overlap(column, no_padding).item() == 1


def test_query_overlap_equals_the_mean_over_query_pairs() -> None:
    torch.manual_seed(0)
    weights = torch.randn(2, 4, 3, 5, dtype=torch.float64).softmax(-1)
    queries = torch.tensor([[True, True, True], [True, True, False]])
    sentence_overlaps = []
    for sentence, n in enumerate((3, 2)):
        rows = weights[sentence, :, :n]
        pairs = [(rows[:, a] * rows[:, b]).sum(-1) for a in range(n) for b in range(n)]
        sentence_overlaps.append(torch.stack(pairs).mean())
    expected = torch.stack(sentence_overlaps).mean()
    torch.testing.assert_close(query_overlap(weights, queries), expected)


def test_padding_is_ignored_and_heads_have_equal_weight() -> None:
    torch.manual_seed(0)
    model = Transformer(CONFIG).double().eval()
    batch = make_test_batch()
    regularizer = make_regularizer(batch, 1.0, 0.0)
    model(batch.src, batch.tgt_in, hooks=regularizer.hooks)
    penalty = regularizer.mean().item()
    expected_rows: dict[str, list[torch.Tensor]] = {"encoder": [], "decoder": [], "cross": []}
    for src, tgt in (
        (batch.src[:1], batch.tgt_in[:1]),
        (batch.src[1:, :3], batch.tgt_in[1:, :2]),
    ):  # each sentence alone, without padding
        trace = dict.fromkeys(
            [WEIGHTS[kind].format(n) for kind in expected_rows for n in range(2)], torch.zeros(0)
        )

        def record(
            weights: torch.Tensor, name: str, trace: dict[str, torch.Tensor] = trace
        ) -> None:
            trace[name] = weights

        model(src, tgt, hooks=Hooks(dict.fromkeys(trace, record)))
        for kind, rows in expected_rows.items():
            rows += [1 - (trace[WEIGHTS[kind].format(n)] ** 2).sum(-1).flatten() for n in range(2)]
    means = [torch.cat(rows).mean().item() for rows in expected_rows.values()]
    assert [len(torch.cat(rows)) for rows in expected_rows.values()] == [
        2 * 4 * 7,
        2 * 4 * 5,
        2 * 4 * 5,
    ]
    assert penalty == pytest.approx(sum(means) / 3, rel=1e-9)


@pytest.mark.parametrize(
    ("sharpness_penalty", "diversity_penalty"), [(0.7, 0.0), (0.0, 0.7), (0.4, 0.9)]
)
def test_gradient_includes_the_penalties(
    sharpness_penalty: float, diversity_penalty: float
) -> None:
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    learner = Learner(model, torch.float32)
    loss = learner.compute_gradients(make_test_batch(), 0.0)
    gradients_without_penalties = {
        name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None
    }
    loss_with_penalties = learner.compute_gradients(
        make_test_batch(), 0.0, sharpness_penalty, diversity_penalty
    )
    assert loss_with_penalties == loss  # the reported loss excludes the penalty
    name = "encoder.layers.1.self_attn.w_qkv"
    weight = dict(model.named_parameters())[name]
    assert weight.grad is not None
    gradient = (weight.grad - gradients_without_penalties[name])[3, 5].item()

    def penalty_after(step: float) -> float:
        regularizer = make_regularizer(make_test_batch(), sharpness_penalty, diversity_penalty)
        double_model = Transformer(CONFIG).double().eval()
        double_model.load_state_dict(model.state_dict())
        with torch.no_grad():
            dict(double_model.named_parameters())[name][3, 5] += step
            double_model(make_test_batch().src, make_test_batch().tgt_in, hooks=regularizer.hooks)
        return regularizer.mean().item()

    step = 1e-5
    slope = (penalty_after(step) - penalty_after(-step)) / (2 * step)
    assert math.isfinite(slope)
    assert gradient == pytest.approx(slope, rel=1e-3, abs=1e-7)
