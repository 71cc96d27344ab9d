"""Greedy decoding and its records, against a plain loop over the whole model."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.inference import models
from transformer.hooks import Hooks
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.step_logits import Recorder

LOOK = Hooks({"hook_logits": lambda logits, name: None})


def many_sources(n: int, seed: int = 0) -> list[list[int]]:
    dice = random.Random(seed)
    return [
        [*(dice.randrange(4, models.VOCABULARY) for _ in range(dice.randint(1, 8))), 2]
        for _ in range(n)
    ]


def ids_of(
    decoder: SequenceDecoder, sources: list[list[int]], **options: object
) -> list[list[int]]:
    outputs = decoder.run(sources, Decoding(**options))
    return [output.decoded.ids for output in outputs]


def test_greedy_is_the_plain_loop() -> None:
    model, sources = models.copier(), many_sources(12)
    expected = [models.greedy_by_hand(model, source, 20) for source in sources]
    assert ids_of(SequenceDecoder(model), sources, max_len=20) == expected
    lengths = {len(output) for output in expected}
    assert len(lengths & {*range(20)}) > 3, "the test wants early ends, in several places"


def test_a_batch_equals_its_sentences_one_by_one() -> None:
    """70 sentences are several batches, and rows leave a batch as they end."""
    decoder, sources = SequenceDecoder(models.copier()), many_sources(70, seed=1)
    together = decoder.run(sources, Decoding())
    for source, output in zip(sources, together, strict=True):
        models.same_output(output, decoder.run([source], Decoding())[0])
        assert output.decoded.finished == (output.decoded.ids[-1] == 2)


def test_hooks_that_only_look_change_nothing() -> None:
    decoder, sources = SequenceDecoder(models.copier()), many_sources(5)
    for method in ({"max_len": 15}, {"max_len": 15, "beam_size": 3}):
        seen = decoder.run(sources, Decoding(**method), LOOK)
        plain = decoder.run(sources, Decoding(**method))
        assert [o.decoded.ids for o in seen] == [o.decoded.ids for o in plain]


@pytest.mark.parametrize("k", [1, 4, 17, 50])
def test_records_are_the_models_own_softmax(k: int) -> None:
    model, sources = models.copier(), many_sources(6)
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


def test_a_small_buffer_is_read_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, sources = SequenceDecoder(models.copier()), many_sources(9)
    whole = decoder.run(sources, Decoding(max_len=12))
    monkeypatch.setattr("transformer.inference.step_logits.BUFFER", 25 * models.VOCABULARY)
    for one, other in zip(whole, decoder.run(sources, Decoding(max_len=12)), strict=True):
        assert one.decoded.ids == other.decoded.ids
        assert (one.decoded.candidate_ids == other.decoded.candidate_ids).all()
        assert (one.decoded.log_probabilities == other.decoded.log_probabilities).all()


@given(st.lists(st.integers(1, 7), min_size=1, max_size=12))
def test_the_recorder_gives_each_row_to_its_owner(lengths: list[int]) -> None:
    """Outputs of any lengths side by side; each row's logits carry owner and step."""
    config = models.untrained().config
    recorder = Recorder(config, 1, len(lengths), torch.device("cpu"))
    for step in range(max(lengths)):
        batch_indices = [i if step < n else -1 for i, n in enumerate(lengths)]
        room = recorder.room(len(batch_indices))
        room.zero_()
        for row, owner in enumerate(batch_indices):
            room[row, 4 + (owner + step) % 16] = 50.0
        recorder.add(batch_indices, [4] * len(batch_indices))
    made = recorder.decoded([[4] * n for n in lengths], [False] * len(lengths))
    for owner, (n, one) in enumerate(zip(lengths, made, strict=True)):
        assert one.candidate_ids[:, 0].tolist() == [4 + (owner + step) % 16 for step in range(n)]


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_no_output_is_longer_than_its_limit(limit: int) -> None:
    outputs = SequenceDecoder(models.copier()).run(many_sources(8), Decoding(max_len=limit))
    assert max(len(output.decoded.ids) for output in outputs) == limit
    for output in outputs:
        assert output.decoded.finished == (output.decoded.ids[-1] == 2)


def test_min_len_puts_the_end_off() -> None:
    for sources in (many_sources(6), many_sources(1)):
        outputs = SequenceDecoder(models.copier()).run(sources, Decoding(max_len=9), min_len=8)
        assert all(len(o.decoded.ids) == 9 and 2 not in o.decoded.ids[:8] for o in outputs)


def test_what_cannot_be_said_is_never_generated() -> None:
    """A model that prefers padding, start and unknown above all else."""
    model = models.untrained()
    loud = Hooks({"hook_logits": lambda x, name: x.index_fill(-1, torch.tensor([0, 1, 3]), 99.0)})
    for options in (Decoding(max_len=6), Decoding(max_len=6, beam_size=3), sampling()):
        for output in SequenceDecoder(model).run(many_sources(3), options, loud):
            assert not {0, 1, 3} & set(output.decoded.ids)


def sampling() -> Decoding:
    return Decoding(method="sample", max_len=6, seed=5)
