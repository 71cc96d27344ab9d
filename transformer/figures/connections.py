"""Data of the film of connections: the strongest edges between heads at the steps of a training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from transformer.figures.views import view_page

INPUTS = ("query", "key", "value", "all")
MAX_NAME = 60
"""Maximum characters of a node's name."""


def connections_data(
    connections: Mapping[int, Mapping[str, Any]],
    layers: int,
    heads: int,
    *,
    examples: Sequence[Sequence[str]] = (),
    name: str = "",
    exact: bool = True,
) -> dict[str, Any]:
    """Return everything `connections.js` shows.

    Args:
        connections: by step, `Connections.to_dict` of its strongest edges: "clean", "corrupted",
            "accuracy", "edges" (the number of all edges) and "table", rows with "upstream",
            "downstream", "input", "score" and "effect". An edge without an effect is left out.
        layers, heads: of the model.
        examples: source and target of some examples.
        name: name of the run; the selected step is kept for a later film of the same name.
        exact: count layers and heads from 0.

    Raises:
        ValueError: if a node or an input is unknown.
    """
    nodes = _node_names(layers, heads)
    index = {node: number for number, node in enumerate(nodes)}
    frames = []
    for step in sorted(connections):
        values = connections[step]
        edges = [
            [*_ends(row, index), float(row["score"]), float(row["effect"])]
            for row in values["table"]
            if row["effect"] is not None and math.isfinite(row["effect"])
        ]
        frames.append(
            {
                "step": step,
                "clean": float(values["clean"]),
                "accuracy": float(values["accuracy"]),
                "edges": edges,
                "rho": rank_correlation([edge[3:] for edge in edges]),
                "rho_absolute": rank_correlation([[*map(abs, edge[3:])] for edge in edges]),
                "total": int(values["edges"]),
            }
        )
    return {
        "layers": layers,
        "heads": heads,
        "nodes": nodes,
        "frames": frames,
        "examples": [list(example) for example in examples],
        "name": name,
        "exact": int(exact),
    }


def connections_page(data: Mapping[str, Any], title: str = "Connections as they formed") -> str:
    """Return `connections_data` as one HTML file that opens without a server."""
    return view_page("connections", data, title)


def _node_names(layers: int, heads: int) -> list[str]:
    names = ["source", "target", "output"]
    for layer in range(layers):
        names += [f"{stack}.{layer}.ffn" for stack in ("encoder", "decoder")]
        names += [
            f"{kind}.{layer}.{head}"
            for kind in ("encoder", "decoder", "cross")
            for head in range(heads)
        ]
    return names


def _ends(row: Mapping[str, Any], index: Mapping[str, int]) -> list[int]:
    """Return upstream, downstream and input as numbers."""
    for end in ("upstream", "downstream"):
        if row[end] not in index:
            raise ValueError(f"The model has no node {str(row[end])[:MAX_NAME]!r}.")
    if row["input"] not in INPUTS:
        raise ValueError(f"An input is one of {', '.join(INPUTS)}, not {row['input']!r}.")
    return [index[row["upstream"]], index[row["downstream"]], INPUTS.index(row["input"])]


def rank_correlation(pairs: Sequence[Sequence[float]]) -> float | None:
    """Return Spearman's rank correlation of pairs of numbers; None if it is not defined."""
    if len(pairs) < 2:
        return None
    ranks = [_ranks([pair[side] for pair in pairs]) for side in (0, 1)]
    mean_rank = (len(pairs) - 1) / 2
    a, b = ([rank - mean_rank for rank in side] for side in ranks)
    size = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / size if size else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the ranks from 0; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for at in order[start:end]:
            ranks[at] = (start + end - 1) / 2
        start = end
    return ranks
