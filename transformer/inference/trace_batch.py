"""Traces of many sentences from a few padded passes, each cut to its own length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from transformer.hooks import Hooks, NamesFilter, hook_axes
from transformer.inference.decoding import SequenceDecoder, group_by_length
from transformer.inference.results import Translation
from transformer.inference.trace import Trace
from transformer.inference.trace_recording import Recording, trace_of

BATCH = 16
"""Sentences in one pass. Of 30 source and 40 target tokens, all tensors of en-fr take 170 MB."""


def trace_batch(
    decoder: SequenceDecoder,
    sources: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    translation_of: Callable[[int, Tensor], Translation],
    pieces: Sequence[str],
    hooks: Hooks | None,
    names: NamesFilter,
) -> list[Trace]:
    """Return the trace of each source and its output, in the same order.

    Runs the encoder and the decoder once for each batch of sentences of similar length. The tensors
    of a trace are copies without padding.

    Args:
        sources, outputs: ids of every sentence.
        translation_of: returns the translation of a sentence from its number and the logits that
            its output was chosen from, (tgt, vocab).
    """
    traces: dict[int, Trace] = {}
    for indices in group_by_length([len(source) for source in sources], BATCH):
        recording = Recording(decoder.model, hooks, names)
        memory = decoder.encode([[*sources[i]] for i in indices], recording.hooks)
        logits = decoder.logits(memory, [[*outputs[i]] for i in indices], recording.hooks)
        tensors = recording.finished()
        for row, index in enumerate(indices):
            translation = translation_of(index, logits[row, : len(outputs[index])])
            sentence_tensors = {
                name: _cut(tensor, name, row, translation) for name, tensor in tensors.items()
            }
            traces[index] = trace_of(translation, decoder.config, pieces, sentence_tensors)
    return [traces[i] for i in range(len(sources))]


def _cut(tensor: Tensor, name: str, row: int, translation: Translation) -> Tensor:
    """Return one sentence's part of a batch, with a batch dimension of 1 and without padding."""
    lengths = {"src": len(translation.src_ids), "tgt": len(translation.ids)}
    row = 0 if len(tensor) == 1 else row  # positions are the same for all sentences
    part = tensor[row : row + 1]
    for dimension, axis in enumerate(hook_axes(name), start=1):
        length = lengths.get(axis.removesuffix("_key"))
        if length is not None:
            part = part.narrow(dimension, 0, length)
    return part.clone(memory_format=torch.contiguous_format)
