"""One step of the learner equals plain PyTorch and the paper's formulas, and many steps learn a
task that requires the source."""

from __future__ import annotations

import copy
import itertools
import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.training.conftest import SHAPE, MakeTrainer
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import TokenStore, Vocabulary
from transformer.text.batching import Batch, make_batch
from transformer.training.data import PreparedData
from transformer.training.learner import Learner, LossTotals


@pytest.fixture
def model(data: PreparedData) -> Transformer:
    torch.manual_seed(2)
    shape = SHAPE | {"dropout": 0.0}
    return Transformer(ModelConfig(vocab_size=len(data.vocabulary), **shape))


@pytest.fixture
def batches(data: PreparedData) -> list[Batch]:
    """Five batches of ten pairs, with padding."""
    return [
        make_batch(data.train, range(start, start + 10), pad_id=0, bos_id=1).to(
            torch.get_default_device()
        )
        for start in range(0, 50, 10)
    ]


def n_positions(batch: Batch) -> int:
    return int((batch.tgt_out != 0).sum())


def plain_loss(model: Transformer, batch: Batch, smoothing: float) -> torch.Tensor:
    """Return PyTorch's cross-entropy over all logits at once."""
    logits = model(batch.src, batch.tgt_in)
    return functional.cross_entropy(
        logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0, label_smoothing=smoothing
    )


def step(learner: Learner, batch: Batch, rate: float = 0.003, clip: float = 1.0) -> LossTotals:
    totals = learner.compute_gradients(batch, 0.1)
    learner.update(rate, clip)
    return totals


@pytest.mark.parametrize(
    ("optimizer", "weight_decay", "clip"),
    [(torch.optim.Adam, 0.0, 1.0), (torch.optim.Adam, 0.0, 0.01), (torch.optim.AdamW, 2.0, 0.0)],
)
def test_steps_equal_autograd_and_pytorchs_optimizer(
    optimizer: Any, weight_decay: float, clip: float, model: Transformer, batches: list[Batch]
) -> None:
    """Weight decay is decoupled: θ ← θ - α·λ·θ in addition to Adam's step (Loshchilov and Hutter
    2019)."""
    reference = copy.deepcopy(model).train()
    adam = optimizer(
        reference.parameters(),
        lr=0.003,
        betas=(0.9, 0.98),
        eps=1e-9,
        weight_decay=weight_decay,
        fused=False,
    )
    learner = Learner(model, torch.float32, weight_decay)
    for batch in batches:
        adam.zero_grad()
        loss = plain_loss(reference, batch, 0.1)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(reference.parameters(), clip or math.inf)
        adam.step()
        totals = learner.compute_gradients(batch, 0.1)
        assert totals.smoothed / totals.positions == pytest.approx(loss.item(), rel=1e-5)
        assert learner.update(0.003, clip) == pytest.approx(float(norm), rel=1e-4)
    for name, weight in reference.named_parameters():
        torch.testing.assert_close(model.get_parameter(name), weight, rtol=1e-3, atol=1e-5)


def test_adam_has_epsilon_outside_the_root_as_in_the_paper(model: Transformer) -> None:
    """θ ← θ - α·m̂ / (√v̂ + ε), β₁ = 0.9, β₂ = 0.98, ε = 1e-9 (section 5.3; Kingma and Ba 2015).

    Some texts have √(v̂ + ε) instead. Gradients of about 1e-9, as used here, distinguish the two:
    with ε outside the root, weights change by about α/2 per step; with ε inside, by α/30,000.
    """
    learner = Learner(model, torch.float32)
    weight = model.get_parameter("decoder.layers.0.ffn.w_1.weight")
    expected, with_epsilon_inside = weight.detach().double(), weight.detach().double()
    m, v = torch.zeros_like(expected), torch.zeros_like(expected)
    start = expected.clone()
    for t in range(1, 5):
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        gradient = (torch.rand(weight.shape) + 0.5) * 1e-9 * (-1) ** t
        weight.grad = gradient.clone()
        learner.update(0.01, 0.0)
        m = 0.9 * m + 0.1 * gradient.double()
        v = 0.98 * v + 0.02 * gradient.double() ** 2
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.98**t)
        expected = expected - 0.01 * m_hat / (v_hat.sqrt() + 1e-9)
        with_epsilon_inside = with_epsilon_inside - 0.01 * m_hat / (v_hat + 1e-9).sqrt()
    torch.testing.assert_close(weight.double(), expected, rtol=0, atol=1e-6)
    assert (expected - start).abs().mean() > 1e-3
    assert (with_epsilon_inside - start).abs().max() < 1e-5


def test_r_drop_is_half_of_equation_4(data: PreparedData, batches: list[Batch]) -> None:
    """L = -log P₁(y|x) - log P₂(y|x) + α/2 · [KL(P₁‖P₂) + KL(P₂‖P₁)] (Liang et al. 2021), with two
    passes of different dropout in one batch."""
    alpha, batch = 3.0, batches[0]
    shape = SHAPE | {"dropout": 0.3}
    model = Transformer(ModelConfig(vocab_size=len(data.vocabulary), **shape))
    reference = copy.deepcopy(model).train()
    torch.manual_seed(5)
    twice = [torch.cat([ids, ids]) for ids in (batch.src, batch.tgt_in)]
    passes = reference(*twice).log_softmax(-1).chunk(2)
    is_token = batch.tgt_out != 0
    gold = batch.tgt_out[is_token][:, None]
    p, q = (log_probabilities[is_token] for log_probabilities in passes)
    nll = -p.gather(1, gold).sum() - q.gather(1, gold).sum()
    divergence = (p.exp() * (p - q)).sum() + (q.exp() * (q - p)).sum()
    assert divergence > 0.1
    ((nll + alpha / 2 * divergence) / 2 / is_token.sum()).backward()

    torch.manual_seed(5)
    totals = Learner(model, torch.float32).compute_gradients(batch, 0.0, r_drop=alpha)
    assert totals.plain == pytest.approx(nll.item() / 2, rel=1e-5)
    assert totals.positions == n_positions(batch)
    for name, weight in reference.named_parameters():
        torch.testing.assert_close(
            model.get_parameter(name).grad, weight.grad, rtol=1e-3, atol=1e-6
        )


def test_bf16_copy_follows_the_master_weights(model: Transformer, batches: list[Batch]) -> None:
    exact = Learner(copy.deepcopy(model), torch.float32)
    mixed = Learner(model, torch.bfloat16)
    for batch in batches:
        exact_totals, mixed_totals = step(exact, batch), step(mixed, batch)
        assert mixed_totals.smoothed == pytest.approx(exact_totals.smoothed, rel=0.02)
        for weight, rounded in zip(
            mixed.model.parameters(), mixed.working.parameters(), strict=True
        ):
            assert weight.dtype == torch.float32
            assert torch.equal(rounded, weight.bfloat16())
    weights_after = [
        torch.cat([p.detach().flatten() for p in learner.model.parameters()])
        for learner in (exact, mixed)
    ]
    assert torch.corrcoef(torch.stack(weights_after))[0, 1] > 0.999


def test_validation_is_the_plain_loss_without_dropout(
    data: PreparedData, batches: list[Batch]
) -> None:
    torch.manual_seed(0)
    model = Transformer(ModelConfig(vocab_size=len(data.vocabulary), **(SHAPE | {"dropout": 0.5})))
    learner = Learner(model, torch.float32)
    positions = sum(map(n_positions, batches))
    totals = learner.validate(batches)
    model.eval()
    with torch.no_grad():
        expected = sum(float(plain_loss(model, b, 0.0)) * n_positions(b) for b in batches)
    assert totals.plain == pytest.approx(expected, rel=1e-5)
    assert totals.smoothed == pytest.approx(expected, rel=1e-5)
    assert totals.positions == positions
    assert all(parameter.grad is None for parameter in model.parameters())


def test_learns_to_reverse_sequences(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    """The model learns to reverse four words out of eight, also in new pairs. Without the source,
    the loss would be at least ln 8 nats per word and 0 for `</s>`."""
    words = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"]
    rows = list(itertools.product(words, repeat=4))
    random.Random(1).shuffle(rows)
    pairs = [(" ".join(row), " ".join(reversed(row))) for row in rows]
    vocabulary = Vocabulary.train((source for source, _ in pairs), 284)
    stores = {
        name: TokenStore.build(tmp_path / name, part, vocabulary)
        for name, part in (("train", pairs[:3500]), ("valid", pairs[3500:3700]))
    }
    data = PreparedData(vocabulary, stores["train"], stores["valid"])
    assert set(stores["train"].tgt_lengths) == {5}
    settings = {"steps": 150, "batch_tokens": 640, "warmup": 30, "learning_rate": 0.01}
    settings |= {"cooldown": 0.3, "label_smoothing": 0.0, "valid_every": 75, "save_every": 150}
    shape = {"d_model": 32, "n_heads": 4, "d_ff": 64, "dropout": 0.0}
    trainer = make_trainer(shape=shape, data=data, **settings)
    initial_loss = trainer.task.validation_loss()
    assert initial_loss == pytest.approx(math.log(284), abs=0.7)
    assert trainer.train() == "finished"
    loss_without_source = 4 * math.log(8) / 5
    assert trainer.task.validation_loss() < loss_without_source / 4
    assert trainer.loop.best_valid == trainer.task.validation_loss()
