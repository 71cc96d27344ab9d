"""Greedy decoding and its records against a plain loop; sampling draws as it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.inference import models
from transformer.hooks import Hooks
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.search import Sampler, greedy, more_probable, narrowed, search


def test_greedy_is_the_plain_loop() -> None:
    model, sources = models.copier(), models.many_sources(12)
    expected = [models.greedy_by_hand(model, source, 20) for source in sources]
    outputs = SequenceDecoder(model).run(sources, Decoding(max_len=20))
    assert [output.decoded.ids for output in outputs] == expected
    lengths = {len(output) for output in expected}
    assert len(lengths & {*range(20)}) > 3, "the test wants early ends, in several places"


def test_a_batch_equals_its_sentences_one_by_one() -> None:
    """70 sentences are several batches, and rows leave a batch as they end."""
    decoder, sources = SequenceDecoder(models.copier()), models.many_sources(70, seed=1)
    together = decoder.run(sources, Decoding())
    for source, output in zip(sources, together, strict=True):
        models.same_output(output, decoder.run([source], Decoding())[0])
        assert output.decoded.finished == (output.decoded.ids[-1] == 2)


def test_hooks_that_only_look_change_nothing() -> None:
    decoder, sources = SequenceDecoder(models.copier()), models.many_sources(5)
    for method in ({"max_len": 15}, {"max_len": 15, "beam_size": 3}):
        seen = decoder.run(sources, Decoding(**method), models.LOOK)
        plain = decoder.run(sources, Decoding(**method))
        assert [o.decoded.ids for o in seen] == [o.decoded.ids for o in plain]


@pytest.mark.parametrize("k", [1, 4, 17, 50])
def test_records_are_the_models_own_softmax(k: int) -> None:
    model, sources = models.copier(), models.many_sources(6)
    outputs = SequenceDecoder(model).run(sources, Decoding(max_len=12, candidates=k))
    for source, output in zip(sources, outputs, strict=True):
        done = output.decoded
        logs = models.logs_of(model, source, done.ids)
        taken = logs[range(len(done.ids)), done.ids]
        torch.testing.assert_close(torch.tensor(done.log_probabilities), taken, atol=1e-4, rtol=0)
        assert done.log_probability == pytest.approx(float(taken.sum()), abs=1e-3)
        shares, ids = torch.tensor(done.candidate_probabilities), torch.tensor(done.candidate_ids)
        assert shares.shape == ids.shape == (len(done.ids), min(k, models.VOCABULARY - 3))
        assert not set(ids.flatten().tolist()) & {0, 1, 3}
        assert (shares.diff(dim=-1) <= 0).all()
        assert (shares.sum(dim=-1) <= 1 + 1e-6).all()
        torch.testing.assert_close(shares.double(), logs.gather(1, ids).exp(), atol=1e-5, rtol=0)
        assert ids[:, 0].tolist() == done.ids


@given(st.lists(st.integers(1, 7), min_size=1, max_size=12))
def test_each_step_is_recorded_for_its_own_output(lengths: list[int]) -> None:
    """Outputs of any lengths side by side; each row's logits name output and step."""
    config = models.untrained().config

    class Scripted:
        """A session in which output i prefers `</s>` at step `lengths[i]`, else 4 + (i + step)."""

        def __init__(self) -> None:
            self.rows, self.at = list(range(len(lengths))), 0

        def step(self, ids: torch.Tensor) -> torch.Tensor:
            logits = torch.zeros(len(self.rows), config.vocab_size)
            for row, output in enumerate(self.rows):
                ends = self.at + 1 == lengths[output]
                logits[row, config.eos_id if ends else 4 + (output + self.at) % 16] = 50.0
            self.at += 1
            return logits

        def select(self, rows: list[int]) -> None:
            self.rows = [self.rows[row] for row in rows]

    limits = [max(lengths) + 1] * len(lengths)
    device = torch.device("cpu")
    found = search(Scripted(), greedy, limits, config, candidates=1, device=device)
    for number, (n, one) in enumerate(zip(lengths, found, strict=True)):
        expected = [4 + (number + step) % 16 for step in range(n - 1)] + [config.eos_id]
        assert one.ids == expected
        assert one.candidate_ids[:, 0].tolist() == expected
        assert one.finished


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_no_output_is_longer_than_its_limit(limit: int) -> None:
    outputs = SequenceDecoder(models.copier()).run(models.many_sources(8), Decoding(max_len=limit))
    assert max(len(output.decoded.ids) for output in outputs) == limit
    for output in outputs:
        assert output.decoded.finished == (output.decoded.ids[-1] == 2)


def test_min_len_puts_the_end_off() -> None:
    for sources in (models.many_sources(6), models.many_sources(1)):
        outputs = SequenceDecoder(models.copier()).run(sources, Decoding(max_len=9), min_len=8)
        assert all(len(o.decoded.ids) == 9 and 2 not in o.decoded.ids[:8] for o in outputs)


def test_what_cannot_be_said_is_never_generated() -> None:
    """A model that prefers padding, start and unknown above all else."""
    model = models.untrained()
    loud = Hooks({"hook_logits": lambda x, name: x.index_fill(-1, torch.tensor([0, 1, 3]), 99.0)})
    for more in ({}, {"beam_size": 3}, {"method": "sample", "seed": 5}):
        options = Decoding(max_len=6, **more)
        for output in SequenceDecoder(model).run(models.many_sources(3), options, loud):
            assert not {0, 1, 3} & set(output.decoded.ids)


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
