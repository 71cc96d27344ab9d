"""Test data for figures: traces with any tokens and weights, without a model; a grid of heads; a
step of Adam."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from transformer.figures.headgrid import Grid
from transformer.measures import KINDS
from transformer.measures.registry import SITES, VECTORS

Weights = npt.NDArray[np.float32]

HOSTILE = ["<script>alert(1)</script>", "<b>bold</b>", "👩🏽‍🚀", "مرحبا", "e\u0301", "▁the", "▁the"]
GRID = Grid(
    "cross",
    np.array([[0.0, 1.0, np.nan], [2.0, 5.0, -1.0]]),
    [["", "↔", ""], ["", "", "="]],
    [[f"head <b> {layer}.{head}" for head in range(3)] for layer in range(2)],
)


@dataclass
class FakeTrace:
    """A trace with only what `PackedTrace` reads."""

    src_tokens: tuple[str, ...]
    tgt_tokens: tuple[str, ...]
    predicted_tokens: tuple[str, ...]
    config: dict[str, Any]
    translation: Any
    arrays: dict[str, npt.NDArray[Any]]

    def weights(self, kind: str, layer: int) -> Weights:
        return self[SITES[kind].format(layer) + "hook_weights"]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays


def fake_trace(
    src: Sequence[str],
    tgt: Sequence[str],
    *,
    layers: int = 3,
    heads: int = 4,
    kinds: Iterable[str] = KINDS,
    vectors: bool = False,
    source: str = "A made-up sentence.",
    **weights_by_kind: Weights,
) -> FakeTrace:
    """Return a trace with random weights from a fixed seed.

    `weights_by_kind` sets the weights of a kind, (layers, heads, rows, columns).
    """
    rng = np.random.default_rng(3)
    config = {"n_layers": layers, "n_heads": heads, "d_model": 8 * heads, "score": "scaled_dot"}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for kind in kinds:
        rows, columns = (
            len(src if kind == "encoder" else tgt),
            len(tgt if kind == "decoder" else src),
        )
        for layer in range(layers):
            weights = rng.dirichlet(np.full(columns, 0.4), size=(heads, rows))
            if kind == "decoder":
                weights = np.tril(weights + 1e-3)
                weights /= weights.sum(axis=-1, keepdims=True)
            if kind in weights_by_kind:
                weights = weights_by_kind[kind][layer]
            site = SITES[kind].format(layer) + "hook_"
            arrays[site + "weights"] = weights.astype(np.float32)
            for name in VECTORS if vectors else ():
                width = {"query": rows, "heads": rows}.get(name, columns)
                shape = (heads, rows, columns) if name == "scores" else (heads, width, 8)
                arrays[site + name] = rng.normal(size=shape).astype(np.float32)
    output_tokens = (*tgt[1:], "</s>")
    chosen = [
        SimpleNamespace(token=token, id=i, probability=0.5) for i, token in enumerate(output_tokens)
    ]
    table = SimpleNamespace(
        chosen=chosen,
        tokens=[[candidate.token, "▁other"] for candidate in chosen],
        ids=[[candidate.id, 999] for candidate in chosen],
        probabilities=[[0.5, 0.25]] * len(chosen),
    )
    text = "".join(output_tokens[:-1]).replace("▁", " ").strip()
    ids = tuple(range(len(output_tokens)))
    translation = SimpleNamespace(source=source, text=text, table=table, tree=None, ids=ids)
    return FakeTrace(tuple(src), tuple(tgt), output_tokens, config, translation, arrays)


def update(rows: int = 3, columns: int = 4, t: int = 7) -> dict[str, Any]:
    """Return one step of algorithm 1 of Kingma and Ba 2015, computed with numpy."""
    rng = np.random.default_rng(0)
    before, gradient, m, v = rng.normal(size=(4, rows, columns))
    m, v = 0.9 * m + 0.1 * gradient, 0.98 * v**2 + 0.02 * gradient**2
    m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.98**t)
    step = 0.01 * m_hat / (np.sqrt(v_hat) + 1e-9)
    matrices = {"before": before, "gradient": gradient, "m": m, "v": v, "m_hat": m_hat}
    matrices |= {"v_hat": v_hat, "step": step, "value": before - step}
    numbers = {"t": t, "learning_rate": 0.01, "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9}
    lists = {name: matrix.tolist() for name, matrix in matrices.items()}
    return {"name": "decoder.w", "shape": [rows, columns], **numbers, **lists}
