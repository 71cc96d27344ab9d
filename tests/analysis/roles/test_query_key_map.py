"""The map's scaled vectors keep all weights, and its plane equals that of the SVD."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.small_models import MARIAN, THREE_PAIRS, new_model
from transformer import Translator
from transformer.analysis.interventions.switching import site
from transformer.analysis.roles import query_key_map as module
from transformer.analysis.roles.query_key_map import QueryKeyMap, principal_plane, query_key_map
from transformer.inference import Trace
from transformer.text import Vocabulary

SHAPES = {"scaled_dot": {}, "dot": {"score": "dot"}, "Marian's": MARIAN}


@pytest.fixture(scope="module", params=SHAPES)
def translator(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Translator:
    return new_model(vocabulary, **SHAPES[request.param])


@pytest.fixture(scope="module")
def traces(translator: Translator) -> list[Trace]:
    return [
        translator.trace(sentence.source, sentence.target) for sentence in THREE_PAIRS.sentences
    ]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_weights_equal_those_of_the_trace(
    translator: Translator, traces: list[Trace], kind: str
) -> None:
    point_map = query_key_map(translator, THREE_PAIRS, kind, 1, 2)
    for number, trace in enumerate(traces):
        rows, columns = trace.labels(kind)
        assert (point_map.query_tokens[number], point_map.key_tokens[number]) == (rows, columns)
        np.testing.assert_allclose(point_map.weights(number), trace.weights(kind, 1)[2], atol=2e-6)
    # The vectors differ from the head's: they have a common centre and a common scale.
    np.testing.assert_allclose(
        point_map.queries.mean(axis=0), point_map.keys.mean(axis=0), atol=1e-9
    )
    assert point_map.queries.var(axis=0).sum() == pytest.approx(point_map.keys.var(axis=0).sum())
    name = site(kind, 1, "key")
    head_keys = np.concatenate([trace[name][2] for trace in traces])
    assert np.abs(head_keys - point_map.keys).max() > 1e-3


def test_the_scale_factor_is_optimal(translator: Translator) -> None:
    """Any other factor increases the part of the squared distances that is not q·k."""
    point_map = query_key_map(translator, THREE_PAIRS, "encoder", 0, 1)
    queries, keys = point_map.queries / point_map.factor, point_map.keys * point_map.factor

    def remainder(factor: float) -> float:
        return float(factor**2 * queries.var(axis=0).sum() + keys.var(axis=0).sum() / factor**2)

    assert all(
        remainder(point_map.factor) < remainder(point_map.factor * by)
        for by in (0.9, 0.99, 1.01, 1.1)
    )


def test_agreement_equals_a_hand_computed_correlation(
    translator: Translator, traces: list[Trace]
) -> None:
    point_map = query_key_map(translator, THREE_PAIRS, "decoder", 0, 3)
    scores, nearness = [], []
    start = 0
    for trace in traces:
        n = len(trace.tgt_tokens)
        head_scores = trace[site("decoder", 0, "scores")][3].astype(np.float64)
        for i in range(n):
            nearness_of_row = [
                -float(np.sum((point_map.queries[start + i] - point_map.keys[start + j]) ** 2))
                for j in range(i + 1)
            ]
            nearness += list(np.array(nearness_of_row) - np.mean(nearness_of_row))
            scores += list(head_scores[i, : i + 1] - head_scores[i, : i + 1].mean())
        start += n
    assert point_map.agreement()[0] == pytest.approx(np.corrcoef(scores, nearness)[0, 1], abs=1e-5)
    assert abs(point_map.agreement()[1]) <= 1


@given(
    seed=st.integers(0, 1000), n=st.integers(3, 30), d=st.integers(2, 12), scale=st.floats(0.1, 50)
)
def test_the_plane_equals_that_of_the_svd(seed: int, n: int, d: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    # Axes of very different spread, so that they are distinguishable.
    vectors = generator.normal(size=(n, d)) * scale * 2.0 ** -np.arange(d) + 5
    points, explained = principal_plane(vectors)
    centred = vectors - vectors.mean(axis=0)
    _, values, axes = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(explained, values[:2] ** 2 / np.sum(values**2), atol=1e-9)
    np.testing.assert_allclose(points.var(axis=0) / vectors.var(axis=0).sum(), explained, atol=1e-9)
    if values[0] > 1.05 * values[1] and (len(values) < 3 or values[1] > 1.05 * values[2]):
        by_hand = centred @ axes[:2].T
        np.testing.assert_allclose(np.abs(points), np.abs(by_hand), atol=1e-6 * values[0])


def test_the_plane_of_collinear_and_of_equal_vectors() -> None:
    points, explained = principal_plane(np.array([[1.0], [2.0], [6.0]]))
    np.testing.assert_allclose(points, [[-2, 0], [-1, 0], [3, 0]])
    np.testing.assert_allclose(explained, [1, 0])
    points, explained = principal_plane(np.ones((4, 3)))
    assert not points.any()
    assert not explained.any()


def test_a_map_has_whole_sentences_up_to_the_maximum(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = new_model(vocabulary)
    complete = query_key_map(translator, THREE_PAIRS, "encoder", 0, 0)
    monkeypatch.setattr(module, "MAX_POINTS", len(complete.points) - 1)
    fewer = query_key_map(translator, THREE_PAIRS, "encoder", 0, 0)
    assert fewer.query_tokens == complete.query_tokens[:2]
    monkeypatch.setattr(module, "MAX_POINTS", 1)
    assert len(query_key_map(translator, THREE_PAIRS, "cross", 0, 0).query_tokens) == 1


def test_a_map_survives_a_json_round_trip(translator: Translator) -> None:
    point_map: QueryKeyMap = query_key_map(translator, THREE_PAIRS, "cross", 0, 1)
    loaded = json.loads(json.dumps(point_map.to_dict()))
    assert len(loaded["points"]) == sum(
        len(sentence[side]) for sentence in loaded["sentences"] for side in ("queries", "keys")
    )
    np.testing.assert_allclose(loaded["points"], point_map.points, atol=1e-4)
    for number, sentence in enumerate(loaded["sentences"]):
        np.testing.assert_allclose(sentence["weights"], point_map.weights(number), atol=1e-4)


def test_invalid_arguments_are_refused(vocabulary: Vocabulary) -> None:
    with pytest.raises(ValueError, match="no head 9; the heads are 0 to 3"):
        query_key_map(new_model(vocabulary), THREE_PAIRS, "encoder", 0, 9)
    additive = new_model(vocabulary, score="additive")
    with pytest.raises(ValueError, match="a map needs dot products"):
        query_key_map(additive, THREE_PAIRS, "encoder", 0, 0)
