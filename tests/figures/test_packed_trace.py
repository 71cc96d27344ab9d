"""A packed trace, compared with the trace."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tests.figures.fake_traces import HOSTILE, FakeTrace, fake_trace
from transformer.figures.packed_trace import PackedTrace, query_key_vectors, weight_parts
from transformer.figures.packing import COARSE, FINE
from transformer.figures.state import DEFAULTS
from transformer.measures.registry import SITES, VECTORS

TGT = ["<s>", "▁a", "b", "▁c", "▁d"]


@pytest.fixture
def trace() -> FakeTrace:
    return fake_trace(HOSTILE, TGT, vectors=True)


def test_tokens_and_steps_are_unchanged(trace: FakeTrace) -> None:
    description = PackedTrace(trace, "A").description
    assert (description["name"], description["source"]) == ("A", "A made-up sentence.")
    assert description["src"] == HOSTILE
    assert description["tgt"] == TGT
    assert description["predicted"] == ["▁a", "b", "▁c", "▁d", "</s>"]
    assert description["depths"] == {"encoder": 3, "decoder": 3, "cross": 3}
    assert (description["n_heads"], description["d_k"]) == (4, 8)
    assert description["kinds"] == ["encoder", "decoder", "cross"]
    assert description["steps"][0]["chosen"] == ["▁a", 0, 0.5]
    assert description["steps"][0]["candidates"] == [["▁a", 0, 0.5], ["▁other", 999, 0.25]]


def test_many_weights_are_sent_with_a_byte_each(trace: FakeTrace) -> None:
    cells = 3 * 4 * (49 + 25 + 35)
    for limit, top in ((cells, FINE), (cells - 1, COARSE)):
        parts = weight_parts(trace, ["encoder", "decoder", "cross"], limit)
        assert {part.top for part in parts} == {top}
        assert sum(part.array.size for part in parts) == cells


def test_kinds_that_were_not_recorded_are_not_offered() -> None:
    side = PackedTrace(fake_trace(HOSTILE, TGT, kinds=["cross", "encoder"]))
    assert side.description["kinds"] == ["encoder", "cross"]
    without_cross = fake_trace(HOSTILE, TGT)
    del without_cross.arrays[SITES["cross"].format(2) + "hook_weights"]
    assert PackedTrace(without_cross).kinds == ["encoder", "decoder"]
    with pytest.raises(ValueError, match="no attention to show"):
        PackedTrace(fake_trace(HOSTILE, TGT, kinds=[]))


def test_vectors_of_a_head_are_unchanged(trace: FakeTrace) -> None:
    parts = query_key_vectors(trace, "cross", 1, 2)
    assert [part.name for part in parts] == [f"{name}.cross.1.2" for name in VECTORS]
    for part, name in zip(parts, VECTORS, strict=True):
        np.testing.assert_array_equal(
            part.array, trace[f"decoder.layers.1.cross_attn.hook_{name}"][2]
        )
        assert part.array.flags.c_contiguous
    assert query_key_vectors(fake_trace(HOSTILE, TGT), "cross", 1, 2) == []


def test_different_content_has_a_different_id() -> None:
    weights = np.full((1, 1, 2, 2), 0.5, np.float32)
    changed = weights.copy()
    changed[0, 0, 0] = [0.25, 0.75]
    ids = [
        PackedTrace(
            fake_trace(["x", "y"], tgt, layers=1, heads=1, kinds=["cross"], cross=w)
        ).description["id"]
        for w in (weights, changed)
        for tgt in (["a", "b"], ["a", "c"])
    ]
    assert len(set(ids)) == 4
    equal_trace = fake_trace(
        ["x", "y"], ["a", "b"], layers=1, heads=1, kinds=["cross"], cross=weights
    )
    assert PackedTrace(equal_trace).description["id"] == ids[0]


def test_the_clearest_head_is_the_default() -> None:
    weights = np.full((2, 2, 2, 2), 0.5, np.float32)
    weights[1, 0] = np.eye(2)
    side = PackedTrace(
        fake_trace(["x", "y"], ["a", "b"], layers=2, heads=2, kinds=["cross"], cross=weights)
    )
    assert side.clearest("cross") == (1, 0)
    resolved = side.resolved({**DEFAULTS, "kind": "encoder"})
    assert (resolved["kind"], resolved["layer"], resolved["head"]) == ("cross", 1, 0)
    chosen = side.resolved({**DEFAULTS, "layer": 0, "head": 1})
    assert (chosen["layer"], chosen["head"]) == (0, 1)
    aligner = SimpleNamespace(layer=0, head=0, weights_to="input")
    resolved = side.resolved({**DEFAULTS, "kind": "cross"}, aligner)
    assert (resolved["layer"], resolved["head"], resolved["word_row"]) == (0, 0, "input")
