"""Rows of a fixed length that hold several sentence pairs each, and the model's masks for them.

All batches of such rows have the same shape, hardly any position is padding, and the rows of whole
epochs stay on the device, so that a GPU does not wait for Python. A packed pair has the loss of the
pair alone (Krell et al. 2021, "Efficient Sequence Packing without Cross-contamination"): it attends
only to itself, and its positions count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer.config import ModelConfig, TrainingConfig
from transformer.hooks import HookFn, Hooks
from transformer.model import Transformer
from transformer.model.attention import causal_mask
from transformer.model.layers import AddPositions
from transformer.text.batching import Batch
from transformer.training.data import PreparedData
from transformer.training.run_folder import LoopState

Pair = tuple[list[int], list[int]]
"""Source and target ids, each ending with `</s>`."""
OPEN_ROWS = 32
"""Rows that are filled at the same time; a pair goes to the fullest one that it fits in."""


@dataclass(frozen=True)
class PackedBatch(Batch):
    """A batch of packed rows."""


def pack(pairs: Iterable[Pair], length: int, pad_id: int) -> npt.NDArray[np.int32]:
    """Pack the pairs into rows (rows, side, length), padded at their end.

    Raises ValueError for a pair that does not fit into a row.
    """
    finished: list[Pair] = []
    open_rows: list[Pair] = []
    for src, tgt in pairs:
        if (longest := max(len(src), len(tgt))) > length:
            raise ValueError(
                f"a pair has {longest} tokens on a side, packed_length is {length}: raise it, or "
                "leave out longer pairs (--max-pieces on the command line)"
            )
        fitting = [
            row
            for row in open_rows
            if len(row[0]) + len(src) <= length and len(row[1]) + len(tgt) <= length
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
    table = np.full((len(finished), 2, length), pad_id, np.int32)
    for number, row in enumerate(finished):
        for side, ids in enumerate(row):
            table[number, side, : len(ids)] = ids
    return table


def pack_epochs(
    data: PreparedData, config: TrainingConfig, pad_id: int
) -> Int[Tensor, "rows side length"]:
    """Pack the pairs of the first `packed_epochs` epochs. Raises ValueError for a pair that is
    longer than `packed_length`."""
    rows = [
        pack(
            ((src.tolist(), tgt.tolist()) for src, tgt in map(epoch.pair, range(len(epoch)))),
            config.packed_length,
            pad_id,
        )
        for epoch in (data.epoch(config, number) for number in range(config.packed_epochs))
    ]
    return torch.from_numpy(np.concatenate(rows))


def packed_batches(
    rows: Int[Tensor, "rows side length"],
    config: TrainingConfig,
    loop: LoopState,
    model_config: ModelConfig,
) -> Iterator[PackedBatch]:
    """Yield batches of rows for ever, starting at `loop`, in another order in each pass.

    The caller increments `loop.batch` after each batch; this function increments `loop.epoch`, the
    number of the pass over all rows.
    """
    size = max(1, config.batch_tokens // (2 * rows.shape[2]))
    while True:
        order = np.random.default_rng([config.seed, loop.epoch, 2]).permutation(len(rows))
        while loop.batch * size < len(rows):
            chosen = torch.from_numpy(order[loop.batch * size : (loop.batch + 1) * size])
            yield packed_batch(rows[chosen.to(rows.device)], model_config)
        loop.epoch, loop.batch = loop.epoch + 1, 0


def packed_batch(rows: Int[Tensor, "rows side length"], config: ModelConfig) -> PackedBatch:
    """Return the rows with the decoder's input, in which `<s>` begins each sentence."""
    src, tgt = rows.long().unbind(1)
    before = torch.cat([torch.full_like(tgt[:, :1], config.eos_id), tgt[:, :-1]], 1)
    return PackedBatch(src, torch.where(before == config.eos_id, config.bos_id, before), tgt)


Numbers = Int[Tensor, "batch length"]


def sentence_positions(ids: Numbers, eos_id: int) -> tuple[Numbers, Numbers]:
    """Return for each id the number of its sentence in the row, and its position in the sentence.

    Padding after the last `</s>` is a sentence of its own.
    """
    ends = ids == eos_id
    starts = torch.cat([torch.ones_like(ends[:, :1]), ends[:, :-1]], 1)
    index = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    first = torch.where(starts, index, 0).cummax(1).values
    return starts.cumsum(1), index - first


@dataclass(frozen=True)
class PackedInput:
    """What a packed batch needs besides its ids: masks, and hooks that restart the positions."""

    src_mask: Bool[Tensor, "batch 1 src src"]
    cross_mask: Bool[Tensor, "batch 1 tgt src"]
    tgt_mask: Bool[Tensor, "batch 1 tgt tgt"]
    hooks: Hooks

    @classmethod
    def of(cls, batch: PackedBatch, model: Transformer) -> PackedInput:
        """Compute the masks and hooks of a batch for a model."""
        eos_id, pad_id = model.config.eos_id, model.config.pad_id
        (src, src_positions), (tgt, tgt_positions) = (
            sentence_positions(ids, eos_id) for ids in (batch.src, batch.tgt_out)
        )

        def mask(queries: Numbers, keys: Numbers, ids: Numbers) -> Bool[Tensor, "..."]:
            """Allow a query the keys of its sentence; padding may see all, so no row is empty."""
            same_sentence = queries[:, :, None] == keys[:, None, :]
            return (same_sentence | (ids == pad_id)[:, :, None])[:, None]

        return cls(
            src_mask=mask(src, src, batch.src),
            cross_mask=mask(tgt, src, batch.tgt_out),
            tgt_mask=mask(tgt, tgt, batch.tgt_out) & causal_mask(tgt.shape[1], tgt.device),
            hooks=Hooks(
                {
                    **_position_hooks(model.encoder.embed, "encoder.embed", src_positions),
                    **_position_hooks(model.decoder.embed, "decoder.embed", tgt_positions),
                }
            ),
        )


def _position_hooks(embed: AddPositions, name: str, positions: Numbers) -> dict[str, HookFn]:
    """Return hooks of `embed` that add the encodings of these positions to the tokens, and no
    others."""

    def add_encoding(tokens: Tensor, _: str) -> Tensor:
        table: Tensor = embed.positions(positions.shape[1])
        return tokens + table[positions].to(tokens.dtype)

    return {
        f"{name}.hook_tokens": add_encoding,
        f"{name}.hook_positions": lambda encoding, _: torch.zeros_like(encoding),
    }
