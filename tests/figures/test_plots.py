"""The Plotly figure of one head."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.figures import heatmap

ROWS, COLUMNS = ("<s>", "▁le", "▁le"), ("▁the", "<b>", "▁the", "</s>")


def weights() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(4), size=3).astype(np.float32)


def test_cells_are_the_weights_and_repeated_tokens_stay_apart() -> None:
    given = weights()
    figure = heatmap(given, ROWS, COLUMNS, title="<i>Layer 0</i>")
    np.testing.assert_allclose(np.square(figure.data[0].z), given, rtol=1e-6)
    np.testing.assert_allclose(figure.data[0].customdata, given, rtol=1e-6)
    layout = figure.to_plotly_json()["layout"]
    assert layout["xaxis"]["tickvals"] == [0, 1, 2, 3]
    assert layout["xaxis"]["ticktext"] == ["▁the", "&lt;b&gt;", "▁the", "&lt;/s&gt;"]
    assert layout["yaxis"]["ticktext"] == ["&lt;s&gt;", "▁le", "▁le"]
    assert layout["title"]["text"] == "&lt;i&gt;Layer 0&lt;/i&gt;"
    assert (layout["xaxis"]["title"]["text"], layout["yaxis"]["title"]["text"]) == (
        "attends to",
        "attends from",
    )


def test_legend_names_weights_not_their_roots() -> None:
    bar = heatmap(weights(), ROWS, COLUMNS).to_plotly_json()["data"][0]["colorbar"]
    named = [float(text) for text in bar["ticktext"]]
    np.testing.assert_allclose(np.square(bar["tickvals"]), named)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.ones((4, 3)), r"shape \(4, 3\) do not fit 3 row labels and 4 column labels"),
        (np.full((3, 4), 1.5), "from 0 to 1"),
        (np.full((3, 4), np.nan), "from 0 to 1"),
    ],
)
def test_refuses_what_is_no_attention(given: np.ndarray, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        heatmap(given, ROWS, COLUMNS)
