"""One head's quantities cell by cell, and their rank correlations compared with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.analysis.small_models import KINDS
from transformer.analysis.attribution import norms
from transformer.analysis.attribution.contribution import (
    Contribution,
    agreement,
    contribution,
    rank_correlations,
)
from transformer.analysis.attribution.gradients import Gradients
from transformer.inference.trace import Trace
from transformer.model import Transformer


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_one_row_per_unmasked_cell(
    model: Transformer, trace: Trace, slopes: Gradients, kind: str
) -> None:
    table = contribution(model, trace, kind, 1, 2, slopes).to_frame()
    rows, columns = trace.labels(kind)
    cells, expected_norms = set(), norms.contributions(model, trace, kind, 1)[2]
    for line in table.to_dict("records"):
        cell = query, key = line["query_position"], line["key_position"]
        cells.add(cell)
        assert (line["query_token"], line["key_token"]) == (rows[query], columns[key])
        assert line["weight"] == trace.weights(kind, 1)[2][cell]
        assert line["norm"] == expected_norms[cell]
        assert line["gradient"] == slopes.weights[kind][1, 2][cell]
        assert line["product"] == pytest.approx(
            line["gradient"] * line["weight"], rel=1e-5, abs=1e-9
        )
        if kind != "encoder":
            assert line["writes_token"] == trace.predicted_tokens[query]
    all_cells = {(i, j) for i in range(len(rows)) for j in range(len(columns))}
    masked = {(i, j) for i, j in all_cells if j > i} if kind == "decoder" else set()
    assert len(table) == len(cells)
    assert cells == all_cells - masked
    assert ("writes_token" in table) == (kind != "encoder")


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_follow_absolute_values_of_unmasked_cells(
    model: Transformer, trace: Trace, slopes: Gradients, kind: str
) -> None:
    quantities = contribution(model, trace, kind, 0, 1, slopes)
    table = quantities.to_frame()
    pairs = quantities.correlations()
    assert len(pairs) == 6
    for (first, second), rank in pairs.items():
        assert rank == pytest.approx(spearmanr(table[first].abs(), table[second].abs()).statistic)
    assert table["gradient"].min() < 0
    signed = spearmanr(table["weight"], table["gradient"]).statistic
    assert abs(pairs["weight", "gradient"] - signed) > 0.01


def test_the_largest_disagreement_compares_shares_of_the_maximum() -> None:
    weight = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.4, 0.4]])
    # Divided by the maximum, 8: 0.25, 0.5 0.5, 0.2 −1 0.4; masked cells do not count.
    gradient = np.array([[2.0, 90.0, 90.0], [4.0, 4.0, 90.0], [1.6, -8.0, 3.2]])
    tokens = ("<s>", "a", "b")
    values = {"weight": weight, "gradient": gradient}
    quantities = Contribution(("decoder", 0, 0), tokens, tokens, tokens, values)
    assert quantities.largest_disagreement("weight", "gradient") == (0, 0)
    weight[0, 0] = 0.4
    weight[1, 0] = 1.0
    assert quantities.largest_disagreement("weight", "gradient") == (2, 1)


def test_heads_with_the_lowest_agreement_come_first(model: Transformer, trace: Trace) -> None:
    table = agreement(model, trace)
    assert len(table) == 3 * 2 * 4
    assert table["correlation"].is_monotonic_increasing
    for kind, layer, head, rank in table.itertuples(index=False):
        cells = contribution(model, trace, kind, layer, head).to_frame()
        assert rank == pytest.approx(spearmanr(cells["weight"], cells["norm"]).statistic)


def test_rank_correlations_equal_scipy() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 4, (2, 3, 7)).astype(float), generator.random((3, 7))
    correlations = rank_correlations(a, b)
    for i, j in np.ndindex(correlations.shape):
        assert correlations[i, j] == pytest.approx(spearmanr(a[i, j], b[j]).statistic)
    assert np.isnan(rank_correlations(np.ones((1, 1, 4)), b[:1, :4])).all()
