"""The parts of queries, keys and scores sum to the model's own, and each is the derivative that it
claims to be."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from tests.analysis.attribution.frozen_pass import FrozenPass
from tests.analysis.small_models import TARGET, TEXT, new_model, randomized
from transformer import Translator
from transformer.analysis.attribution.residual_parts import (
    cell_parts,
    query_and_key_parts,
    residual_parts,
)
from transformer.inference.trace import Trace
from transformer.measures.kinds import AttentionKind
from transformer.measures.registry import SITES
from transformer.text import Vocabulary

LAYER, HEAD, QUERY, KEY = 1, 2, 3, 2


def in_double(translator: Translator) -> tuple[Translator, Trace]:
    exact = Translator(copy.deepcopy(translator.model).double(), translator.vocabulary)
    return exact, exact.trace(TEXT, TARGET)


@pytest.mark.parametrize("kind", SITES)
def test_the_parts_sum_to_every_score_and_state(
    any_trace: tuple[Translator, Trace], kind: AttentionKind
) -> None:
    translator, trace = in_double(any_trace[0])
    model = translator.model
    for layer in range(model.config.n_layers):
        queries, keys = query_and_key_parts(model, trace, kind, layer)
        for name, side in (("query", queries), ("key", keys)):
            expected = trace[f"{SITES[kind].format(layer)}hook_{name}"]
            np.testing.assert_allclose(side.vectors.sum(axis=0), expected, rtol=1e-9, atol=1e-9)
            assert len(set(side.names)) == len(side.names) == len(side.vectors)
        table = cell_parts(model, trace, kind, layer, HEAD, QUERY, KEY)
        scores = trace[f"{SITES[kind].format(layer)}hook_scores"]
        assert table["score"].sum() == pytest.approx(scores[HEAD, QUERY, KEY], rel=1e-9, abs=1e-9)
        assert table["score"].abs().is_monotonic_decreasing
    for stack in ("encoder", "decoder"):
        last = f"{stack}.layers.{model.config.n_layers - 1}.ffn_norm.hook_output"
        total = residual_parts(model, trace, stack).vectors.sum(axis=0)  # type: ignore[arg-type]
        np.testing.assert_allclose(total, trace[last], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "writer", "side"),
    [
        ("encoder", "e0.1", "query"),
        ("encoder", "e0.1", "key"),
        ("decoder", "c0.1", "query"),
        ("decoder", "d0.1", "key"),
        ("cross", "d1.1", "query"),
        ("cross", "c0.1", "query"),
        ("cross", "e1.1", "key"),
    ],
)
def test_the_parts_of_a_head_are_the_derivative_with_fixed_layer_norms(
    any_trace: tuple[Translator, Trace], kind: AttentionKind, writer: str, side: str
) -> None:
    """Compared with central differences of the model's own scores: one head is scaled at the
    position of the query or of the key, and all other sublayers are held fixed."""
    translator, _ = any_trace
    frozen = FrozenPass(translator.model, translator.trace(TEXT, TARGET))
    trace = Translator(frozen.model, translator.vocabulary).trace(TEXT, TARGET)
    table = cell_parts(frozen.model, trace, kind, LAYER, HEAD, QUERY, KEY)
    written_by = {"e": "encoder", "d": "decoder", "c": "cross"}[writer[0]]
    slopes = frozen.slope(
        SITES[written_by].format(writer[1]).removesuffix("."),  # type: ignore[index]
        int(writer[3]),
        QUERY if side == "query" else KEY,
        f"{SITES[kind].format(LAYER)}hook_scores",
    )
    parts = table.loc[table[f"{side}_part"] == writer, "score"]
    assert abs(parts.sum()) > 1e-4, "nothing is compared"
    assert parts.sum() == pytest.approx(float(slopes[HEAD, QUERY, KEY]), rel=1e-6, abs=1e-9)


def test_what_cannot_be_split_is_refused(
    any_trace: tuple[Translator, Trace], vocabulary: Vocabulary
) -> None:
    translator, trace = any_trace
    model = translator.model
    for wrong, message in (
        ({"layer": 9}, "there is no layer 9; the layers are 0 to 1"),
        ({"head": 4}, "there is no head 4; the heads are 0 to 3"),
        ({"query": -1}, "there is no query -1"),
        ({"key": 99}, "there is no key 99"),
    ):
        cell = {"kind": "cross", "layer": 0, "head": 0, "query": 0, "key": 0, **wrong}
        with pytest.raises(ValueError, match=message):
            cell_parts(model, trace, **cell)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the sublayers are decoder"):
        residual_parts(model, trace, "decoder", "decoder.layers.9.ffn")
    additive = new_model(vocabulary, score="additive")
    with pytest.raises(ValueError, match="Additive scores cannot be split"):
        cell_parts(additive.model, additive.trace(TEXT), "cross", 0, 0, 0, 0)
    with pytest.raises(ValueError, match="the trace is of a model with"):
        residual_parts(randomized(additive.model), trace, "encoder")
