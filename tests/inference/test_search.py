"""Greedy decoding, compared with a plain loop; the recorded candidates; sampling."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.inference import models
from transformer.hooks import Hooks
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.next_tokens import NextTokens
from transformer.inference.options import Decoding
from transformer.inference.search import (
    Sampler,
    sampling_distribution,
)


def test_greedy_equals_a_plain_loop() -> None:
    model, sources = models.copier(), models.many_sources(12)
    expected = [models.greedy_with_a_plain_loop(model, source, 20) for source in sources]
    outputs = SequenceDecoder(model).run(sources, Decoding(max_len=20))
    assert [output.decoded.ids for output in outputs] == expected
    lengths = {len(output) for output in expected}
    assert len(lengths & {*range(20)}) > 3, "the outputs must end at several lengths"


def test_a_batch_equals_single_sentences() -> None:
    """70 sentences are several batches, and rows leave a batch as they end."""
    decoder, sources = SequenceDecoder(models.copier()), models.many_sources(70, seed=1)
    batch_outputs = decoder.run(sources, Decoding())
    for source, output in zip(sources, batch_outputs, strict=True):
        models.assert_same_output(output, decoder.run([source], Decoding())[0])
        assert output.decoded.finished == (output.decoded.ids[-1] == 2)


@pytest.mark.parametrize("k", [1, 4, 17, 50])
def test_recorded_probabilities_equal_the_softmax_of_the_model(k: int) -> None:
    model, sources = models.copier(), models.many_sources(6)
    outputs = SequenceDecoder(model).run(sources, Decoding(max_len=12, candidates=k))
    for source, output in zip(sources, outputs, strict=True):
        sequence = output.decoded
        log_probabilities = models.log_probabilities(model, source, sequence.ids)
        chosen = log_probabilities[range(len(sequence.ids)), sequence.ids]
        torch.testing.assert_close(
            torch.tensor(sequence.log_probabilities, device="cpu"), chosen, atol=1e-4, rtol=0
        )
        assert sequence.log_probability == pytest.approx(float(chosen.sum()), abs=1e-3)
        probabilities = torch.tensor(sequence.candidate_probabilities, device="cpu")
        ids = torch.tensor(sequence.candidate_ids, device="cpu")
        assert (
            probabilities.shape == ids.shape == (len(sequence.ids), min(k, models.VOCAB_SIZE - 3))
        )
        assert not set(ids.flatten().tolist()) & {0, 1, 3}
        assert (probabilities.diff(dim=-1) <= 0).all()
        assert (probabilities.sum(dim=-1) <= 1 + 1e-6).all()
        torch.testing.assert_close(
            probabilities.double(), log_probabilities.gather(1, ids).exp(), atol=1e-5, rtol=0
        )
        assert ids[:, 0].tolist() == sequence.ids


def test_control_tokens_are_never_generated() -> None:
    """The model prefers padding, start and unknown tokens."""
    model = models.untrained()
    boosted = Hooks(
        {"hook_logits": lambda x, name: x.index_fill(-1, torch.tensor([0, 1, 3]), 99.0)}
    )
    for extra_options in ({}, {"beam_size": 3}, {"method": "sample", "seed": 5}):
        options = Decoding(max_len=6, **extra_options)
        for output in SequenceDecoder(model).run(models.many_sources(3), options, boosted):
            assert not {0, 1, 3} & set(output.decoded.ids)


LOGITS = torch.tensor([[2.0, 1.0, 0.5, 0.0, -1.0, -3.0, -torch.inf]])


def sampling(**options: object) -> Decoding:
    return Decoding(method="sample", **options)


def sample_counts(options: Decoding, n: int) -> torch.Tensor:
    """Return how often each token of LOGITS is drawn by `n` outputs, each with its own seed."""
    sampler = Sampler(options, [*range(n)], 1)
    rows = NextTokens(LOGITS.expand(n, -1).log_softmax(dim=-1), *LOGITS.topk(1))
    return torch.bincount(sampler(rows, 0, [*range(n)]), minlength=LOGITS.shape[1])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_are_those_of_the_softmax(temperature: float) -> None:
    """With 5 degrees of freedom, chi-square exceeds 20.5 in 0.1% of runs; the seed is fixed."""
    n = 20_000
    counts = sample_counts(sampling(temperature=temperature), n)
    expected = n * (LOGITS[0] / temperature).softmax(dim=-1)
    assert counts[6] == 0
    chi_square = ((counts - expected)[:6] ** 2 / expected[:6]).sum()
    assert chi_square < 20.5


@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_top_k_draws_from_the_k_largest(k: int) -> None:
    counts = sample_counts(sampling(top_k=k), 5000)
    assert set(counts.nonzero().flatten().tolist()) == set(range(min(k, 6)))


@given(
    st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=12, unique=True),
    st.floats(0.01, 1.0),
    st.integers(1, 12),
)
def test_top_p_keeps_the_fewest_that_reach_p(logits: list[float], p: float, k: int) -> None:
    probabilities, ids = sampling_distribution(torch.tensor([logits]), sampling(top_p=p, top_k=k))
    row = torch.tensor([logits], device="cpu")
    unfiltered = row.topk(min(k, len(logits))).values.double().softmax(-1)[0]
    n_kept = int((probabilities > 0).sum())
    assert unfiltered[:n_kept].sum() >= p - 1e-9 or n_kept == len(unfiltered)
    assert n_kept == 1 or unfiltered[: n_kept - 1].sum() < p
    assert float(probabilities.sum()) == pytest.approx(1.0)
    assert (
        ids[0, :n_kept].tolist() == torch.tensor(logits).argsort(descending=True)[:n_kept].tolist()
    )
    ratio = probabilities[0, :n_kept] / unfiltered[:n_kept]
    assert float(ratio.max() - ratio.min()) < 1e-6, "the ratios of the kept tokens do not change"


def test_the_same_seed_gives_the_same_output_alone_and_in_a_batch() -> None:
    decoder = SequenceDecoder(models.copier())
    batch_outputs = decoder.run(models.SOURCES, sampling(seed=7, max_len=12))
    for source, output in zip(models.SOURCES, batch_outputs, strict=True):
        assert output.seed == 7
        alone = decoder.run([source], sampling(seed=7, max_len=12))[0]
        assert alone.decoded.ids == output.decoded.ids
    sampled_ids = {
        tuple(decoder.run(models.SOURCES[:1], sampling(seed=seed, max_len=12))[0].decoded.ids)
        for seed in range(20)
    }
    assert len(sampled_ids) > 5


def test_a_random_seed_is_returned_and_can_be_repeated() -> None:
    decoder = SequenceDecoder(models.copier())
    outputs = decoder.run(models.SOURCES[:1] * 6, sampling(max_len=12))
    seeds = {output.seed for output in outputs}
    assert len(seeds) == 6
    for output in outputs:
        repeated = decoder.run(models.SOURCES[:1], sampling(max_len=12, seed=output.seed))[0]
        assert repeated.decoded.ids == output.decoded.ids


@given(
    # Logits differ by at least 0.01, because equally probable tokens may be in either order.
    st.lists(st.integers(-800, 800).map(lambda n: n / 100), min_size=2, max_size=12, unique=True),
    st.floats(0.01, 1.0),
)
def test_tokens_outside_top_p_have_mass_p_above_them(logits: list[float], p: float) -> None:
    row = torch.tensor([logits])
    probabilities, ids = sampling_distribution(row, sampling(top_p=p))
    softmax = row[0].double().softmax(dim=-1)
    masses = [float(softmax[softmax > softmax[piece]].sum()) for piece in range(len(logits))]
    # The two implementations add in different orders, so sums differ by rounding errors.
    for share, piece in zip(probabilities[0].tolist(), ids[0].tolist(), strict=True):
        assert (masses[piece] < p) == (share > 0) or masses[piece] == pytest.approx(p, abs=1e-9)
    assert min(masses) == 0
