"""A common error in the formula of the sinusoids, compared with the paper's formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from transformer.analysis import positions
from transformer.figures.positions import Curve, lines
from transformer.ui.pages.positions.formula import shift_slider
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import tables
from transformer.ui.widgets.charts import chart, dark

MAX_DISTANCE = 64


@cached()
def _cached_measurements(width: int, k: int) -> dict[str, dict[str, Any]]:
    """Measure both formulas over enough positions that no matrix fits by chance."""
    length = max(512, 2 * width) + abs(k)
    results = {}
    for name, make_table in (("paper", positions.sinusoidal), ("error", positions.misprinted)):
        rows = make_table(length, width)
        results[name] = {
            "rows": rows,
            "circle": positions.pair_lengths(rows),
            "distances": positions.dot_product_statistics(rows, MAX_DISTANCE),
            "pairs": positions.pair_residuals(rows, k),
            "map": positions.full_matrix_residual(rows, k),
            "min_distance": _min_distance(rows[:512]),
        }
    return results


def _min_distance(rows: npt.NDArray[np.float64]) -> float:
    squares = (rows**2).sum(axis=1)
    squared_distances = squares[:, None] + squares - 2 * rows @ rows.T
    np.fill_diagonal(squared_distances, np.inf)
    return float(np.sqrt(max(squared_distances.min(), 0.0)))


def show(model: Model) -> None:
    """Show which properties the wrong exponent (2i+1)/d_model destroys and which remain."""
    width = model.translator.model.config.d_model
    st.markdown(
        "A common error gives the cosine its own exponent. Then the sine and the cosine of a pair "
        "have **different** wavelengths and no longer form a rotation."
    )
    left_column, right_column = st.columns(2)
    left_column.latex(r"\text{paper: }PE_{(pos,\,2i+1)}=\cos\frac{pos}{10000^{2i/d_{model}}}")
    right_column.latex(r"\text{error: }PE_{(pos,\,2i+1)}=\cos\frac{pos}{10000^{(2i+1)/d_{model}}}")
    k = shift_slider()
    results = _cached_measurements(width, k)
    paper, error = results["paper"], results["error"]
    length = len(error["rows"])
    st.markdown("**sin² + cos² of one pair**: 1 everywhere on a circle")
    pair = width // 8
    position_range = np.arange(256)
    chart(
        lines(
            [
                Curve("paper", position_range, paper["circle"][:256, pair]),
                Curve("error", position_range, error["circle"][:256, pair]),
            ],
            x_title="position", y_title=f"sin² + cos² of pair {pair}", dark=dark(),
        ),
        "positions-slip-circle",
    )  # fmt: skip
    st.markdown("**Dot product by distance**: the band shows minimum and maximum over all p")
    curves = []
    for name, form in (("paper", paper), ("error", error)):
        by_distance = form["distances"]
        low, high = by_distance["least"].to_numpy(), by_distance["most"].to_numpy()
        curves.append(
            Curve(
                name,
                by_distance["k"].to_numpy(),
                by_distance["mean"].to_numpy(),
                low=low,
                high=high,
            )
        )
    chart(
        lines(curves, x_title="distance k (positions)", y_title="dot product", dark=dark()),
        "positions-slip-distance",
    )
    st.markdown(f"**Error of the best 2×2 matrix of each pair**, for k = {k}")
    pairs = np.arange(width // 2)
    chart(
        lines(
            [Curve(name, pairs, np.maximum(form["pairs"], 1e-17))
             for name, form in results.items()],
            x_title="pair i, fast to slow", y_title="largest error", log="y", dark=dark(),
        ),
        "positions-slip-pairs",
    )  # fmt: skip
    _table(paper, error, length, k)
    st.markdown(
        "**What still works.** Every dimension is a wave between −1 and 1, all positions differ, "
        "and any position can be computed. One part of the dot product, ½Σ(cos ωk + cos ω′k), "
        "depends on the distance alone; the other, ½Σ(cos ω′(2p+k) − cos ω(2p+k)), depends on p. "
        "The slowest pairs are still nearly a rotation over a few hundred positions. A model could "
        "learn with these vectors, but they lack the property for which the paper chose sinusoids."
    )


def _table(paper: dict[str, Any], error: dict[str, Any], length: int, k: int) -> None:
    def value_range(values: Any) -> str:
        return f"{values.min():.3f} to {values.max():.3f}"

    def dot_product_range(form: dict[str, Any]) -> str:
        row = form["distances"].iloc[min(abs(k), MAX_DISTANCE)]
        return f"{row['least']:.3f} to {row['most']:.3f}"

    tables.show(
        f"Over {length} positions, in float64",
        ["", "Paper", "Common error"],
        [
            ["sin² + cos² of a pair", value_range(paper["circle"]), value_range(error["circle"])],
            [
                f"PE(p) · PE(p + {abs(k)}), over all p",
                dot_product_range(paper),
                dot_product_range(error),
            ],
            [
                "Error of the best 2×2 matrices",
                f"{paper['pairs'].max():.1e}",
                f"{error['pairs'].max():.2f}",
            ],
            [
                "Error of the best matrix of any kind",
                f"{paper['map']:.1e}",
                f"{error['map']:.2f}",
            ],
            [
                "Smallest distance between two of 512 positions",
                f"{paper['min_distance']:.3f}",
                f"{error['min_distance']:.3f}",
            ],
        ],
    )
