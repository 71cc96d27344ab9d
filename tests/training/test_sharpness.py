"""Prices on attention: their values, their gradient, and which rows they count."""

from __future__ import annotations

import math

import pytest
import torch

from transformer.config import ModelConfig
from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS
from transformer.model import Transformer
from transformer.text.batching import Batch
from transformer.training.distributed import World
from transformer.training.learner import Learner
from transformer.training.loss import AttentionPrice, alike, spread

CONFIG = ModelConfig(vocab_size=20, d_model=16, n_layers=2, n_heads=4, d_ff=32, dropout=0.0)


def batch() -> Batch:
    src = torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0]])
    out = torch.tensor([[10, 11, 2], [12, 2, 0]])
    return Batch(src, torch.tensor([[1, 10, 11], [1, 12, 0]]), out, 12)


def priced(pairs: Batch, blur: float, likeness: float) -> AttentionPrice:
    return AttentionPrice(2, pairs.src != 0, pairs.tgt_out != 0, blur=blur, likeness=likeness)


def test_closed_forms() -> None:
    all_of = torch.ones(1, 8, dtype=torch.bool)
    even, own = torch.full((1, 1, 8, 8), 1 / 8), torch.eye(8)[None, None]
    column = torch.zeros(1, 1, 8, 8)
    column[..., 3] = 1
    assert spread(even, all_of).item() == pytest.approx(1 - 1 / 8, rel=1e-6)
    assert spread(own, all_of).item() == spread(column, all_of).item() == 0
    assert alike(even, all_of).item() == pytest.approx(1 / 8, rel=1e-6)
    assert alike(own, all_of).item() == pytest.approx(1 / 8, rel=1e-6)
    assert alike(column, all_of).item() == 1


def test_likeness_is_that_of_all_pairs_of_queries() -> None:
    torch.manual_seed(0)
    weights = torch.randn(2, 4, 3, 5, dtype=torch.float64).softmax(-1)
    queries = torch.tensor([[True, True, True], [True, True, False]])
    each = []
    for sentence, n in enumerate((3, 2)):
        rows = weights[sentence, :, :n]
        pairs = [(rows[:, a] * rows[:, b]).sum(-1) for a in range(n) for b in range(n)]
        each.append(torch.stack(pairs).mean())
    wanted = torch.stack(each).mean()
    torch.testing.assert_close(alike(weights, queries), wanted)


def test_padding_has_no_part_and_all_heads_count_alike() -> None:
    torch.manual_seed(0)
    model = Transformer(CONFIG).double().eval()
    pairs = batch()
    seen = priced(pairs, 1.0, 0.0)
    model(pairs.src, pairs.tgt_in, hooks=seen.hooks)
    found = seen.mean().item()
    wanted: dict[str, list[torch.Tensor]] = {"encoder": [], "decoder": [], "cross": []}
    for src, tgt in (
        (pairs.src[:1], pairs.tgt_in[:1]),
        (pairs.src[1:, :3], pairs.tgt_in[1:, :2]),
    ):  # each sentence alone, without padding
        trace = dict.fromkeys(
            [WEIGHTS[kind].format(n) for kind in wanted for n in range(2)], torch.zeros(0)
        )

        def keep(weights: torch.Tensor, name: str, trace: dict[str, torch.Tensor] = trace) -> None:
            trace[name] = weights

        model(src, tgt, hooks=Hooks(dict.fromkeys(trace, keep)))
        for kind, rows in wanted.items():
            rows += [1 - (trace[WEIGHTS[kind].format(n)] ** 2).sum(-1).flatten() for n in range(2)]
    means = [torch.cat(rows).mean().item() for rows in wanted.values()]
    assert [len(torch.cat(rows)) for rows in wanted.values()] == [2 * 4 * 7, 2 * 4 * 5, 2 * 4 * 5]
    assert found == pytest.approx(sum(means) / 3, rel=1e-9)


@pytest.mark.parametrize(("blur", "likeness"), [(0.7, 0.0), (0.0, 0.7), (0.4, 0.9)])
def test_the_learners_gradient_is_that_of_loss_plus_price(blur: float, likeness: float) -> None:
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    learner = Learner(model, torch.float32, World())
    plain = learner.gradients(batch(), 5, 0.0)
    without = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    asked = learner.gradients(batch(), 5, 0.0, blur, likeness)
    assert asked == plain  # the loss is told without the price
    name = "encoder.layers.1.self_attn.w_qkv"
    weight = dict(model.named_parameters())[name]
    assert weight.grad is not None
    found = (weight.grad - without[name])[3, 5].item()

    def price(step: float) -> float:
        seen, exact = priced(batch(), blur, likeness), Transformer(CONFIG).double().eval()
        exact.load_state_dict(model.state_dict())
        with torch.no_grad():
            dict(exact.named_parameters())[name][3, 5] += step
            exact(batch().src, batch().tgt_in, hooks=seen.hooks)
        return seen.mean().item()

    step = 1e-5
    slope = (price(step) - price(-step)) / (2 * step)
    assert math.isfinite(slope)
    assert found == pytest.approx(slope, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("prices", [(1.0, 0.0), (0.0, 1.0)])
def test_what_has_a_price_becomes_less(prices: tuple[float, float]) -> None:
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    learner = Learner(model, torch.float32, World())

    def measured() -> float:
        seen = priced(batch(), *prices)
        with torch.no_grad():
            model.eval()(batch().src, batch().tgt_in, hooks=seen.hooks)
        return seen.mean().item()

    before = measured()
    for _ in range(60):
        learner.gradients(batch(), 5, 0.0, 2 * prices[0], 2 * prices[1])
        learner.update(0.003, 1.0)
    # Queries of two to four cannot be less alike than a half to a quarter.
    assert measured() < before * (0.5 if prices[0] else 0.95)
