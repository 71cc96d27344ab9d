"""Recording a trace: hooks that store tensors after the caller's hooks have replaced them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from transformer.hooks import Hooks, NamesFilter, ReadOnly, hook_axes, select
from transformer.inference.model_reference import ModelReference
from transformer.inference.results import Translation
from transformer.inference.trace import Trace
from transformer.model import Transformer

TRACED_SENTENCES = 16
"""Sentences in one pass. Of 30 source and 40 target tokens, all tensors of en-fr take 170 MB."""


class Recording:
    """Recording hooks for one encoder and one decoder pass.

    Attributes:
        hooks: the caller's hooks, with a recording hook at every site of `names`.
        tensors: the recorded tensors by name.
    """

    def __init__(self, model: Transformer, hooks: Hooks | None, names: NamesFilter) -> None:
        self.names = select(names, model.hook_names)
        self.tensors: dict[str, Tensor] = {}
        self._caller_hooks = Hooks({}) if hooks is None else hooks.resolved(model.hook_names)
        read = ReadOnly(self._record)
        recording = {
            name: self._replace_and_record if name in self._caller_hooks else read
            for name in self.names
        }
        self.hooks = Hooks({**self._caller_hooks, **recording})

    def _record(self, tensor: Tensor, name: str) -> None:
        self.tensors[name] = tensor

    def _replace_and_record(self, tensor: Tensor, name: str) -> Tensor | None:
        replaced = self._caller_hooks[name](tensor, name)
        self._record(tensor if replaced is None else replaced, name)
        return replaced

    def finished(self) -> dict[str, Tensor]:
        """Return the recorded tensors, on the CPU, in the order of `names`."""
        return {name: self.tensors[name].cpu() for name in self.names if name in self.tensors}


def trace_of(
    translation: Translation,
    model: Transformer,
    pieces: Sequence[str],
    tensors: dict[str, Tensor],
    row: int,
) -> Trace:
    """Return the trace of a translation from the tensors of a batch, whose row `row` it is. Its
    tensors are copies without padding."""
    tgt = (model.config.bos_id, *translation.ids[:-1])
    lengths = {"src": len(translation.src_ids), "tgt": len(tgt)}
    return Trace(
        src_tokens=translation.src_tokens,
        tgt_tokens=tuple(pieces[id] for id in tgt),
        predicted_tokens=translation.tokens,
        src_ids=translation.src_ids,
        tgt_ids=tgt,
        predicted_ids=translation.ids,
        config=model.config.to_dict(),
        translation=translation,
        tensors={name: _cut(tensor, name, row, lengths) for name, tensor in tensors.items()},
        model_reference=ModelReference(model),
    )


def _cut(tensor: Tensor, name: str, row: int, lengths: Mapping[str, int]) -> Tensor:
    """Return a copy of one sentence's part of a batch, with a batch dimension of 1."""
    row = 0 if len(tensor) == 1 else row  # positions are the same for all sentences
    part = tensor[row : row + 1]
    for dimension, axis in enumerate(hook_axes(name), start=1):
        length = lengths.get(axis.removesuffix("_key"))
        if length is not None:
            part = part.narrow(dimension, 0, length)
    return part.clone(memory_format=torch.contiguous_format)
