"""Recording a trace: hooks that keep what they see, after the caller's own have replaced it."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from transformer.hook_names import NamesFilter, select
from transformer.hooks import Hooks
from transformer.inference.backend import Memory
from transformer.inference.decoding import Output, SequenceDecoder
from transformer.inference.results import Translation
from transformer.inference.trace import Trace
from transformer.model import Transformer


class Recording:
    """`hooks` to pass to one encoder and one decoder pass; `tensors` is what went by."""

    def __init__(self, model: Transformer, hooks: Hooks | None, names: NamesFilter) -> None:
        self.names = select(names, model.hook_names)
        self.tensors: dict[str, Tensor] = {}
        self._callers = Hooks({}) if hooks is None else hooks.resolved(model.hook_names)
        self.hooks = Hooks({**self._callers, **dict.fromkeys(self.names, self._keep)})

    def _keep(self, tensor: Tensor, name: str) -> Tensor | None:
        replaced = self._callers[name](tensor, name) if name in self._callers else None
        self.tensors[name] = tensor if replaced is None else replaced
        return replaced

    def finished(self) -> dict[str, Tensor]:
        """What was recorded, on the CPU, in the order of the names."""
        return {name: self.tensors[name].cpu() for name in self.names if name in self.tensors}


def make_trace(
    recording: Recording,
    decoder: SequenceDecoder,
    memory: Memory,
    output: Output,
    translation: Translation,
    pieces: Sequence[str],
) -> Trace:
    """The trace of one finished translation; one more decoder pass, unless there was one."""
    ids = output.decoded.ids
    if output.passed != ids:
        decoder.logits(memory, [ids], recording.hooks)
    tgt = (decoder.config.bos_id, *ids[:-1])
    return Trace(
        src_tokens=translation.src_tokens,
        tgt_tokens=tuple(pieces[id] for id in tgt),
        predicted_tokens=translation.tokens,
        src_ids=translation.src_ids,
        tgt_ids=tgt,
        predicted_ids=translation.ids,
        config=decoder.config.to_dict(),
        translation=translation,
        tensors=recording.finished(),
    )
