"""Data of the film of connections."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from transformer.figures.connections import connections_data, connections_page, rank_correlation

ROW = {"upstream": "source", "downstream": "cross.1.0", "input": "value"}


def film(**row: Any) -> dict[str, Any]:
    """Return the film of one step with one edge."""
    edge = {**ROW, "score": 0.5, "effect": 0.25, **row}
    step = {"clean": 2.0, "corrupted": -2.0, "accuracy": 0.5, "edges": 100, "table": [edge]}
    return connections_data({8: step}, 2, 3)


def test_edges_are_numbered_by_their_nodes() -> None:
    data = film()
    upstream, downstream, name, score, effect = data["frames"][0]["edges"][0]
    assert [data["nodes"][upstream], data["nodes"][downstream]] == ["source", "cross.1.0"]
    assert (name, score, effect) == (2, 0.5, 0.25)
    assert len({*data["nodes"]}) == 3 + 2 * (3 * 3 + 2)
    assert data["frames"][0]["rho"] is None
    json.dumps(data, allow_nan=False)


def test_an_edge_without_an_effect_is_left_out() -> None:
    assert film(effect=None)["frames"][0]["edges"] == []
    assert film(effect=float("nan"))["frames"][0]["edges"] == []
    assert connections_data({}, 2, 3)["frames"] == []


def test_unknown_nodes_and_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"has no node 'cross\.2\.0'"):
        film(downstream="cross.2.0")
    with pytest.raises(ValueError, match="An input is one of query, key, value, all, not 'q'"):
        film(input="q")


def test_rank_correlation_is_that_of_pandas() -> None:
    values = np.random.default_rng(1).normal(size=(30, 2)).round(1)
    expected = pd.DataFrame(values).rank().corr().iloc[0, 1]
    assert rank_correlation(values.tolist()) == pytest.approx(expected)
    assert rank_correlation([[1, 2], [2, 5], [3, 9]]) == pytest.approx(1)
    assert rank_correlation([[1, 2], [1, 3]]) is None


def test_a_file_holds_the_data_and_escapes_the_title() -> None:
    page = connections_page(film(), "<b>")
    assert "&lt;b&gt;" in page
    assert "cross.1.0" in page
