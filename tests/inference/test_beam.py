"""Beam search, compared with an enumeration of all sequences."""

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
from transformer.inference.beam import Hypotheses
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.inference.results import BeamTree, length_penalty


@pytest.mark.parametrize("prefix", [[], [4], [6, 5], [5, 5, 4], [6, 2], [3, 4]])
@pytest.mark.parametrize(("seed", "alpha"), [(0, 0.0), (1, 0.6), (2, 1.5), (0, -0.5)])
def test_an_unlimited_beam_finds_the_best_sequence(
    seed: int, alpha: float, prefix: list[int]
) -> None:
    model, source = models.three_word_model(seed), [5, 4, 6, 2]
    score, expected = models.exhaustive_best(model, source, 4, alpha, prefix)
    options = Decoding(method="beam", beam_size=64, length_penalty=alpha, max_len=4)
    output = SequenceDecoder(model).run([source], options, prefix=prefix)[0]
    assert output.decoded.ids == expected
    total = output.decoded.log_probability
    assert total / length_penalty(len(expected), alpha) == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_an_improbable_end_does_not_win_at_the_length_limit(alpha: float) -> None:
    search = Hypotheses(limit=2, options=Decoding(beam_size=2, length_penalty=alpha), eos_id=2)
    search.start(1)
    search.expand([[5, 2, 6]], [[-0.1, -4.0, -5.0]])
    search.expand([[6, 5, 4]] * 2, [[-0.1, -3.0, -4.0]] * 2)
    assert search.done()
    assert search.decoded().ids == [5, 6]
    assert not search.decoded().finished
    assert search.tree([str(n) for n in range(7)]).nodes[search.best()[-1]].best
    likely_end = Hypotheses(limit=2, options=search.options, eos_id=2)
    likely_end.start(1)
    likely_end.expand([[2, 5, 6]], [[-0.1, -4.0, -5.0]])
    likely_end.expand([[6, 5, 4]] * 2, [[-0.1, -3.0, -4.0]] * 2)
    assert likely_end.decoded().ids == [2]
    assert likely_end.decoded().finished


def search_trees() -> list[tuple[BeamTree, list[int]]]:
    pieces = [f"w{i}" for i in range(models.VOCAB_SIZE)]
    outputs = SequenceDecoder(models.copier()).run(
        models.SOURCES, Decoding(beam_size=3, max_len=15)
    )
    return [(o.search.tree(pieces), o.decoded.ids) for o in outputs if o.search is not None]


def test_the_tree_includes_discarded_hypotheses() -> None:
    for tree, ids in search_trees():
        root = tree.nodes[0]
        assert (root.parent, root.depth, root.token) == (None, 0, "w1")
        for node in tree.nodes[1:]:
            parent = tree.nodes[node.parent]
            assert parent.index < node.index
            assert node.depth == parent.depth + 1
            assert parent.status == "kept", "only kept nodes have children"
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
        assert [node.parent for node in best[1:]] == [node.index for node in best[:-1]]
        finished = [node for node in tree.nodes if node.status == "finished"]
        assert best[-1] in finished or not finished
        assert any(node.status == "discarded" for node in tree.nodes)


def test_steps_belong_to_the_best_hypothesis() -> None:
    """Candidates of a step belong to the hypothesis that was returned, not to another row."""
    model = models.copier()
    outputs = SequenceDecoder(model).run(models.SOURCES, Decoding(beam_size=4))
    for source, output in zip(models.SOURCES, outputs, strict=True):
        decoded = output.decoded
        log_probabilities = models.log_probabilities(model, source, decoded.ids)
        ids = torch.tensor(decoded.candidate_ids, device="cpu")
        probabilities = log_probabilities.gather(1, ids).exp()
        np.testing.assert_allclose(
            decoded.candidate_probabilities, probabilities, atol=1e-4, rtol=0
        )
        assert ids.shape == (len(decoded.ids), 8)


@given(st.integers(1, 500), st.floats(-2, 3))
def test_length_penalty_equals_the_formula_of_wu_et_al(length: int, alpha: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx((5 + length) ** alpha / (5 + 1) ** alpha)
    assert length_penalty(1, alpha) == 1.0


def test_the_search_stops_when_no_hypothesis_can_overtake() -> None:
    search = Hypotheses(limit=50, options=Decoding(beam_size=2, length_penalty=0.0), eos_id=2)
    search.start(1)
    parent_rows, ids = search.expand([[2, 5, 6]], [[-0.1, -3.0, -4.0]])
    assert (parent_rows, ids) == ([0, 0], [5, 6])
    assert search.done(), "no continuation of -3 can exceed the finished -0.1"
    search = Hypotheses(limit=50, options=Decoding(beam_size=2, length_penalty=1.0), eos_id=2)
    search.start(1)
    search.expand([[2, 5, 6]], [[-0.5, -3.0, -4.0]])
    assert not search.done(), "at 50 tokens the penalty would divide -3 by 9"


def test_improbable_ends_do_not_stop_the_search() -> None:
    """A sure model gives `</s>` a tiny probability at each step, which is still among the best
    `beam_size` continuations. The likely hypothesis must not be lost."""
    search = Hypotheses(limit=50, options=Decoding(beam_size=2, length_penalty=0.6), eos_id=2)
    search.start(1)
    for _ in range(4):
        search.expand([[5, 2, 6]] * len(search.active), [[-0.01, -8.0, -9.0]] * len(search.active))
        assert not search.done()
    search.expand([[2, 5, 6]] * len(search.active), [[-0.01, -8.0, -9.0]] * len(search.active))
    assert search.done()
    assert search.decoded().ids == [5, 5, 5, 5, 2]
    assert search.decoded().log_probability == pytest.approx(-0.05)


def test_with_penalty_equals_a_search_with_that_penalty() -> None:
    same_outputs = set()
    for source in models.SOURCES:
        translator = models.copy_translator(source)
        first = translator.trace("a", beam_size=4, length_penalty=3.0, max_len=15)
        for penalty in (-2.0, 0.0, 0.5, 3.0):
            result = translator.with_penalty(first, penalty)
            expected = translator.trace("a", beam_size=4, length_penalty=penalty, max_len=15)
            assert result is not None, "the recorded steps suffice"
            assert result.translation == expected.translation
            models.assert_same_trace(result, expected, atol=1e-5)
            same_outputs.add(result.text == first.text)
    assert same_outputs == {True, False}, "the penalty must change some outputs, but not all"


def test_with_penalty_needs_a_beam_search_without_hooks(
    translator: Translator, tmp_path: Path
) -> None:
    hooks = Hooks({"decoder.layers.0.cross_attn.hook_weights": lambda tensor, name: tensor})
    beam = translator.trace("She sells bread.", beam_size=2, max_len=5)
    beam.save_npz(tmp_path / "beam.npz")
    for trace in (
        translator.trace("She sells bread.", max_len=5),
        translator.trace("She sells bread.", beam_size=2, max_len=5, hooks=hooks),
        Trace.load_npz(tmp_path / "beam.npz"),
    ):
        with pytest.raises(ValueError, match="only be changed for the trace of a beam search"):
            translator.with_penalty(trace, 1.0)
    with pytest.raises(ValueError, match="length_penalty must be from"):
        translator.with_penalty(beam, 1e9)
