"""Two traces that share some tokens, and their differences as computed with numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from playwright.sync_api import Locator, Page

from tests.browser.explorer_file import Numbers
from tests.figures.fake_traces import HOSTILE, FakeTrace, fake_trace

LAYERS, HEADS = 3, 4
Pairs = list[tuple[int | None, int | None]]

# The pairs are written by hand as positions in A and B; the view gets them from `align`.
SRC_A = [*HOSTILE, "▁stay", ",", "</s>"]
SRC_B = [HOSTILE[0], *HOSTILE[2:], "▁will", "▁stay", "</s>"]
COMMON_HOSTILE: Pairs = [(i, i - 1) for i in range(2, 7)]
SRC_PAIRS: Pairs = [(0, 0), (1, None), *COMMON_HOSTILE, (None, 6), (7, 7), (8, None), (9, 8)]
TGT_A = ["<s>", "▁le", "s", "▁chat", "▁noir"]
TGT_B = ["<s>", "▁le", "▁chat", "▁noir", "▁dort"]
TGT_PAIRS: Pairs = [(0, 0), (1, 1), (2, None), (3, 2), (4, 3), (None, 4)]


def random_trace(seed: int, src: Sequence[str], tgt: Sequence[str], **shape: int) -> FakeTrace:
    layers, heads = shape.get("layers", LAYERS), shape.get("heads", HEADS)
    rng = np.random.default_rng(seed)

    def weights(rows: int, columns: int) -> npt.NDArray[np.float32]:
        return rng.dirichlet(np.full(columns, 2.0), (layers, heads, rows)).astype(np.float32)

    decoder = np.tril(weights(len(tgt), len(tgt)) + np.float32(1e-3))
    return fake_trace(
        src,
        tgt,
        layers=layers,
        heads=heads,
        encoder=weights(len(src), len(src)),
        decoder=decoder / decoder.sum(-1, keepdims=True),
        cross=weights(len(tgt), len(src)),
    )


A, B = random_trace(1, SRC_A, TGT_A), random_trace(2, SRC_B, TGT_B)
AXIS_PAIRS = {
    "encoder": (SRC_PAIRS, SRC_PAIRS),
    "decoder": (TGT_PAIRS, TGT_PAIRS),
    "cross": (TGT_PAIRS, SRC_PAIRS),
}


def cells(kind: str) -> list[tuple[tuple[int, int] | None, tuple[int, int] | None]]:
    """Return the cells of both pictures, row by row: the position in A and in B, None if absent."""

    def position(row: int | None, column: int | None) -> tuple[int, int] | None:
        if row is None or column is None or (kind == "decoder" and column > row):
            return None
        return row, column

    rows, columns = AXIS_PAIRS[kind]
    all_cells = [(position(i, k), position(j, m)) for i, j in rows for k, m in columns]
    return [cell for cell in all_cells if cell != (None, None)]


def difference(kind: str, layer: int, head: int) -> Numbers:
    """Return B − A in the cells that both have, row by row."""
    a, b = (side.weights(kind, layer)[head].astype(np.float64) for side in (A, B))
    return np.array([b[cell_b] - a[cell_a] for cell_a, cell_b in cells(kind) if cell_a and cell_b])


def canvas(page: Page, position: int) -> Locator:
    return page.locator(".hu-panels .hu-canvas").nth(position)
