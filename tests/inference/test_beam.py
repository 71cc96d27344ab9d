"""Beam search against counting out every sequence there is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.inference import models
from transformer import Hooks, Translator
from transformer.inference import Trace
from transformer.inference.beam import Hypotheses, _keep_rows_in_place
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.results import BeamTree, length_penalty


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5, -0.5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_beam_that_holds_everything_finds_the_best_of_all(seed: int, alpha: float) -> None:
    model, source = models.small(seed), [5, 4, 6, 2]
    score, expected = models.best_of_all(model, source, 4, alpha)
    options = Decoding(method="beam", beam_size=64, length_penalty=alpha, max_len=4)
    output = SequenceDecoder(model).run([source], options)[0]
    assert output.decoded.ids == expected
    total = output.decoded.log_probability
    assert total / length_penalty(len(expected), alpha) == pytest.approx(score, abs=1e-5)


def test_a_beam_of_one_is_greedy() -> None:
    decoder = SequenceDecoder(models.copier())
    greedy = decoder.run(models.SOURCES, Decoding())
    beam = decoder.run(models.SOURCES, Decoding(method="beam", beam_size=1))
    for one, other in zip(greedy, beam, strict=True):
        models.same_output(one, other)
        assert (one.decoded.candidate_ids == other.decoded.candidate_ids).all()
        shares = one.decoded.candidate_probabilities, other.decoded.candidate_probabilities
        np.testing.assert_allclose(*shares, atol=1e-5, rtol=0)


def test_a_batch_equals_its_sentences_one_by_one() -> None:
    decoder, options = SequenceDecoder(models.copier()), Decoding(beam_size=4)
    for source, output in zip(models.SOURCES, decoder.run(models.SOURCES, options), strict=True):
        alone = decoder.run([source], options)[0]
        assert output.decoded.ids == alone.decoded.ids
        assert output.search is not None
        assert alone.search is not None
        shape = [(node.parent, node.id, node.status) for node in output.search.nodes]
        assert shape == [(node.parent, node.id, node.status) for node in alone.search.nodes]


def trees() -> list[tuple[BeamTree, list[int]]]:
    pieces = [f"w{i}" for i in range(models.VOCABULARY)]
    outputs = SequenceDecoder(models.copier()).run(
        models.SOURCES, Decoding(beam_size=3, max_len=15)
    )
    return [(o.search.tree(pieces), o.decoded.ids) for o in outputs if o.search is not None]


def test_the_tree_holds_every_hypothesis_and_the_discarded_ones() -> None:
    for tree, ids in trees():
        root = tree.nodes[0]
        assert (root.parent, root.depth, root.token) == (None, 0, "w1")
        for node in tree.nodes[1:]:
            parent = tree.nodes[node.parent]
            assert parent.index < node.index
            assert node.depth == parent.depth + 1
            assert parent.status == "kept", "only what was kept goes on"
            assert node.log_probability == pytest.approx(
                parent.log_probability + math.log(node.probability), abs=1e-4
            )
            assert node.score == pytest.approx(
                node.log_probability / ((5 + node.depth) / 6) ** 0.6, abs=1e-6
            )
            assert (node.status == "finished") <= (node.id == 2)
        deepest = max(node.depth for node in tree.nodes)
        for depth in range(1, deepest + 1):
            level = [node for node in tree.nodes if node.depth == depth]
            assert len(level) <= 6
            assert sum(node.status == "kept" for node in level) <= 3
        best = [node for node in tree.nodes if node.best]
        assert [node.id for node in best[1:]] == ids
        assert tree.path(best[-1]) == tuple(best)
        assert best[-1] in tree.hypotheses or not tree.hypotheses
        if tree.hypotheses:
            assert tree.hypotheses[0].score == max(node.score for node in tree.hypotheses)
        assert any(node.status == "discarded" for node in tree.nodes)
        assert set(tree.children(root)) == {node for node in tree.nodes if node.parent == 0}


def test_steps_show_what_the_best_way_saw() -> None:
    """Candidates of a step belong to the hypothesis that was returned, not to another row."""
    model = models.copier()
    outputs = SequenceDecoder(model).run(models.SOURCES, Decoding(beam_size=4))
    for source, output in zip(models.SOURCES, outputs, strict=True):
        done = output.decoded
        logs, ids = models.logs_of(model, source, done.ids), torch.tensor(done.candidate_ids)
        shares = logs.gather(1, ids).exp()
        np.testing.assert_allclose(done.candidate_probabilities, shares, atol=1e-4, rtol=0)
        assert ids.shape == (len(done.ids), 8)


@given(st.integers(1, 500), st.floats(-2, 3))
def test_the_length_penalty_is_that_of_wu_et_al(length: int, alpha: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx((5 + length) ** alpha / (5 + 1) ** alpha)
    assert length_penalty(1, alpha) == 1.0


def test_a_finished_hypothesis_that_none_can_overtake_ends_the_search() -> None:
    search = Hypotheses(limit=50, options=Decoding(beam_size=2, length_penalty=0.0), eos_id=2)
    search.start(1)
    places, ids = search.expand([[2, 5, 6]], [[-0.1, -3.0, -4.0]])
    assert (places, ids) == ([0, 0], [5, 6])
    assert search.done(), "-3 can only fall; -0.1 is in hand"
    search = Hypotheses(limit=50, options=Decoding(beam_size=2, length_penalty=1.0), eos_id=2)
    search.start(1)
    search.expand([[2, 5, 6]], [[-0.5, -3.0, -4.0]])
    assert not search.done(), "at 50 tokens the penalty would divide -3 by 9"


@given(st.lists(st.integers(0, 7), min_size=8, max_size=8))
def test_whoever_can_takes_the_place_of_its_parent(parents: list[int]) -> None:
    order = _keep_rows_in_place(parents)
    assert sorted(order) == list(range(8)), "everybody has one place"
    at_home = {place for place, child in enumerate(order) if parents[child] == place}
    assert at_home == set(parents)


@given(st.sampled_from(models.SOURCES), st.floats(-2, 3), st.floats(-2, 3), st.integers(1, 5))
def test_a_search_again_with_another_penalty_is_the_search_with_that_penalty(
    source: list[int], alpha: float, other: float, beam: int
) -> None:
    decoder = SequenceDecoder(models.copier())

    def search(penalty: float) -> Hypotheses:
        options = Decoding(method="beam", beam_size=beam, length_penalty=penalty, max_len=15)
        found = decoder.run([source], options)[0].search
        assert found is not None
        return found

    first, wanted = search(alpha), search(other)
    again = first.with_length_penalty(other)
    if len(first.steps) < len(wanted.steps):
        assert again is None, "it ended before the other did"
        return
    assert again is not None
    assert again.nodes == wanted.nodes
    assert again.finished == wanted.finished
    assert again.decoded().ids == wanted.decoded().ids
    back = again.with_length_penalty(alpha)
    assert back is not None, "what was found once is not lost"
    assert back.nodes == first.nodes


def test_a_search_with_another_penalty_may_end_later_and_with_another_winner() -> None:
    decoder, seen = SequenceDecoder(models.copier()), set()
    for source in models.SOURCES:
        for alpha, other in ((0.0, 3.0), (3.0, -2.0)):
            options = Decoding(beam_size=4, length_penalty=alpha, max_len=15)
            search = decoder.run([source], options)[0].search
            again = search and search.with_length_penalty(other)
            seen.add(again and again.decoded().ids == search.decoded().ids)
    assert seen == {None, True, False}, "the test above tells little otherwise"


def test_another_length_penalty_is_the_search_with_it() -> None:
    winners = set()
    for source in models.SOURCES:
        translator = models.copying(source)
        first = translator.trace("a", beam_size=4, length_penalty=3.0, max_len=15)
        for penalty in (-2.0, 0.0, 0.5, 3.0):
            found = translator.with_penalty(first, penalty)
            wanted = translator.trace("a", beam_size=4, length_penalty=penalty, max_len=15)
            assert found is not None, "none ends later"
            assert found.translation == wanted.translation
            models.same_trace(found, wanted, atol=1e-5)
            winners.add(found.text == first.text)
    assert winners == {True, False}, "one winner whatever the penalty tells little"


def test_only_a_search_can_end_otherwise(translator: Translator, tmp_path: Path) -> None:
    seen = Hooks({"decoder.layers.0.cross_attn.hook_weights": lambda tensor, name: tensor})
    beam = translator.trace("She sells bread.", beam_size=2, max_len=5)
    beam.save_npz(tmp_path / "beam.npz")
    for trace in (
        translator.trace("She sells bread.", max_len=5),
        translator.trace("She sells bread.", beam_size=2, max_len=5, hooks=seen),
        Trace.load_npz(tmp_path / "beam.npz"),
    ):
        with pytest.raises(ValueError, match="only what a beam search found"):
            translator.with_penalty(trace, 1.0)
    with pytest.raises(ValueError, match="length_penalty must be from"):
        translator.with_penalty(beam, 1e9)
