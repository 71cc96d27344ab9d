"""Blanked cells: variants in one batch, compared with single passes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from tests.analysis.small_models import assert_progress_and_cancelling, logits
from transformer import Translator
from transformer.analysis.interventions import blanking as module
from transformer.analysis.interventions.blanking import CellEffects, blank_cells
from transformer.analysis.interventions.patches import blanked
from transformer.inference import Trace
from transformer.measures.kinds import Head

TEXT, LENGTH = "She paints a boat.", 6
HEADS: list[Head] = [("encoder", 0, 1), ("decoder", 0, 3), ("cross", 1, 2)]


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace(TEXT, max_len=LENGTH)


def target_log_probabilities(
    translator: Translator, ids: list[int], **options: object
) -> np.ndarray:
    log_probabilities = logits(translator, TEXT, ids, **options).log_softmax(-1)
    return log_probabilities[range(len(ids)), ids].numpy()


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("renormalise", [False, True])
def test_all_cells_at_once_equal_single_cells(
    translator: Translator, trace: Trace, head: Head, renormalise: bool, monkeypatch
) -> None:
    # With three variants per pass, the cells of a row need several passes.
    per_variant = LENGTH * translator.model.config.vocab_size
    monkeypatch.setattr(module, "MAX_LOGITS", 4 * per_variant)
    cells = blank_cells(translator, trace, head, [1, 4], renormalise=renormalise)
    n_src = len(trace.src_ids)
    keys = {1: 2, 4: 5} if head[0] == "decoder" else {1: n_src, 4: n_src}
    assert cells.cells == tuple((i, j) for i, n in keys.items() for j in range(n))
    ids = list(trace.predicted_ids)
    plain = target_log_probabilities(translator, ids)
    for n, (query, key) in enumerate(cells.cells):
        hooks = blanked(trace, head, query, key, renormalise=renormalise)
        change = target_log_probabilities(translator, ids, hooks=hooks) - plain
        np.testing.assert_allclose(cells.effects[n], change, atol=2e-6)
        assert cells.weights[n] == trace.weights(*head[:2])[head[2], query, key]
    assert np.abs(cells.effects).max() > 1e-4


def test_the_total_effect_is_that_on_the_own_and_on_other_rows(
    translator: Translator, trace: Trace
) -> None:
    cells = blank_cells(translator, trace, ("cross", 1, 2))
    assert len(cells.cells) == LENGTH * len(trace.src_ids)
    for n, (query, _) in enumerate(cells.cells):
        np.testing.assert_allclose(cells.effects[n, :query], 0, atol=1e-6)
        assert cells.own_effect[n] == cells.effects[n, query]
    np.testing.assert_allclose(cells.own_effect + cells.other_effects, cells.total, atol=1e-6)
    table = cells.to_frame()
    assert list(table) == ["query", "key", "weight", "norm", "own_effect", "other_effects", "total"]

    encoder = blank_cells(translator, trace, ("encoder", 0, 1), [0])
    assert np.isnan(encoder.own_effect).all()
    np.testing.assert_array_equal(encoder.other_effects, encoder.total)


def test_rank_correlations_equal_a_hand_computed_example() -> None:
    """Spearman 1904: 1 − 6 Σd² / (n (n² − 1)) where no two values are equal."""
    weights, norms = np.array([0.1, 0.2, 0.3, 0.4]), np.array([5.0, 9.0, 8.0, 7.0])
    effects = np.array([[-3.0, -1.0], [1.0, 1.0], [-3.0, 0.0], [0.5, 0.5]])  # sizes 4 2 3 1
    query_keys = ((0, 0), (0, 1), (1, 0), (1, 1))
    cells = CellEffects(("cross", 0, 0), query_keys, weights, norms, effects, ("a", "b"))
    result = cells.correlations()
    assert result["weight_norm"] == pytest.approx(1 - 6 * (0 + 4 + 0 + 4) / 60)
    assert result["weight_effect"] == pytest.approx(1 - 6 * (9 + 0 + 0 + 9) / 60)
    assert result["norm_effect"] == pytest.approx(1 - 6 * (9 + 4 + 0 + 1) / 60)
    uniform_cells = CellEffects(
        ("cross", 0, 0), query_keys, weights, np.ones(4), effects, ("a", "b")
    )
    assert np.isnan(uniform_cells.correlations()["weight_norm"])


def test_progress_is_reported_and_invalid_heads_are_refused(
    translator: Translator, trace: Trace
) -> None:
    shares = assert_progress_and_cancelling(partial(blank_cells, translator, trace, HEADS[2], [0]))
    assert shares == [0.0, 1.0]
    for head, queries, message in (
        (("cross", 0, 7), [0], "no head 7"),
        (("cross", 0, 0), [LENGTH], f"no position {LENGTH}"),
        (("encoder", 0, 0), [len(trace.src_ids)], "no position"),
        (("cross", 0, 0), [], "at least one query"),
    ):
        with pytest.raises(ValueError, match=message):
            blank_cells(translator, trace, head, queries)
    assert isinstance(blank_cells(translator, trace, HEADS[1]).to_frame(), pd.DataFrame)
