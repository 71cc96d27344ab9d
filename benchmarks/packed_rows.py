"""Rows of a fixed length that hold several sentence pairs each, and the loss of a model on them.

All batches of such rows have the same shape, and hardly any position is padding: what a GPU, a
compiler and CUDA graphs need.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from transformer.model import Transformer
from transformer.model.layers import AddPositions
from transformer.model.positions import SinusoidalPositions

Pair = tuple[list[int], list[int]]
"""Source and target ids, each ending with `</s>`."""
Rows = npt.NDArray[np.uint16]
OPEN_ROWS = 32
"""Rows that are filled at the same time; a pair goes to the fullest one that it fits in."""


def pack(pairs: Iterable[Pair], length: int) -> Rows:
    """Pack pairs, each side ending with `</s>`, into rows (rows, side, length) padded with 0.

    A pair of more than `length - 1` ids on a side is left out: each side of a row keeps at least
    one id of padding. Padding is a sentence of its own, so no row of attention is empty.
    """
    finished: list[Pair] = []
    open_rows: list[Pair] = []
    for src, tgt in pairs:
        if max(len(src), len(tgt)) >= length:
            continue
        fitting = [
            row
            for row in open_rows
            if len(row[0]) + len(src) < length and len(row[1]) + len(tgt) < length
        ]
        if fitting:
            row = max(fitting, key=lambda row: len(row[0]) + len(row[1]))
        else:
            row = ([], [])
            open_rows.append(row)
            if len(open_rows) > OPEN_ROWS:
                finished.append(open_rows.pop(0))
        row[0].extend(src)
        row[1].extend(tgt)
    finished += open_rows
    table = np.zeros((len(finished), 2, length), np.uint16)
    for number, row in enumerate(finished):
        for side, ids in enumerate(row):
            table[number, side, : len(ids)] = ids
    return table


def sentence_positions(ids: Tensor, eos_id: int) -> tuple[Tensor, Tensor]:
    """Return for each id the number of its sentence in the row, and its position in the sentence.

    Padding after the last `</s>` is a sentence of its own.
    """
    ends = ids == eos_id
    starts = torch.cat([torch.ones_like(ends[:, :1]), ends[:, :-1]], 1)
    index = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    first = torch.where(starts, index, 0).cummax(1).values
    return starts.cumsum(1), index - first


def packed_logits(model: Transformer, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the logits (rows, length, vocab) of packed rows, and the ids to predict.

    Each sentence attends only to itself and its translation, and counts its positions from 0.
    """
    config = model.config
    src, tgt = rows.long().unbind(1)
    before = torch.cat([torch.full_like(tgt[:, :1], config.eos_id), tgt[:, :-1]], 1)
    tgt_in = torch.where(before == config.eos_id, config.bos_id, before)
    (src_number, src_position), (tgt_number, tgt_position) = (
        sentence_positions(ids, config.eos_id) for ids in (src, tgt)
    )

    def mask(queries: Tensor, keys: Tensor) -> Tensor:
        return (queries[:, :, None] == keys[:, None, :])[:, None]

    def embed(ids: Tensor, positions: Tensor, part: AddPositions) -> Tensor:
        assert isinstance(part.positions, SinusoidalPositions)
        embedded: Tensor = part.dropout(model.embed(ids) + part.positions.table[positions])
        return embedded

    memory = embed(src, src_position, model.encoder.embed)
    for layer in model.encoder.layers:
        memory = layer(memory, mask(src_number, src_number))
    causal = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool, device=tgt.device).tril()
    states = embed(tgt_in, tgt_position, model.decoder.embed)
    for layer in model.decoder.layers:
        states = layer(
            states, memory, mask(tgt_number, src_number), mask(tgt_number, tgt_number) & causal
        )
    return functional.linear(states, model.embedding.weight, model.output_bias), tgt


def packed_loss(
    model: Transformer, rows: Tensor, smoothing: float = 0.0, r_drop: float = 0.0
) -> Tensor:
    """Return the mean loss in nats per target token.

    With `r_drop` α, the rows pass the model twice with different dropout, and the loss is the mean
    of both plus α/4 · (KL(p‖q) + KL(q‖p)): half the loss of Liang et al. 2021, "R-Drop", eq. 4.
    """
    logits, tgt = packed_logits(model, torch.cat([rows, rows]) if r_drop else rows)
    logits = logits.float()
    pad_id = model.config.pad_id
    loss = functional.cross_entropy(
        logits.flatten(0, 1), tgt.flatten(), ignore_index=pad_id, label_smoothing=smoothing
    )
    if r_drop:
        p, q = logits.log_softmax(-1).chunk(2)
        # Σ (p - q)(log p - log q) is the sum of both divergences.
        divergence = ((p.exp() - q.exp()) * (p - q)).sum(-1)
        is_token = tgt.chunk(2)[0] != pad_id
        loss = loss + r_drop / 4 * (divergence * is_token).sum() / is_token.sum()
    return loss
