"""Heads that learn something, made by hand for tests of the film."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tests.figures.made import HOSTILE

Weights = npt.NDArray[np.float64]

SRC = [*HOSTILE, "</s>"]
TGT = ["<s>", "▁r", "ows", "▁of", "<i>x</i>", "."]
PREDICTED = [*TGT[1:], "</s>"]
LABELS = [
    {"src": SRC, "tgt": TGT, "predicted": PREDICTED},
    {"src": ["▁a", "▁b", "▁c", "▁d", "</s>"], "tgt": ["<s>", "▁d", "▁c", "▁b", "▁a"]}
    | {"predicted": ["▁d", "▁c", "▁b", "▁a", "</s>"]},
]
LAYERS, HEADS = 2, 3


def pointing(rows: int, columns: int, offset: int) -> Weights:
    """Each row looks at the column that is `offset` after it; one that cannot, at the first."""
    found = np.zeros((rows, columns))
    for row in range(rows):
        found[row, row + offset if 0 <= row + offset < columns else 0] = 1
    return found


def turning(rows: int, columns: int) -> Weights:
    """Row i looks at column n - 1 - i of the n before the last, which is `</s>`."""
    found = np.zeros((rows, columns))
    for row in range(rows):
        found[row, columns - 2 - row if row < columns - 1 else columns - 1] = 1
    return found


def filmed(steps: list[int], learnt: int = 40) -> dict[int, dict[str, npt.NDArray[np.float16]]]:
    """Frames of two probes, from a fixed seed for each step. From step `learnt` on head 2 of layer
    1 looks one back in the encoder, and in cross attention at the places from the end; and head 0
    of layer 0 in the decoder rests on the first token."""
    frames = {}
    for step in steps:
        rng = np.random.default_rng(step + 1)
        frame: dict[str, npt.NDArray[np.float16]] = {}
        for number, tokens in enumerate(LABELS):
            src, tgt = len(tokens["src"]), len(tokens["tgt"])
            sizes = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (tgt, src)}
            for kind, (rows, columns) in sizes.items():
                # Rows look at themselves and at the first token in turn, and at both but little.
                weights = rng.dirichlet(np.full(columns, 30.0), (LAYERS, HEADS, rows))
                for place in range(rows):
                    weights[..., place, 0 if place % 2 else min(place, columns - 1)] += 0.3
                if kind == "decoder":
                    weights = np.tril(weights)
                weights /= weights.sum(-1, keepdims=True)
                if step >= learnt:
                    if kind == "encoder":
                        weights[1, 2] = pointing(rows, columns, -1)
                    elif kind == "cross":
                        weights[1, 2] = turning(rows, columns)
                    else:
                        weights[0, 0] = pointing(rows, columns, -columns)
                frame[f"{number}.{kind}"] = weights.astype(np.float16)
        frames[step] = frame
    return frames
