"""The registry of all measures in this package, and their values for one sentence."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Integer

from transformer.measures.grammar import PIECES, same_word
from transformer.measures.kinds import AttentionKind
from transformer.measures.measure import GROUPS, Measure
from transformer.measures.offsets import OffsetShare, offset
from transformer.measures.pieces import Pieces
from transformer.measures.rows import Rows, RowWeights


def _discover_measures() -> dict[str, Measure]:
    """Return the measures of all modules here, by group, module name and order in the module."""
    package, this = __name__.rpartition(".")[::2]
    names = [info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)])]
    modules = (import_module(f"{package}.{name}") for name in names if name != this)
    all_measures = [info for module in modules for info in getattr(module, "MEASURES", ())]
    return {
        info.name: info for info in sorted(all_measures, key=lambda info: GROUPS.index(info.group))
    }


MEASURES: dict[str, Measure] = _discover_measures()
"""All measures by name."""


SITES: dict[AttentionKind, str] = {
    "encoder": "encoder.layers.{}.self_attn.",
    "decoder": "decoder.layers.{}.self_attn.",
    "cross": "decoder.layers.{}.cross_attn.",
}
VECTORS = ("query", "key", "value", "scores", "heads")
"""Names of attention's tensors in a trace: `SITES[kind].format(layer)`, then "hook_" and one of
`VECTORS`."""


def layers_of(config: Mapping[str, Any], kind: str) -> int:
    """Return the number of layers of a kind: "depths" of the config if it has the kind, else
    "n_layers", the greatest depth (`Trace.from_weights`)."""
    return int(config.get("depths", {}).get(kind, config["n_layers"]))


@runtime_checkable
class AttentionTrace(Protocol):
    """The attributes of a trace that measures read; `inference.Trace` has them."""

    @property
    def src_tokens(self) -> tuple[str, ...]: ...
    @property
    def tgt_tokens(self) -> tuple[str, ...]: ...
    @property
    def predicted_tokens(self) -> tuple[str, ...]: ...
    def weights(self, kind: AttentionKind, layer: int) -> npt.NDArray[np.float32]: ...


def measure_heads(
    trace: AttentionTrace, kind: AttentionKind, layer: int
) -> dict[str, Float[np.ndarray, " heads"]]:
    """Return every measure of all heads of one layer, and the offsets of offset measures.

    Measures that do not apply are left out: those of another kind, or without applicable rows.
    Grammatical relations, rare words and gold links are known only for a corpus.
    """
    rows = rows_of(trace, kind)
    attention = RowWeights(rows, trace.weights(kind, layer)[None])
    values: dict[str, Float[np.ndarray, " heads"]] = {}
    for measure in MEASURES.values():
        if kind in measure.kinds and measure.applicable_rows(rows).any():
            values[measure.name] = measure.means(attention)[0]
            if isinstance(measure, OffsetShare):
                values[measure.offset] = offset(measure.windows(attention)[0])
    return values


def rows_of(trace: AttentionTrace, kind: AttentionKind) -> Rows:
    """Return the attention rows of one kind for this sentence."""
    source, target, written = trace.src_tokens, trace.tgt_tokens, trace.predicted_tokens
    query, key = source if kind == "encoder" else target, target if kind == "decoder" else source
    vocabulary = sorted({*source, *target, *written})
    id_by_token = {token: id_ for id_, token in enumerate(vocabulary)}

    def ids(tokens: Sequence[str]) -> Integer[np.ndarray, "1 n"]:
        return np.array([[id_by_token[token] for token in tokens]], dtype=np.int64)

    writes = ids(query if kind == "encoder" else written)
    n_query, n_key = np.array([len(query)]), np.array([len(key)])
    within = {PIECES: same_word(source)[None]} if kind == "encoder" else {}
    pieces = Pieces.of(vocabulary)
    return Rows(kind, ids(query), ids(key), writes, n_query, n_key, pieces, within=within)
