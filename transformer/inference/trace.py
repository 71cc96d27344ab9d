"""All activations of the model for one sentence pair: shown, converted, saved and loaded.

A trace is immutable and needs no model: figures and analyses read it, and it can be saved.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from transformer.figures.explorer import ExplorerView
from transformer.figures.packed_trace import PackedTrace
from transformer.inference import trace_files
from transformer.inference.external_weights import trace_fields
from transformer.inference.model_reference import ModelReference
from transformer.inference.results import Translation
from transformer.inference.trace_tensors import WEIGHTS as WEIGHTS
from transformer.inference.trace_tensors import Array as Array
from transformer.inference.trace_tensors import TraceTensors
from transformer.inference.transformers_model import attention_of
from transformer.measures.kinds import AttentionKind
from transformer.measures.words import plain_words

if TYPE_CHECKING:
    import pandas as pd

    from transformer.figures.widget import ExplorerWidget

_LABEL_FIELDS = (
    "src_tokens",
    "tgt_tokens",
    "predicted_tokens",
    "src_ids",
    "tgt_ids",
    "predicted_ids",
)


@dataclass(frozen=True, eq=False)
class Trace(TraceTensors):
    """`TraceTensors` with exports: the explorer, tables, files.

    `trace[name]`, `names`, `weights`, `labels` and the attributes are those of `TraceTensors`.

    Attributes:
        model_reference: the model that made it, for `why` and `score_parts`; not stored in files.
    """

    model_reference: ModelReference = field(default_factory=ModelReference, repr=False)

    def to_frame(
        self, kind: AttentionKind, layer: int | None = None, head: int | None = None
    ) -> pd.DataFrame:
        """Return the weights as a long table, one row per position pair (and layer, if `layer` is
        None, and head, if `head` is None). Negative layers and heads count from the end.

        Columns: [layer, head,] query_position, query_token, key_position, key_token, weight; for
        decoder and cross attention also predicted_token. Positions distinguish repeated tokens.
        """
        import pandas as pd  # here, because it takes 50 MB and processes that train do not need it

        if layer is None:
            tables = {n: self.to_frame(kind, n, head) for n in range(self.depth(kind))}
            return pd.concat(tables, names=["layer"]).reset_index("layer").reset_index(drop=True)
        weights = self.weights(kind, layer)
        head = None if head is None else int(operator.index(head))  # as an int, True is head 1
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

    def why(self, word: str | int) -> pd.DataFrame:
        """Return what wrote a word of the output: the parts of the logit of its first token.

            trace.why("chat").head()

        Args:
            word: as it is in the output, without punctuation; or the position of a token in
                `predicted_tokens`, for a word that the output has twice.

        Returns:
            A row for each part, the largest absolute "adds" first, as the table of
            `analysis.attribution.direct_logits`: part, layer, head, adds, removed.

        Raises:
            ValueError: for a word that the output does not have, or has more than once, and for a
                trace that was read from a file or is of another library's model.
            KeyError: for a trace without a site that is needed.
        """
        from transformer.analysis.attribution.direct_logits import direct_logits

        position = self._position_of(word) if isinstance(word, str) else word
        table = direct_logits(self.model_reference.get(), self, position).table
        order = table["adds"].abs().sort_values(ascending=False, kind="stable").index
        return table.loc[order].reset_index(drop=True)

    def score_parts(
        self, kind: AttentionKind, layer: int, head: int, query: int, key: int
    ) -> pd.DataFrame:
        """Return why a head looks at a key: the score of one cell, split over the parts of query
        and key; columns and errors are those of `analysis.attribution.residual_parts.cell_parts`.

            trace.score_parts("cross", 3, 1, query=4, key=2).head()
        """
        from transformer.analysis.attribution.residual_parts import cell_parts

        return cell_parts(self.model_reference.get(), self, kind, layer, head, query, key)

    def _position_of(self, word: str) -> int:
        """Return the position of the first token of a word of the output."""
        numbers, labels = plain_words(self.predicted_tokens)
        found = [number for number, label in enumerate(labels) if label and label == word]
        if len(found) == 1:
            return numbers.index(found[0])
        if not found:
            own = ", ".join(label for label in labels if label)
            raise ValueError(f"the output has no word {word!r}; it has {own}")
        positions = ", ".join(str(numbers.index(number)) for number in found)
        raise ValueError(
            f"the output has {word!r} more than once; pass one of its positions: {positions}"
        )

    def explore(
        self, other: Trace | None = None, *, view: str = "heads", **state: Any
    ) -> ExplorerView:
        """Return the attention explorer, which a notebook displays and `save` writes to a file. By
        default it shows lines between tokens, in one colour per head.

            trace.explore(kind="cross", exact=False)
            trace.heatmap(layer=5, head=2, special="dimmed").save("head.html")

        Args:
            other: a second trace, to compare with.
            view: one of `figures.views.EXPLORER`, such as "heads" or "query-key".
            state: other initial settings, by the names in `figures.state.DEFAULTS`.

        Raises:
            ValueError: for an unknown name or value, with the valid ones.
            TypeError: if `other` is not a trace.
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
        trace_files.write_npz(path, self._header(), dict(self))

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
        layer_numbers: Sequence[int] | None = None,
    ) -> Trace:
        """Return a trace of attention weights that any model computed.

            out = bert(**inputs, output_attentions=True)
            Trace.from_weights(tokens, encoder=out.attentions).model().save("bert.html")
            Trace.from_weights(tgt_tokens=tokens, decoder=gpt2_out.attentions)
            Trace.from_weights(src, tgt, encoder=out.encoder_attentions,
                               decoder=out.decoder_attentions, cross=out.cross_attentions)

        Args:
            src_tokens, tgt_tokens: input tokens of the encoder and the decoder; a decoder-only
                model has no source. The marks "▁" and "Ġ" (begins a word), "##" (continues a word),
                "@@" (is continued), "</w>" (ends a word) and "￭" (joins) are understood.
            encoder, decoder, cross: one array or tensor per layer, (heads, query, key), with or
                without a batch dimension of size 1; or the output of `generate`, one tuple of
                layers per generated token.
            predicted_tokens: the token that each decoder row predicts; by default the next token.
            source, text: the two texts; by default joined from the tokens.
            layer_numbers: numbers of these layers in the model, from 0, if other layers have no
                attention; stored as `config["layer_numbers"]`.

        Raises:
            ValueError: for weights that do not match the tokens or each other, or whose rows do
                not sum to 1.
        """
        weights_by_kind: dict[AttentionKind, Any] = {
            "encoder": encoder,
            "decoder": decoder,
            "cross": cross,
        }
        return cls(
            **trace_fields(
                src_tokens,
                tgt_tokens,
                predicted_tokens,
                weights_by_kind,
                source,
                text,
                layer_numbers,
            )
        )

    @classmethod
    def of(cls, model: Any, tokenizer: Any, text: str, target: str | None = None) -> Trace:
        """Return the attention of one text in a model of the `transformers` library.

            Trace.of(bert, tokenizer, "The cat sat.").model()
            Trace.of(bart, tokenizer, "The cat sat.", target="Le chat s'est assis.")

        An encoder (BERT), a decoder (GPT-2) or an encoder–decoder (BART, T5, Marian, M2M100), with
        `attn_implementation="eager"`. `target` is the output of an encoder–decoder; by default the
        model generates it. In a hybrid model, layers without attention are left out;
        `config["layer_numbers"]` has the numbers of the others. Raises ValueError as
        `transformers_model.attention_of`.
        """
        return cls.from_weights(**attention_of(model, tokenizer, text, target))

    @classmethod
    def load_npz(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a file that `save_npz` wrote. Raises FileNotFoundError, or ValueError for any other
        file."""
        header, arrays = trace_files.read_npz(path)
        try:
            labels: dict[str, Any] = {name: tuple(header[name]) for name in _LABEL_FIELDS}
            return cls(
                config=header["config"],
                translation=Translation.from_dict(header["translation"]),
                tensors={name: array[None] for name, array in arrays.items()},
                **labels,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path} is not a trace file: {error!r}") from error

    def to_json(self) -> str:
        """Return everything as JSON, for other programs. Raises ValueError for NaN and infinity."""
        return trace_files.to_text(self._header(), dict(self))

    def _header(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in _LABEL_FIELDS}
        return {"config": self.config, **lists, "translation": self.translation.to_dict()}


def _explorer_data(trace: Trace, other: Trace | None) -> list[PackedTrace]:
    """Return the explorer's data of one trace, or of two to compare."""
    if other is None:
        return [PackedTrace(trace)]
    if not isinstance(other, Trace):
        raise TypeError(f"a trace is compared with another trace, not with {other!r:.100}")
    return [PackedTrace(trace, "A"), PackedTrace(other, "B")]
