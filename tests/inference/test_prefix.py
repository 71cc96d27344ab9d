"""An output that begins with given pieces: they are taken, and all else stays as it was."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inference import models
from transformer.inference.decoding import Output, SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.results import length_penalty

LIMIT = 12
GREEDY, BEAM = Decoding(max_len=LIMIT), Decoding(max_len=LIMIT, beam_size=3)
ONE = Decoding(max_len=LIMIT, method="beam", beam_size=1)
SAMPLE = Decoding(max_len=LIMIT, method="sample", seed=4)

words = st.integers(4, models.VOCABULARY - 1)
prefixes = st.lists(words, max_size=LIMIT - 1)
sources = st.lists(words, min_size=1, max_size=7).map(lambda ids: [*ids, 2])
ways = pytest.mark.parametrize("way", ["cached", "drafted", "hooked"])


def decode(way: str, source: list[int], options: Decoding, prefix: list[int]) -> Output:
    """One output by one of the ways that a sentence can take."""
    model = models.copier()
    decoder = SequenceDecoder(model)
    if way == "drafted":
        decoder = models.with_draft(model)
    hooks = models.LOOK if way == "hooked" else None
    return decoder.run([source], options, hooks, prefix=prefix)[0]


@ways
@given(source=sources, prefix=prefixes, end=st.booleans())
@settings(max_examples=25)
def test_greedy_goes_on_from_any_prefix(
    way: str, source: list[int], prefix: list[int], end: bool
) -> None:
    prefix = [*prefix, 2] if end else prefix
    done = decode(way, source, GREEDY, prefix).decoded
    assert done.ids[: len(prefix)] == prefix
    if end:
        assert (done.ids, done.finished) == (prefix, True)
    assert done.finished == (done.ids[-1] == 2)
    assert done.finished or len(done.ids) == LIMIT
    logs = models.logs_of(models.copier(), source, done.ids)
    taken = logs[range(len(done.ids)), done.ids]
    torch.testing.assert_close(torch.tensor(done.log_probabilities), taken, atol=1e-4, rtol=0)
    best, shares = torch.tensor(done.candidate_ids), torch.tensor(done.candidate_probabilities)
    torch.testing.assert_close(shares.double(), logs.gather(1, best).exp(), atol=1e-4, rtol=0)
    logs[:, [0, 1, 3]] = -torch.inf
    torch.testing.assert_close(shares[:, 0].double(), logs.amax(1).exp(), atol=1e-4, rtol=0)
    assert best[len(prefix) :, 0].tolist() == done.ids[len(prefix) :]


@ways
@pytest.mark.parametrize("options", [GREEDY, SAMPLE], ids=["greedy", "sample"])
def test_a_prefix_that_would_come_anyway_changes_nothing(way: str, options: Decoding) -> None:
    """Sampling too: each step has a number of its own, whether it was needed or not."""
    confirmed = 0
    for source in models.SOURCES:
        free = decode(way, source, options, [])
        for cut in range(1, len(free.decoded.ids) + 1):
            output = decode(way, source, options, free.decoded.ids[:cut])
            models.same_output(output, free)
            confirmed += output.passed is not None
    assert (confirmed > 20) == (way == "drafted")


@given(source=sources, prefix=prefixes)
@settings(max_examples=20)
@pytest.mark.parametrize(
    "options",
    [
        Decoding(method="sample", seed=3, max_len=LIMIT, top_p=0.9),
        Decoding(method="sample", seed=3, max_len=LIMIT, top_k=1),
        BEAM,
        ONE,
    ],
    ids=["top-p", "top-k of one", "beam", "beam of one"],
)
def test_the_ways_agree_and_repeat(options: Decoding, source: list[int], prefix: list[int]) -> None:
    outputs = [decode(way, source, options, prefix).decoded for way in ("cached", "hooked")]
    outputs += [decode(way, source, options, prefix).decoded for way in ("cached", "drafted")]
    if options.top_k == 1 or options == ONE:
        outputs.append(decode("cached", source, GREEDY, prefix).decoded)
    logs = models.logs_of(models.copier(), source, outputs[0].ids)
    taken = logs[range(len(outputs[0].ids)), outputs[0].ids]
    for done in outputs:
        assert done.ids == outputs[0].ids
        assert done.ids[: len(prefix)] == prefix
        torch.testing.assert_close(torch.tensor(done.log_probabilities), taken, atol=1e-4, rtol=0)
        assert done.candidate_ids.shape == (len(done.ids), 8)


def test_a_drawn_seed_repeats_with_its_prefix() -> None:
    source, prefix = models.SOURCES[1], [15, 9]
    drawn = [decode("cached", source, Decoding(method="sample"), prefix) for _ in range(8)]
    assert len({tuple(output.decoded.ids) for output in drawn}) > 1
    for output in drawn:
        again = decode("drafted", source, Decoding(method="sample", seed=output.seed), prefix)
        assert again.decoded.ids == output.decoded.ids


@pytest.mark.parametrize("options", [GREEDY, SAMPLE, BEAM], ids=["greedy", "sample", "beam"])
def test_sentences_side_by_side_begin_with_it_as_each_alone(options: Decoding) -> None:
    together = SequenceDecoder(models.copier()).run(models.SOURCES, options, prefix=[6, 17])
    for source, output in zip(models.SOURCES, together, strict=True):
        assert output.decoded.ids[:2] == [6, 17]
        assert output.decoded.ids == decode("cached", source, options, [6, 17]).decoded.ids


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("prefix", [[4], [6, 5], [5, 5, 4], [6, 2], [3, 4]])
def test_a_beam_that_holds_everything_finds_the_best_that_begins_so(
    prefix: list[int], alpha: float
) -> None:
    model, source, longest = models.small(1), [5, 4, 6, 2], 4
    best, expected = models.best_of_all(model, source, longest, alpha, prefix)
    options = Decoding(method="beam", beam_size=64, length_penalty=alpha, max_len=longest)
    done = SequenceDecoder(model).run([source], options, prefix=prefix)[0].decoded
    assert done.ids == expected
    score = done.log_probability / length_penalty(len(done.ids), alpha)
    assert score == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("way", ["cached", "hooked"])
def test_the_best_hypothesis_is_no_worse_for_its_own_beginning(way: str) -> None:
    for source in models.SOURCES:
        free = decode(way, source, BEAM, []).decoded
        for cut in range(1, len(free.ids) + 1):
            done = decode(way, source, BEAM, free.ids[:cut]).decoded
            score = done.log_probability / length_penalty(len(done.ids), 0.6)
            assert score >= free.log_probability / length_penalty(len(free.ids), 0.6) - 1e-5
        assert done.ids == free.ids, "at last the whole of it was given"


@given(source=sources, prefix=prefixes.filter(len), end=st.booleans())
def test_the_tree_has_the_prefix_as_its_trunk(
    source: list[int], prefix: list[int], end: bool
) -> None:
    prefix = [*prefix, 2] if end else prefix
    output = decode("cached", source, BEAM, prefix)
    assert output.search is not None
    tree = output.search.tree([f"w{i}" for i in range(models.VOCABULARY)])
    trunk = tree.nodes[: len(prefix) + 1]
    assert [node.id for node in trunk] == [1, *prefix]
    assert [node.parent for node in trunk] == [None, *range(len(prefix))]
    ended = "finished" if end else "kept"
    assert [node.status for node in trunk] == ["kept"] * len(prefix) + [ended]
    assert all(node.best for node in trunk)
    assert all(node.depth > len(prefix) for node in tree.nodes[len(trunk) :])
    assert (len(tree.nodes) == len(trunk)) == end
    logs = models.logs_of(models.copier(), source, prefix)[range(len(prefix)), prefix]
    told = [node.log_probability for node in trunk[1:]]
    torch.testing.assert_close(torch.tensor(told).double(), logs.cumsum(0), atol=1e-3, rtol=0)
