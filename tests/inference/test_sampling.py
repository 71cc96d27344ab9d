"""Sampling draws from the distribution it says, with numbers of its own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.inference import models
from transformer.inference.choosing import Sampler, more_probable, narrowed
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding

LOGITS = torch.tensor([[2.0, 1.0, 0.5, 0.0, -1.0, -3.0, -torch.inf]])


def sample(**options: object) -> Decoding:
    return Decoding(method="sample", **options)


def draws(options: Decoding, n: int) -> torch.Tensor:
    """How often each of the pieces of LOGITS is drawn in `n` steps of one output."""
    sampler = Sampler(options, [11], n)
    rows = LOGITS.expand(n, -1)
    return torch.bincount(sampler(rows, list(range(n)), [0] * n), minlength=LOGITS.shape[1])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_are_those_of_the_softmax(temperature: float) -> None:
    """Chi-square over six pieces: above 20.5 in one of a thousand runs, and the seed is fixed."""
    n = 20_000
    counts = draws(sample(temperature=temperature), n)
    expected = n * (LOGITS[0] / temperature).softmax(dim=-1)
    assert counts[6] == 0
    chi_square = ((counts - expected)[:6] ** 2 / expected[:6]).sum()
    assert chi_square < 20.5


@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_top_k_draws_from_the_k_largest(k: int) -> None:
    counts = draws(sample(top_k=k), 5000)
    assert set(counts.nonzero().flatten().tolist()) == set(range(min(k, 6)))


@given(
    st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=12, unique=True),
    st.floats(0.01, 1.0),
    st.integers(1, 12),
)
def test_top_p_keeps_the_fewest_that_reach_p(logits: list[float], p: float, k: int) -> None:
    shares, ids = narrowed(torch.tensor([logits]), sample(top_p=p, top_k=k))
    full = torch.tensor([logits]).topk(min(k, len(logits))).values.double().softmax(-1)[0]
    kept = int((shares > 0).sum())
    assert full[:kept].sum() >= p - 1e-9 or kept == len(full)
    assert kept == 1 or full[: kept - 1].sum() < p
    assert float(shares.sum()) == pytest.approx(1.0)
    assert ids[0, :kept].tolist() == torch.tensor(logits).argsort(descending=True)[:kept].tolist()
    ratio = shares[0, :kept] / full[:kept]
    assert float(ratio.max() - ratio.min()) < 1e-6, "what is left keeps its proportions"


def test_the_same_seed_gives_the_same_output_alone_and_in_a_batch() -> None:
    decoder = SequenceDecoder(models.copier())
    together = decoder.run(models.SOURCES, sample(seed=7, max_len=12))
    for source, output in zip(models.SOURCES, together, strict=True):
        assert output.seed == 7
        alone = decoder.run([source], sample(seed=7, max_len=12))[0]
        assert alone.decoded.ids == output.decoded.ids
    others = {
        tuple(decoder.run(models.SOURCES[:1], sample(seed=seed, max_len=12))[0].decoded.ids)
        for seed in range(20)
    }
    assert len(others) > 5


def test_a_seed_drawn_by_chance_is_told_and_repeats() -> None:
    decoder = SequenceDecoder(models.copier())
    outputs = decoder.run(models.SOURCES[:1] * 6, sample(max_len=12))
    seeds = {output.seed for output in outputs}
    assert len(seeds) == 6
    for output in outputs:
        again = decoder.run(models.SOURCES[:1], sample(max_len=12, seed=output.seed))[0]
        assert again.decoded.ids == output.decoded.ids


def test_the_global_generators_stay_where_they_are() -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    SequenceDecoder(models.copier()).run(models.SOURCES, sample(max_len=6))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002


def test_top_k_of_one_is_greedy() -> None:
    decoder = SequenceDecoder(models.copier())
    greedy = [o.decoded.ids for o in decoder.run(models.SOURCES, Decoding(max_len=12))]
    sampled = decoder.run(models.SOURCES, sample(top_k=1, max_len=12))
    assert [o.decoded.ids for o in sampled] == greedy


@given(
    # Apart by more than rounding: of two that are equally probable either may be the one before.
    st.lists(st.integers(-800, 800).map(lambda n: n / 100), min_size=2, max_size=12, unique=True),
    st.floats(0.01, 1.0),
)
def test_what_lies_outside_the_top_p_has_p_before_it(logits: list[float], p: float) -> None:
    row = torch.tensor([logits])
    shares, ids = narrowed(row, sample(top_p=p))
    before = [float(more_probable(row, torch.tensor([piece]))) for piece in range(len(logits))]
    # Sums in another order differ in their last digits.
    for share, piece in zip(shares[0].tolist(), ids[0].tolist(), strict=True):
        assert (before[piece] < p) == (share > 0) or before[piece] == pytest.approx(p, abs=1e-9)
    assert min(before) == 0
