"""Packed rows hold every pair once, and give it the loss and the gradients of the pair alone."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.conftest import SHAPE, MakeTrainer, losses, translation_task
from transformer.config import ModelConfig, TrainingConfig
from transformer.model import Transformer
from transformer.text.batching import pad_batch
from transformer.training.data import PreparedData
from transformer.training.learner import Learner
from transformer.training.packed_rows import pack, pack_epochs, packed_batch

EOS, PAD = 2, 0
sentences = st.lists(st.integers(4, 28), max_size=7).map(lambda ids: [*ids, EOS])
PAIRS = [
    ([5, 6, EOS], [7, EOS]),
    ([8, EOS], [9, 10, 11, EOS]),
    ([12, 13, 14, 15, EOS], [5, EOS]),
    ([16, EOS], [17, EOS]),
]


def split_row(ids: list[int]) -> list[list[int]]:
    """Return the sentences of a side of a row, without the padding after the last `</s>`."""
    ends = np.flatnonzero(np.array(ids) == EOS) + 1
    return [part.tolist() for part in np.split(ids, ends)[:-1]]


def pairs_in(rows: np.ndarray) -> list[tuple[list[int], list[int]]]:
    return [
        pair
        for src, tgt in rows.tolist()
        for pair in zip(split_row(src), split_row(tgt), strict=True)
    ]


@given(st.lists(st.tuples(sentences, sentences), max_size=80))
def test_every_pair_is_in_a_row_once(pairs: list[tuple[list[int], list[int]]]) -> None:
    rows = pack(pairs, 8, PAD)
    assert rows.shape[1:] == (2, 8)
    assert sorted(pairs_in(rows)) == sorted(pairs)


def test_a_pair_longer_than_a_row_is_refused() -> None:
    with pytest.raises(ValueError, match="a pair has 5 tokens on a side, packed_length is 4"):
        pack(PAIRS, 4, PAD)


def test_epochs_are_packed_with_their_own_noise(data: PreparedData) -> None:
    config = TrainingConfig(packed_length=64, packed_epochs=2, typing_noise=0.5)
    packed = Counter(
        (tuple(src), tuple(tgt)) for src, tgt in pairs_in(pack_epochs(data, config, PAD).numpy())
    )
    epochs = [data.epoch(config, number) for number in range(2)]
    expected = Counter(
        (tuple(src.tolist()), tuple(tgt.tolist()))
        for epoch in epochs
        for src, tgt in map(epoch.pair, range(len(epoch)))
    )
    assert packed == expected
    assert packed.total() == 2 * data.n_train
    assert len(packed) > data.n_train


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_packed_pairs_have_the_loss_and_the_gradients_of_the_pairs(positions: str) -> None:
    """In float64 the losses differ by a few roundings of sums in another order, in float32 the
    gradients do."""
    torch.manual_seed(0)
    shape = SHAPE | {"n_layers": 2, "dropout": 0.0, "positions": positions, "max_len": 12}
    config = ModelConfig(vocab_size=29, **shape)
    model = Transformer(config)
    rows = torch.from_numpy(pack(PAIRS, 12, PAD)).to(torch.get_default_device())
    assert len(rows) == 1
    packed = packed_batch(rows, config)
    src, tgt = ([pair[side] for pair in PAIRS] for side in (0, 1))
    padded = pad_batch(src, tgt, pad_id=PAD, bos_id=1, device=torch.get_default_device())
    exact = Learner(copy.deepcopy(model).double(), torch.float32)
    assert exact.validate([packed]).plain == pytest.approx(exact.validate([padded]).plain, 1e-13)

    gradients = []
    for batch in (packed, padded):
        learner = Learner(copy.deepcopy(model), torch.float32)
        totals = learner.compute_gradients(batch, 0.1)
        assert totals.positions == sum(map(len, tgt))
        gradients.append([weight.grad for weight in learner.model.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_run_on_packed_rows_reads_every_pair_in_each_pass(
    make_trainer: MakeTrainer, data: PreparedData
) -> None:
    settings = {"packed_length": 64, "batch_tokens": 1024, "steps": 12, "r_drop": 1.0}
    trainer = make_trainer(**settings)
    assert trainer.train() == "finished"
    assert trainer.loop.epoch > 0
    first_pass = [line["tokens"] for line in trainer.run.metrics() if "tokens" in line]
    n_tokens = int(data.train.src_lengths.sum() + data.train.tgt_lengths.sum())
    assert n_tokens in np.cumsum(first_pass)
    assert losses(trainer.run)[-1][1] < losses(trainer.run)[0][1]
    assert translation_task(trainer).learner.working is trainer.learner.model


def test_penalties_on_attention_are_refused() -> None:
    with pytest.raises(ValueError, match="need batches of single pairs: set packed_length to 0"):
        TrainingConfig(packed_length=128, sharpness_penalty=0.1)
