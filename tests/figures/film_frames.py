"""Frames with hand-made heads that learn a pattern, for tests of the film."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tests.figures.fake_traces import HOSTILE

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


def offset_weights(rows: int, columns: int, offset: int) -> Weights:
    """Return weights in which row i attends to column i + offset, or else to column 0."""
    weights = np.zeros((rows, columns))
    for row in range(rows):
        weights[row, row + offset if 0 <= row + offset < columns else 0] = 1
    return weights


def reversed_weights(rows: int, columns: int) -> Weights:
    """Return weights in which row i attends to column n - 1 - i of the n before `</s>`."""
    weights = np.zeros((rows, columns))
    for row in range(rows):
        weights[row, columns - 2 - row if row < columns - 1 else columns - 1] = 1
    return weights


def film_frames(
    steps: list[int], learnt: int = 40
) -> dict[int, dict[str, npt.NDArray[np.float16]]]:
    """Return frames of two probes, with a fixed seed per step.

    From step `learnt` on, layer 1 head 2 attends one token back in the encoder and in reverse order
    in cross-attention, and layer 0 head 0 of the decoder attends to the first token.
    """
    frames = {}
    for step in steps:
        rng = np.random.default_rng(step + 1)
        frame: dict[str, npt.NDArray[np.float16]] = {}
        for number, tokens in enumerate(LABELS):
            src, tgt = len(tokens["src"]), len(tokens["tgt"])
            sizes = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (tgt, src)}
            for kind, (rows, columns) in sizes.items():
                # Weak pattern: even rows attend to themselves, odd rows to the first token.
                weights = rng.dirichlet(np.full(columns, 30.0), (LAYERS, HEADS, rows))
                for row in range(rows):
                    weights[..., row, 0 if row % 2 else min(row, columns - 1)] += 0.3
                if kind == "decoder":
                    weights = np.tril(weights)
                weights /= weights.sum(-1, keepdims=True)
                if step >= learnt:
                    if kind == "encoder":
                        weights[1, 2] = offset_weights(rows, columns, -1)
                    elif kind == "cross":
                        weights[1, 2] = reversed_weights(rows, columns)
                    else:
                        weights[0, 0] = offset_weights(rows, columns, -columns)
                frame[f"{number}.{kind}"] = weights.astype(np.float16)
        frames[step] = frame
    return frames
