"""The tensors of a forward pass by name, with the tokens of their rows: where heatmaps come from.

`Trace` adds the ways in and out: tables, files, the explorer, the weights of other models.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from transformer.config import did_you_mean
from transformer.hooks import canonical
from transformer.inference.results import Translation
from transformer.measures.kinds import AttentionKind, checked_kind
from transformer.measures.registry import layers_of

Array = npt.NDArray[Any]

WEIGHTS: dict[AttentionKind, str] = {
    "encoder": "encoder.layers.{}.self_attn.hook_weights",
    "decoder": "decoder.layers.{}.self_attn.hook_weights",
    "cross": "decoder.layers.{}.cross_attn.hook_weights",
}


@dataclass(frozen=True, eq=False)
class TraceTensors(Mapping[str, Array]):
    """One encoder pass and one teacher-forced decoder pass over the finished output.

    `trace[name]` is the read-only array of a hook point, without the batch dimension: weights are
    (n_heads, query, key), queries, keys and values (n_heads, length, d_k), residual streams
    (length, d_model), `hook_logits` (tgt, vocab). `names` lists the recorded hook points. Names of
    TransformerLens (`hooks.aliases`) and negative layers, counted from the last, work too.

    Attributes:
        src_tokens: labels of the source positions, `</s>` last.
        tgt_tokens: labels of the decoder positions, its input tokens: `<s>` y1 … yn. They are the
            rows of decoder and cross attention, and the columns of decoder attention.
        predicted_tokens: the token that each of these rows predicts: y1 … yn `</s>`; so row i of
            cross attention belongs to the prediction of `predicted_tokens[i]`.
        src_ids, tgt_ids, predicted_ids: the ids of these tokens.
        config: configuration of the model, as a dictionary.
        translation: the decoded translation with its steps, score and beam tree.
        tensors: the recorded tensors, with the batch dimension; read them through `trace[name]`.
    """

    src_tokens: tuple[str, ...]
    tgt_tokens: tuple[str, ...]
    predicted_tokens: tuple[str, ...]
    src_ids: tuple[int, ...]
    tgt_ids: tuple[int, ...]
    predicted_ids: tuple[int, ...]
    config: dict[str, Any]
    translation: Translation
    tensors: Mapping[str, torch.Tensor | Array] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The recorded hook points, in model order."""
        return tuple(self.tensors)

    @property
    def source(self) -> str:
        """The source text."""
        return self.translation.source

    @property
    def text(self) -> str:
        """The translation, or the forced target."""
        return self.translation.text

    @property
    def n_layers(self) -> int:
        return int(self.config["n_layers"])

    def depth(self, kind: AttentionKind) -> int:
        """Return the number of layers of this kind of attention: `n_layers`, or fewer in a model
        whose encoder and decoder differ in depth. Raises ValueError for an unknown kind."""
        checked_kind(kind)
        return layers_of(self.config, kind)

    @property
    def n_heads(self) -> int:
        return int(self.config["n_heads"])

    def __getitem__(self, name: str) -> Array:
        """Raises KeyError, with similar names, for a hook point that was not recorded."""
        stack, _, _ = str(name).partition(".")  # the stacks of a foreign model can differ in depth
        hook_name = canonical(str(name), layers_of(self.config, stack))
        if hook_name not in self.tensors:
            raise KeyError(f"the trace has no {name!r}{did_you_mean(hook_name, self.tensors)}")
        tensor = self.tensors[hook_name]
        array = tensor.numpy() if isinstance(tensor, torch.Tensor) else tensor
        view: Array = array[0]
        view.flags.writeable = False
        return view

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def weights(self, kind: AttentionKind, layer: int) -> npt.NDArray[np.float32]:
        """Return the attention weights of one layer, (n_heads, query, key); each row sums to 1.

        Args:
            kind: "encoder" (source × source), "decoder" (target × target) or "cross"
                (target × source).
            layer: 0 is the lowest, -1 the highest.

        Raises:
            ValueError: for an unknown kind, a layer out of range, or weights not recorded.
            TypeError: if `layer` is not an integer.
        """
        depth, index = self.depth(kind), operator.index(layer)
        if not -depth <= index < depth:
            raise ValueError(
                f"there is no layer {layer}; the layers are 0 to {depth - 1}, or -1 to -{depth} "
                "counted from the highest"
            )
        name = WEIGHTS[kind].format(index % depth)
        if name not in self.tensors:
            raise ValueError(f"this trace was recorded without {name}")
        return self[name]

    def all_weights(self, kind: AttentionKind) -> npt.NDArray[np.float32]:
        """Return the weights of all layers as a new array, (layers, n_heads, query, key). Raises
        ValueError for an unknown kind, or weights not recorded."""
        return np.stack([self.weights(kind, layer) for layer in range(self.depth(kind))])

    def labels(self, kind: AttentionKind) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the tokens of the rows (queries) and columns (keys) of `weights(kind, …)`."""
        checked_kind(kind)
        return (
            self.src_tokens if kind == "encoder" else self.tgt_tokens,
            self.tgt_tokens if kind == "decoder" else self.src_tokens,
        )
