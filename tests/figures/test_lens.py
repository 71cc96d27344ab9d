"""Figures of the logit lens have the given values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import plotly.graph_objects as go

from transformer.figures.lens import lens_map

TITLES = ("embedding", "layer 0, self-attention", "layer 0, feed-forward")


def lens_figure(positions: int = 2, **options: Any) -> tuple[go.Figure, np.ndarray]:
    rng = np.random.default_rng(0)
    shares = np.sort(rng.dirichlet(np.ones(3), size=(3, positions)), axis=-1)[..., ::-1]
    tokens = [
        [[f"s{site}p{position}k{k}" for k in range(3)] for position in range(positions)]
        for site in range(3)
    ]
    tokens[2][1][0] = "<b>"
    chosen = ["never", "<b>", *["x"] * (positions - 2)]
    reads = ["<s>", *["▁the"] * (positions - 1)]
    return lens_map(TITLES, reads, chosen, tokens, shares, **options), shares


def test_every_cell_has_its_probability_and_its_word() -> None:
    figure, shares = lens_figure()
    heat = figure.data[0]
    np.testing.assert_allclose(heat.z, shares[:, :, 0])
    assert (heat.zmin, heat.zmax) == (0, 1)
    words = [[re.sub(r"</?span[^>]*>", "", text) for text in row] for row in heat.text]
    assert words[0][1] == "s0p1k0"
    assert words[2][1] == "<b>&lt;b&gt;</b>"  # the chosen one, in bold, and as text
    hover = heat.customdata[1][0]
    assert hover.split("<br>") == [f"{shares[1, 0, k]:.1%}  s1p0k{k}" for k in range(3)]
