"""The explorer's data of a trace, compared with the trace."""

from __future__ import annotations

import json

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.figures.fake_traces import HOSTILE, FakeTrace, fake_trace
from transformer.figures import explorer_sides as module
from transformer.figures.explorer_sides import (
    ExplorerData,
    header,
    pool,
    prefixed,
    query_key_vectors,
)
from transformer.figures.packing import COARSE, FINE, rounding_error, weights_of
from transformer.figures.state import DEFAULTS
from transformer.measures.registry import SITES, VECTORS

TGT = ["<s>", "▁a", "b", "▁c", "▁d"]


@pytest.fixture
def trace() -> FakeTrace:
    return fake_trace(HOSTILE, TGT, vectors=True)


def test_labels_are_the_unchanged_tokens(trace: FakeTrace) -> None:
    doc = ExplorerData(trace, "A").doc
    assert (doc["name"], doc["source"]) == ("A", "A made-up sentence.")
    assert doc["src"]["tokens"] == HOSTILE
    assert doc["tgt"]["tokens"] == TGT
    assert doc["predicted"]["tokens"] == ["▁a", "b", "▁c", "▁d", "</s>"]
    assert doc["tgt"]["special"] == [True, False, False, False, False]
    assert doc["predicted"]["special"] == [False] * 4 + [True]
    assert doc["tgt"]["words"] == [0, 1, 1, 2, 3]
    assert doc["tgt"]["word_labels"] == ["<s>", "ab", "c", "d"]
    assert doc["depths"] == {"encoder": 3, "decoder": 3, "cross": 3}
    assert (doc["n_heads"], doc["d_k"]) == (4, 8)
    assert doc["kinds"] == ["encoder", "decoder", "cross"]
    assert doc["steps"][0]["chosen"] == ["▁a", 0, 0.5]
    assert doc["steps"][0]["candidates"] == [["▁a", 0, 0.5], ["▁other", 999, 0.25]]


def test_weights_of_a_layer_are_those_of_the_trace(trace: FakeTrace) -> None:
    for kind in ("encoder", "decoder", "cross"):
        for layer in range(3):
            part = ExplorerData(trace).layer(kind, layer)
            assert (part.name, part.top) == (f"weights.{kind}.{layer}", FINE)
            error = np.abs(weights_of(part) - trace.weights(kind, layer))
            assert error.max() <= rounding_error(1.0, FINE)


def test_measures_are_those_of_each_head(trace: FakeTrace) -> None:
    measured = ExplorerData(trace).doc["measures"]["cross"]
    for layer in range(3):
        for head in range(4):
            weights = trace.weights("cross", layer)[head].astype(float)
            bits = -sum(w * np.log2(w) for w in weights.ravel() if w > 0) / len(weights)
            mean_distance = np.mean(
                [sum(w * abs(i - j) for j, w in enumerate(row)) for i, row in enumerate(weights)]
            )
            assert measured["entropy"][layer][head] == pytest.approx(bits, abs=1e-3)
            assert measured["distance"][layer][head] == pytest.approx(mean_distance, abs=1e-3)
            assert measured["first"][layer][head] == pytest.approx(weights[:, 0].mean(), abs=1e-3)
            assert measured["last"][layer][head] == pytest.approx(weights[:, -1].mean(), abs=1e-3)


def test_thumbnails_hold_all_heads_of_a_kind(trace: FakeTrace) -> None:
    thumbs = {part.name: part for part in ExplorerData(trace).thumbs}
    assert sorted(thumbs) == ["thumbs.cross", "thumbs.decoder", "thumbs.encoder"]
    part = thumbs["thumbs.cross"]
    assert part.top == COARSE
    assert part.array.shape == (3, 4, 5, 7)
    expected = np.stack([trace.weights("cross", layer) for layer in range(3)])
    np.testing.assert_array_equal(part.array, np.rint(np.sqrt(expected) * 255))


@given(
    arrays.arrays(
        np.float32, st.tuples(*[st.integers(1, 9)] * 3), elements=st.floats(0, 1, width=32)
    ),
    st.integers(1, 9),
)
def test_thumbnails_keep_the_greatest_weight(weights: np.ndarray, limit: int) -> None:
    heads, rows, columns = weights.shape
    pooled = pool(weights, limit)
    assert pooled.shape == (heads, min(rows, limit), min(columns, limit))
    height, width = pooled.shape[1:]
    for h in range(heads):
        for y in range(height):
            for x in range(width):
                down = slice(y * rows // height, (y + 1) * rows // height)
                across = slice(x * columns // width, (x + 1) * columns // width)
                assert pooled[h, y, x] == weights[h, down, across].max()


def test_kinds_that_were_not_recorded_are_not_offered() -> None:
    side = ExplorerData(fake_trace(HOSTILE, TGT, kinds=["cross", "encoder"]))
    assert side.doc["kinds"] == ["encoder", "cross"]
    without_cross = fake_trace(HOSTILE, TGT)
    del without_cross.arrays[SITES["cross"].format(2) + "hook_weights"]
    assert ExplorerData(without_cross).kinds == ["encoder", "decoder"]
    with pytest.raises(ValueError, match="no attention to show"):
        ExplorerData(fake_trace(HOSTILE, TGT, kinds=[]))


def test_long_sentences_are_sent_a_layer_at_a_time_and_with_a_byte_each(
    trace: FakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"weights.{k}.{n}" for k in ("encoder", "decoder", "cross") for n in range(3)]
    assert [part.name for part in ExplorerData(trace).layers([1])] == names
    monkeypatch.setattr(module, "MAX_WEIGHTS_AT_ONCE", 3 * 4 * (49 + 25 + 35) - 1)
    monkeypatch.setattr(module, "FINE_LIMIT", 3 * 4 * 35)
    tops = {part.name: part.top for part in ExplorerData(trace).layers([1, 2, 1, 9, -1])}
    assert sorted(tops) == sorted(name for name in names if not name.endswith("0"))
    assert tops["weights.cross.1"] == FINE
    assert tops["weights.encoder.1"] == COARSE


def test_vectors_of_a_head_are_unchanged(trace: FakeTrace) -> None:
    parts = query_key_vectors(trace, "cross", 1, 2)
    assert [part.name for part in parts] == [f"{name}.cross.1.2" for name in VECTORS]
    for part, name in zip(parts, VECTORS, strict=True):
        np.testing.assert_array_equal(
            part.array, trace[f"decoder.layers.1.cross_attn.hook_{name}"][2]
        )
        assert part.array.flags.c_contiguous
    assert query_key_vectors(fake_trace(HOSTILE, TGT), "cross", 1, 2) == []


def test_a_file_holds_all_layers_and_the_vectors_of_one(trace: FakeTrace) -> None:
    names = [part.name for part in ExplorerData(trace).everything("cross", 1)]
    assert len(names) == len(set(names)) == 9 + 4 * len(VECTORS)
    assert {name.rsplit(".", 1)[0] for name in names if "query" in name} == {"query.cross.1"}


def test_different_content_has_a_different_id() -> None:
    weights = np.full((1, 1, 2, 2), 0.5, np.float32)
    changed = weights.copy()
    changed[0, 0, 0] = [0.25, 0.75]
    ids = [
        ExplorerData(fake_trace(["x", "y"], tgt, layers=1, heads=1, kinds=["cross"], cross=w)).doc[
            "id"
        ]
        for w in (weights, changed)
        for tgt in (["a", "b"], ["a", "c"])
    ]
    assert len(set(ids)) == 4
    equal_trace = fake_trace(
        ["x", "y"], ["a", "b"], layers=1, heads=1, kinds=["cross"], cross=weights
    )
    assert ExplorerData(equal_trace).doc["id"] == ids[0]


def test_the_clearest_head_is_the_default() -> None:
    weights = np.full((2, 2, 2, 2), 0.5, np.float32)
    weights[1, 0] = np.eye(2)
    side = ExplorerData(
        fake_trace(["x", "y"], ["a", "b"], layers=2, heads=2, kinds=["cross"], cross=weights)
    )
    assert side.clearest("cross") == (1, 0)
    resolved = side.resolved({**DEFAULTS, "kind": "encoder"})
    assert (resolved["kind"], resolved["layer"], resolved["head"]) == ("cross", 1, 0)
    chosen = side.resolved({**DEFAULTS, "layer": 0, "head": 1})
    assert (chosen["layer"], chosen["head"]) == (0, 1)


def test_two_sides_have_distinct_names_and_paired_tokens(trace: FakeTrace) -> None:
    second_trace = fake_trace(["▁the", "▁end"], ["<s>", "▁c"])
    combined = header([ExplorerData(trace, "A"), ExplorerData(second_trace, "B")], dict(DEFAULTS))
    assert [doc["name"] for doc in combined["sides"]] == ["A", "B"]
    assert [[i, j] for i, j in combined["pairs"]["tgt_tokens"] if None not in (i, j)] == [
        [0, 0],
        [3, 1],
    ]
    assert len(combined["pairs"]["src_tokens"]) == 7 + 2 - 1
    assert header([ExplorerData(trace)], dict(DEFAULTS))["pairs"] is None
    assert prefixed(ExplorerData(trace).thumbs, 1)[0].name == "1.thumbs.encoder"
    json.dumps(combined, allow_nan=False)
