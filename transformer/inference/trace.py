"""All activations of the model for one sentence pair, by name, with the tokens of their rows.

A trace is immutable and needs no model: figures and analyses read it, and it can be saved.
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from transformer.config import did_you_mean
from transformer.figures.explorer import ExplorerView
from transformer.figures.explorer_sides import ExplorerData
from transformer.hook_axes import hook_axes
from transformer.hook_names import NamesFilter, canonical, select
from transformer.inference import trace_files
from transformer.inference.external_weights import trace_fields
from transformer.inference.results import Translation
from transformer.inference.transformers_model import attention_of
from transformer.measures.registry import layers_of

if TYPE_CHECKING:
    from transformer.figures.widget import ExplorerWidget
    from transformer.inference.xarray_dataset import Dataset

Array = npt.NDArray[Any]
Kind = Literal["encoder", "decoder", "cross"]

WEIGHTS: dict[str, str] = {
    "encoder": "encoder.layers.{}.self_attn.hook_weights",
    "decoder": "decoder.layers.{}.self_attn.hook_weights",
    "cross": "decoder.layers.{}.cross_attn.hook_weights",
}
_LABEL_FIELDS = (
    "src_tokens",
    "tgt_tokens",
    "predicted_tokens",
    "src_ids",
    "tgt_ids",
    "predicted_ids",
)


@dataclass(frozen=True, eq=False)
class Trace(Mapping[str, Array]):
    """One encoder pass and one teacher-forced decoder pass over the finished output.

    `trace[name]` is the read-only array of a hook point, without the batch dimension: weights are
    (n_heads, query, key), queries, keys and values (n_heads, length, d_k), residual streams
    (length, d_model), `hook_logits` (tgt, vocab). `names` lists the recorded hook points. Names of
    TransformerLens (`hook_names.aliases`) and negative layers, counted from the last, work too.

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

    def depth(self, kind: str) -> int:
        """Return the number of layers of this kind of attention: `n_layers`, or fewer in a model
        whose encoder and decoder differ in depth. Raises ValueError for an unknown kind."""
        self._check_kind(kind)
        return layers_of(self.config, kind)

    @property
    def n_heads(self) -> int:
        return int(self.config["n_heads"])

    def __getitem__(self, name: str) -> Array:
        """Raises KeyError, with similar names, for a hook point that was not recorded."""
        ours = self._canonical(name)
        if ours not in self.tensors:
            raise KeyError(f"the trace has no {name!r}{did_you_mean(ours, self.tensors)}")
        tensor = self.tensors[ours]
        array = tensor.numpy() if isinstance(tensor, torch.Tensor) else tensor
        view: Array = array[0]
        view.flags.writeable = False
        return view

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._canonical(name) in self.tensors

    def _canonical(self, name: str) -> str:
        stack, _, _ = name.partition(".")  # the stacks of a foreign model can differ in depth
        return canonical(name, layers_of(self.config, stack))

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def weights(self, kind: str, layer: int) -> npt.NDArray[np.float32]:
        """Return the attention weights of one layer, (n_heads, query, key); each row sums to 1.

        Args:
            kind: "encoder" (source × source), "decoder" (target × target) or "cross"
                (target × source).
            layer: 0 is the lowest, -1 the highest.

        Raises:
            ValueError: for an unknown kind, a layer out of range, or weights not recorded.
            TypeError: if `layer` is not an integer.
        """
        return self[self._weights_name(kind, layer)]

    def all_weights(self, kind: str) -> npt.NDArray[np.float32]:
        """Return the weights of all layers as a new array, (layers, n_heads, query, key).

        Raises:
            ValueError: for an unknown kind, weights not recorded, or layers that differ in shape.
        """
        layers = [self.weights(kind, layer) for layer in range(self.depth(kind))]
        shapes = {weights.shape for weights in layers}
        if len(shapes) > 1:
            shape_list = ", ".join(map(str, sorted(shapes)))
            raise ValueError(
                f"the layers of kind {kind!r} differ in shape ({shape_list}); read them one at a "
                "time with weights(kind, layer)"
            )
        if not layers:
            raise ValueError(f"the model has no layers of kind {kind!r}")
        return np.stack(layers)

    def labels(self, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the tokens of the rows (queries) and columns (keys) of `weights(kind, …)`."""
        self._check_kind(kind)
        return (
            self.src_tokens if kind == "encoder" else self.tgt_tokens,
            self.tgt_tokens if kind == "decoder" else self.src_tokens,
        )

    def to_frame(self, kind: str, layer: int, head: int | None = None) -> pd.DataFrame:
        """Return the weights as a long table, one row per position pair (and head, if `head` is
        None). Negative layers and heads count from the end.

        Columns: [head,] query_position, query_token, key_position, key_token, weight; for decoder
        and cross attention also predicted_token. Positions distinguish repeated tokens.
        """
        weights = self.weights(kind, layer)
        head = None if head is None else int(operator.index(head))  # True is 1, never a mask
        if head is not None and not -len(weights) <= head < len(weights):
            raise ValueError(
                f"there is no head {head}; the heads are 0 to {len(weights) - 1}, or -1 to "
                f"-{len(weights)} counted from the last"
            )
        weights = weights if head is None else weights[head][None]
        rows, columns = self.labels(kind)
        h, i, j = np.indices(weights.shape).reshape(3, -1)
        table: dict[str, Any] = {} if head is not None else {"head": h}
        table |= {"query_position": i, "query_token": np.array(rows, dtype=object)[i]}
        if kind != "encoder":
            table["predicted_token"] = np.array(self.predicted_tokens, dtype=object)[i]
        table |= {"key_position": j, "key_token": np.array(columns, dtype=object)[j]}
        table["weight"] = weights.ravel()
        return pd.DataFrame(table)

    def to_xarray(self, names: NamesFilter = None) -> Dataset:
        """Return an xarray Dataset, whose dimensions have names and whose positions have tokens.

            trace.to_xarray()["cross"].sel(decoder_layer=5, head=0)
            trace.to_xarray("encoder.layers.*.ffn_norm.hook_output")

        By default it has the weights of each kind: "encoder" (encoder_layer, head, src, src_key),
        "decoder" (decoder_layer, head, tgt, tgt_key) and "cross" (decoder_layer, head, tgt, src).
        With `names` it has those hook points, each with the dimensions of `hook_axes`. Coordinates
        are the positions, "src_token", "tgt_token" and "predicted_token".

        Raises:
            ValueError: for names that match nothing, or without names and weights.
            ImportError: without the optional package xarray.
        """
        try:
            from transformer.inference.xarray_dataset import dataset
        except ModuleNotFoundError as error:
            raise ImportError(
                'to_xarray needs the package xarray: pip install "heads-up[xarray]"'
            ) from error
        tokens = {"src": self.src_tokens, "tgt": self.tgt_tokens}
        tokens["predicted"] = self.predicted_tokens
        texts = {"source": self.source, "translation": self.text, "config": json.dumps(self.config)}
        if names is None:
            return dataset(self._stacked_weights(), tokens, texts)
        selected_names = select(names, self.names)
        return dataset(
            {name: (hook_axes(name), self[name]) for name in selected_names}, tokens, texts
        )

    def explore(
        self, other: Trace | None = None, *, view: str = "heads", **state: Any
    ) -> ExplorerView:
        """Return the attention explorer, which a notebook displays and `save` writes to a file.

            trace.explore(kind="cross", exact=False)
            trace.heatmap(layer=5, head=2, special="dimmed").save("head.html")

        Args:
            other: a second trace, to compare with.
            view: one of `figures.views.EXPLORER`, such as "heads" or "query-key".
            state: other initial settings, by the names in `figures.state.DEFAULTS`.

        Raises:
            ValueError: for an unknown name or value, with the valid ones.
        """
        return ExplorerView(_explorer_data(self, other), {"view": view, **state})

    def widget(
        self, other: Trace | None = None, *, view: str = "heads", **state: Any
    ) -> ExplorerWidget:
        """Return the explorer as a notebook widget, whose `view`, `kind`, `layer`, `head` and `pin`
        can be read and set from Python. Arguments and errors are those of `explore`.

            explorer = trace.widget()
            explorer.head  # in a later cell: the head that was clicked

        Raises ImportError without the optional package anywidget.
        """
        try:
            from transformer.figures.widget import ExplorerWidget
        except ModuleNotFoundError as error:
            raise ImportError(
                'the widget needs the package anywidget: pip install "heads-up[widget]"'
            ) from error
        return ExplorerWidget(_explorer_data(self, other), {"view": view, **state})

    def heads(self, **state: Any) -> ExplorerView:
        """Show lines between tokens, in one colour per head; see `explore`."""
        return self.explore(view="heads", **state)

    def model(self, **state: Any) -> ExplorerView:
        """Show all heads of all layers as small pictures; see `explore`."""
        return self.explore(view="model", **state)

    def heatmap(self, **state: Any) -> ExplorerView:
        """Show one head, or the mean of several, as a heatmap; see `explore`."""
        return self.explore(view="heatmap", **state)

    def compare(self, other: Trace, **state: Any) -> ExplorerView:
        """Show the difference to the weights of another trace; see `explore`."""
        return self.explore(other, view="compare", **state)

    def save_npz(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically; `load_npz` reads it without a model."""
        trace_files.write_npz(path, self._header(), {name: self[name] for name in self})

    @classmethod
    def from_weights(
        cls,
        src_tokens: Sequence[str] = (),
        tgt_tokens: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        decoder: Any = None,
        cross: Any = None,
        predicted_tokens: Sequence[str] | None = None,
        source: str = "",
        text: str = "",
    ) -> Trace:
        """Return a trace of attention weights that any model computed.

            out = bert(**inputs, output_attentions=True)
            Trace.from_weights(tokens, encoder=out.attentions).model().save("bert.html")
            Trace.from_weights(tgt_tokens=tokens, decoder=gpt2_out.attentions)
            Trace.from_weights(src, tgt, encoder=out.encoder_attentions,
                               decoder=out.decoder_attentions, cross=out.cross_attentions)

        Args:
            src_tokens, tgt_tokens: input tokens of the encoder and the decoder; a decoder-only
                model has no source. The marks "▁" and "Ġ" (begins a word) and "##" (continues a
                word) are understood.
            encoder, decoder, cross: one array or tensor per layer, (heads, query, key), with or
                without a batch dimension of size 1; or the output of `generate`, one tuple of
                layers per generated token.
            predicted_tokens: the token that each decoder row predicts; by default the next token.
            source, text: the two texts; by default joined from the tokens.

        Raises:
            ValueError: for weights that do not match the tokens or each other, or whose rows do
                not sum to 1.
        """
        weights_by_kind = {"encoder": encoder, "decoder": decoder, "cross": cross}
        parts = trace_fields(
            src_tokens, tgt_tokens, predicted_tokens, weights_by_kind, source, text
        )
        tensors = {
            WEIGHTS[kind].format(layer): weights
            for (kind, layer), weights in parts.pop("tensors").items()
        }
        return cls(tensors=tensors, **parts)

    @classmethod
    def of(cls, model: Any, tokenizer: Any, text: str, target: str | None = None) -> Trace:
        """The attention of one text in a model of the `transformers` library.

            Trace.of(bert, tokenizer, "The cat sat.").model()
            Trace.of(bart, tokenizer, "The cat sat.", target="Le chat s'est assis.")

        An encoder (BERT), a decoder (GPT-2) or an encoder–decoder (BART, T5, Marian, M2M100), with
        `attn_implementation="eager"`. `target` is what an encoder–decoder writes; left out, it
        generates. Raises ValueError as `transformers_model.attention_of`.
        """
        return cls.from_weights(**attention_of(model, tokenizer, text, target))

    @classmethod
    def load_npz(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a file of `save_npz`. Raises FileNotFoundError, or ValueError for any other file."""
        return cls._of(*trace_files.read_npz(path))

    def to_json(self, names: Iterable[str] | None = None) -> str:
        """Return labels, steps and the tensors `names` (default: all attention weights) as JSON."""
        if names is None:
            names = [name for name in self if name.endswith(".hook_weights")]
        return trace_files.to_text(self._header(), {name: self[name] for name in names})

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read the output of `to_json`. Raises ValueError for any other text."""
        return cls._of(*trace_files.from_text(text))

    def _header(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in _LABEL_FIELDS}
        return {"config": self.config, **lists, "translation": self.translation.to_dict()}

    @classmethod
    def _of(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Trace:
        try:
            return cls(
                config=header["config"],
                translation=Translation.from_dict(header["translation"]),
                tensors={name: array[None] for name, array in arrays.items()},
                **{name: tuple(header[name]) for name in _LABEL_FIELDS},
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not a trace: {error!r} is missing") from error

    def _stacked_weights(self) -> dict[str, tuple[tuple[str, ...], Array]]:
        """Return dimensions and weights of each kind whose layers were all recorded. Raises
        ValueError if there is none."""
        stacked = {}
        for kind, name_pattern in WEIGHTS.items():
            names = [name_pattern.format(layer) for layer in range(self.depth(kind))]
            if names and all(name in self for name in names):
                layer_axis = "encoder_layer" if kind == "encoder" else "decoder_layer"
                stacked[kind] = ((layer_axis, *hook_axes(names[0])), self.all_weights(kind))
        if not stacked:
            raise ValueError(
                "no attention was recorded in all layers; pass the names of tensors in names="
            )
        return stacked

    def _check_kind(self, kind: str) -> None:
        if kind not in WEIGHTS:
            kinds = ", ".join(map(repr, WEIGHTS))
            raise ValueError(
                f"kind must be one of {kinds}, not {kind!r}{did_you_mean(kind, WEIGHTS)}"
            )

    def _weights_name(self, kind: str, layer: int) -> str:
        self._check_kind(kind)
        depth, index = self.depth(kind), operator.index(layer)
        if not -depth <= index < depth:
            raise ValueError(
                f"there is no layer {layer}; the layers are 0 to {depth - 1}, or -1 to -{depth} "
                "counted from the highest"
            )
        name = WEIGHTS[kind].format(index % depth)
        if name not in self.tensors:
            raise ValueError(f"this trace was recorded without {name}")
        return name


def _explorer_data(trace: Trace, other: Trace | None) -> list[ExplorerData]:
    """Return the explorer's data of one trace, or of two to compare."""
    if other is None:
        return [ExplorerData(trace)]
    return [ExplorerData(trace, "A"), ExplorerData(other, "B")]
