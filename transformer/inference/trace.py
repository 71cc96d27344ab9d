"""Every tensor of one sentence's way through the model, by name, with the tokens of its rows.

A trace is finished and needs no model: the figures and the analysis read it, a file keeps it.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from transformer.config import near
from transformer.figures.explorer import ExplorerView
from transformer.figures.explorer_sides import ExplorerData
from transformer.hook_names import aliases
from transformer.inference import trace_files
from transformer.inference.given_weights import trace_parts
from transformer.inference.results import Translation
from transformer.inference.transformers_model import attention_of
from transformer.measures.registry import layers_of

if TYPE_CHECKING:
    from transformer.figures.widget import ExplorerWidget

Array = npt.NDArray[Any]
Kind = Literal["encoder", "decoder", "cross"]

WEIGHTS: dict[str, str] = {
    "encoder": "encoder.layers.{}.self_attn.hook_weights",
    "decoder": "decoder.layers.{}.self_attn.hook_weights",
    "cross": "decoder.layers.{}.cross_attn.hook_weights",
}
_LABELS = ("src_tokens", "tgt_tokens", "predicted_tokens", "src_ids", "tgt_ids", "predicted_ids")


@dataclass(frozen=True, eq=False)
class Trace(Mapping[str, Array]):
    """One encoder pass and one teacher-forced decoder pass over the finished output.

    `trace[name]` is the array of a site, without the batch dimension and read-only: weights are
    (n_heads, query, key), queries, keys and values (n_heads, length, d_k), residual streams
    (length, d_model), `hook_logits` (tgt, vocab). `names` lists the sites recorded. The names that
    TransformerLens gives them (`hook_names.aliases`) are understood as well.

    Attributes:
        src_tokens: labels of the source positions, `</s>` last.
        tgt_tokens: labels of the decoder's positions, what it read: `<s>` y1 … yn. They are the
            rows of decoder and cross attention, and the columns of decoder attention.
        predicted_tokens: what each of those rows went on to: y1 … yn `</s>`; so row i of cross
            attention is where the model looked when it wrote `predicted_tokens[i]`.
        src_ids, tgt_ids, predicted_ids: the same as ids.
        config: of the model, as a dictionary.
        translation: how the text came about: its steps, score and beam tree.
        tensors: what was recorded, with the batch dimension; read it through `trace[name]`.
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
        """The sites recorded, in the order of the model."""
        return tuple(self.tensors)

    @property
    def source(self) -> str:
        """The text given."""
        return self.translation.source

    @property
    def text(self) -> str:
        """Its translation, or the forced target."""
        return self.translation.text

    @property
    def n_layers(self) -> int:
        return int(self.config["n_layers"])

    def depth(self, kind: str) -> int:
        """Layers with attention of this kind: `n_layers`, or fewer in a model of others. Raises
        ValueError for a kind that there is not."""
        self._check_kind(kind)
        return layers_of(self.config, kind)

    @property
    def n_heads(self) -> int:
        return int(self.config["n_heads"])

    def __getitem__(self, name: str) -> Array:
        """Raises KeyError for a site that was not recorded, with the near ones."""
        ours = aliases(self.n_layers).get(name, name)
        if ours not in self.tensors:
            raise KeyError(f"the trace has no {name!r}{near(ours, self.tensors)}")
        found = self.tensors[ours]
        array = found.numpy() if isinstance(found, torch.Tensor) else found
        view: Array = array[0]
        view.flags.writeable = False
        return view

    def __contains__(self, name: object) -> bool:
        return aliases(self.n_layers).get(str(name), name) in self.tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def weights(self, kind: str, layer: int) -> npt.NDArray[np.float32]:
        """Attention weights of one layer, (n_heads, query, key); each row sums to 1.

        Args:
            kind: "encoder" (source × source), "decoder" (target × target) or "cross"
                (target × source).
            layer: 0 is the lowest, -1 the highest.

        Raises:
            ValueError: for another kind, a layer that is not there, or weights not recorded.
            TypeError: for a layer that is no whole number.
        """
        return self[self._site(kind, layer)]

    def all_weights(self, kind: str) -> npt.NDArray[np.float32]:
        """Attention weights of all layers as one array, (layers, n_heads, query, key), a copy.

        Raises:
            ValueError: for another kind, for weights not recorded, or for layers that differ in
                shape.
        """
        layers = [self.weights(kind, layer) for layer in range(self.depth(kind))]
        shapes = {weights.shape for weights in layers}
        if len(shapes) > 1:
            listed = ", ".join(map(str, sorted(shapes)))
            raise ValueError(
                f"the layers of kind {kind!r} differ in shape ({listed}); read them one at a time "
                "with weights(kind, layer)"
            )
        if not layers:
            raise ValueError(f"the model has no layers of kind {kind!r}")
        return np.stack(layers)

    def labels(self, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Tokens of the rows (queries) and of the columns (keys) of `weights(kind, …)`."""
        self._check_kind(kind)
        return (
            self.src_tokens if kind == "encoder" else self.tgt_tokens,
            self.tgt_tokens if kind == "decoder" else self.src_tokens,
        )

    def to_frame(self, kind: str, layer: int, head: int | None = None) -> pd.DataFrame:
        """Weights as a long table, a line for each pair of positions (and head, if None is asked).
        Negative layers and heads count from the end.

        Columns: [head,] query_position, query_token, key_position, key_token, weight; for decoder
        and cross attention also predicted_token. Positions keep repeated tokens apart.
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

    def explore(
        self, other: Trace | None = None, *, view: str = "heads", **state: Any
    ) -> ExplorerView:
        """The attention explorer, in a notebook or as a file of its own.

            trace.explore(kind="cross", exact=False)
            trace.heatmap(layer=5, head=2, special="dimmed").save("head.html")

        Args:
            other: a second trace, to compare with.
            view: one of `figures.views.EXPLORER`, such as "heads" or "query-key".
            state: whatever else it opens with, by the names in `figures.state.DEFAULTS`.

        Raises:
            ValueError: for a name or value that there is not, with those that there are.
        """
        return ExplorerView(_sides(self, other), {"view": view, **state})

    def widget(
        self, other: Trace | None = None, *, view: str = "heads", **state: Any
    ) -> ExplorerWidget:
        """The explorer as a notebook widget, whose `view`, `kind`, `layer`, `head` and `pin` can be
        read and set from Python; arguments and errors as of `explore`.

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
        return ExplorerWidget(_sides(self, other), {"view": view, **state})

    def heads(self, **state: Any) -> ExplorerView:
        """Lines between tokens, a colour for each head; see `explore`."""
        return self.explore(view="heads", **state)

    def model(self, **state: Any) -> ExplorerView:
        """All heads of all layers at a glance; see `explore`."""
        return self.explore(view="model", **state)

    def heatmap(self, **state: Any) -> ExplorerView:
        """One head, or several together, as a table of colours; see `explore`."""
        return self.explore(view="heatmap", **state)

    def compare(self, other: Trace, **state: Any) -> ExplorerView:
        """Where another trace looked elsewhere; see `explore`."""
        return self.explore(other, view="compare", **state)

    def save_npz(self, path: str | os.PathLike[str]) -> None:
        """Everything into one file, all of it or nothing; `load_npz` reads it without a model."""
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
        """The attention of any model, to be looked at as that of ours.

            out = bert(**inputs, output_attentions=True)
            Trace.from_weights(tokens, encoder=out.attentions).model().save("bert.html")
            Trace.from_weights(tgt_tokens=tokens, decoder=gpt2_out.attentions)
            Trace.from_weights(src, tgt, encoder=out.encoder_attentions,
                               decoder=out.decoder_attentions, cross=out.cross_attentions)

        Args:
            src_tokens, tgt_tokens: what the encoder and the decoder read; a decoder alone has no
                source. "▁", "Ġ" and "##" are understood as what begins a word or goes on with one.
            encoder, decoder, cross: a layer each, (heads, query, key), arrays or tensors, with a
                batch of one or without; or as `generate` gives them back, a tuple for each token.
            predicted_tokens: what each row of the decoder went on to; the next token if left out.
            source, text: as people read them; put together from the tokens if left out.

        Raises:
            ValueError: for weights that do not fit the tokens or each other, or that do not sum to
                1 over the keys.
        """
        given = {"encoder": encoder, "decoder": decoder, "cross": cross}
        parts = trace_parts(src_tokens, tgt_tokens, predicted_tokens, given, source, text)
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
        """Raises FileNotFoundError, or ValueError if the file is none of `save_npz`."""
        return cls._of(*trace_files.read_npz(path))

    def to_json(self, names: Iterable[str] | None = None) -> str:
        """Labels, steps and the sites `names` (all attention weights if left out) as JSON."""
        if names is None:
            names = [name for name in self if name.endswith(".hook_weights")]
        return trace_files.to_text(self._header(), {name: self[name] for name in names})

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """The inverse of `to_json`. Raises ValueError if the text is none of its making."""
        return cls._of(*trace_files.from_text(text))

    def _header(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in _LABELS}
        return {"config": self.config, **lists, "translation": self.translation.to_dict()}

    @classmethod
    def _of(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Trace:
        try:
            return cls(
                config=header["config"],
                translation=Translation.from_dict(header["translation"]),
                tensors={name: array[None] for name, array in arrays.items()},
                **{name: tuple(header[name]) for name in _LABELS},
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no trace: {error!r} is missing") from error

    def _check_kind(self, kind: str) -> None:
        if kind not in WEIGHTS:
            known = ", ".join(map(repr, WEIGHTS))
            raise ValueError(f"kind must be one of {known}, not {kind!r}{near(kind, WEIGHTS)}")

    def _site(self, kind: str, layer: int) -> str:
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


def _sides(trace: Trace, other: Trace | None) -> list[ExplorerData]:
    """What the explorer shows of one trace, or of two to compare."""
    if other is None:
        return [ExplorerData(trace)]
    return [ExplorerData(trace, "A"), ExplorerData(other, "B")]
