"""Table 2 of the paper: its costs follow from its hours."""

from __future__ import annotations

import pytest

from transformer.analysis.table1.table2 import TABLE_2, cost

ROWS = {row.name: row for row in TABLE_2}


@pytest.mark.parametrize(("name", "hours"), [("Transformer, base", 12), ("Transformer, big", 84)])
def test_training_costs_are_hours_times_gpus_times_speed(name: str, hours: float) -> None:
    assert ROWS[name].cost_de == pytest.approx(cost(hours), rel=0.01)
    assert ROWS[name].cost_fr == ROWS[name].cost_de


def test_the_table_agrees_with_the_papers_text() -> None:
    """Section 6.1: into German the big model is over 2 BLEU better than all other models and
    ensembles, and the base model is better than all of them."""
    other_models = [row for row in TABLE_2 if row.kind != "ours"]
    best = max(row.de for row in other_models if row.de is not None)
    big, base = ROWS["Transformer, big"], ROWS["Transformer, base"]
    assert big.de is not None
    assert big.de - best > 2.0
    assert base.de is not None
    assert base.de > best
    for row in other_models:
        if row.cost_de is not None and base.cost_de is not None:
            assert base.cost_de < row.cost_de / 2
    single = [row.fr for row in other_models if row.kind == "single" and row.fr is not None]
    assert big.fr is not None
    assert big.fr > max(single)
    # "at less than 1/4 the training cost of the previous state of the art": MoE's 1.2e20.
    assert big.cost_fr is not None
    assert big.cost_fr < 1.2e20 / 4


def test_every_row_has_a_score() -> None:
    assert len(ROWS) == len(TABLE_2)
    for row in TABLE_2:
        assert row.de is not None or row.fr is not None
        assert all(score is None or 20 < score < 45 for score in (row.de, row.fr))
