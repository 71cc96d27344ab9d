"""One trace, packed for the browser: tokens, decoding steps and the weights of all heads.

Everything that a view draws from a trace is derived in `client/trace/`: words, labels, thumbnails,
measures, pinned words, notable heads. Vectors of heads are sent on demand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from transformer.figures.glossary import tip
from transformer.figures.packing import COARSE, FINE, Part, quantize
from transformer.figures.state import DEFAULTS, State
from transformer.figures.state import KINDS as KIND_TITLES
from transformer.measures import KINDS, MEASURES
from transformer.measures.kinds import AttentionKind, checked_kind
from transformer.measures.registry import SITES, VECTORS, AttentionTrace, layers_of
from transformer.measures.shape import clearest_head

FINE_LIMIT = 1_500_000
"""Maximum number of weights that are sent with two bytes each; more are sent with one."""
TREE_FIELDS = (
    "parent",
    "depth",
    "token",
    "id",
    "probability",
    "log_probability",
    "score",
    "status",
    "best",
)
"""The attributes of a beam tree node that the explorer shows."""


@runtime_checkable
class TraceLike(AttentionTrace, Protocol):
    """What is packed of a trace; `inference.Trace` satisfies it."""

    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def translation(self) -> Any: ...
    def __getitem__(self, name: str) -> npt.NDArray[Any]: ...
    def __contains__(self, name: object) -> bool: ...


@runtime_checkable
class AlignerLike(Protocol):
    """A cross-attention head that aligns words, as `analysis.alignment.aligner_head` returns it.

    `weights_to` says which row belongs to a word: "output", the row that writes it, or "input", the
    next row, which reads it.
    """

    @property
    def layer(self) -> int: ...
    @property
    def head(self) -> int: ...
    @property
    def weights_to(self) -> str: ...


def aligner_fields(aligner: AlignerLike | None) -> dict[str, Any] | None:
    """Return the aligner as the browser reads it."""
    if aligner is None:
        return None
    return {name: getattr(aligner, name) for name in ("layer", "head", "weights_to")}


class PackedTrace:
    """A trace as the views read it: `description` and `parts`.

    `name` is shown when two traces are compared; `model` is written on exported files. Raises
    ValueError for a trace without the weights of any kind.
    """

    def __init__(self, traced: TraceLike, name: str = "", model: str = "") -> None:
        self.traced, self.name, self.model = traced, name, model
        self.depths = {kind: layers_of(traced.config, kind) for kind in KINDS}
        self.kinds = [kind for kind in KINDS if self._has(kind)]
        if not self.kinds:
            raise ValueError("There is no attention to show: the trace has no weights.")
        self._clearest: dict[str, tuple[int, int]] = {}

    def _has(self, kind: AttentionKind) -> bool:
        names = [SITES[kind].format(layer) + "hook_weights" for layer in range(self.depths[kind])]
        return all(name in self.traced for name in names)

    @cached_property
    def description(self) -> dict[str, Any]:
        """Tokens, decoding steps and dimensions; `id` is a hash of the content."""
        content = describe(self.traced, self.kinds, self.name, self.model)
        digest = hashlib.blake2b(json.dumps(content).encode(), digest_size=8)
        for part in self.parts:
            digest.update(part.array.tobytes())
        return {**content, "id": digest.hexdigest()}

    @cached_property
    def parts(self) -> list[Part]:
        """The weights of all layers, `weights.KIND.LAYER` (heads, rows, columns)."""
        return weight_parts(self.traced, self.kinds, FINE_LIMIT)

    def clearest(self, kind: AttentionKind) -> tuple[int, int]:
        """Return layer and head with the sharpest pattern; see `measures.shape.clearest_head`."""
        if kind not in self._clearest:
            weights = [self.traced.weights(kind, layer) for layer in range(self.depths[kind])]
            self._clearest[kind] = clearest_head(np.stack(weights))
        return self._clearest[kind]

    def resolved(self, state: State, aligner: AlignerLike | None = None) -> State:
        """Return `state` with a kind that this trace has. If it names no head, select the measured
        aligner in cross-attention, otherwise the clearest head."""
        kind = checked_kind(state["kind"]) if state["kind"] in self.kinds else self.kinds[-1]
        layer, head = int(state["layer"]), int(state["head"])
        if max(layer, head) >= 0:
            return {**state, "kind": kind, "layer": max(layer, 0), "head": max(head, 0)}
        if kind == "cross" and aligner is not None:
            row = {"word_row": aligner.weights_to}
            return {**state, **row, "kind": kind, "layer": aligner.layer, "head": aligner.head}
        layer, head = self.clearest(kind)
        return {**state, "kind": kind, "layer": layer, "head": head}

    def vectors(self, kind: AttentionKind, layer: int) -> Iterator[Part]:
        """Yield the vectors of all heads of one layer, if they were recorded. (Those of all layers
        would be many times larger.)"""
        for head in range(int(self.traced.config["n_heads"])):
            yield from query_key_vectors(self.traced, kind, layer, head)


def describe(
    traced: TraceLike, kinds: Sequence[AttentionKind], name: str = "", model: str = ""
) -> dict[str, Any]:
    """Return tokens, decoding steps and dimensions of a trace, as `unpackTrace` reads them."""
    config, translation = traced.config, traced.translation
    return {
        "name": name,
        "model": model,
        "source": translation.source,
        "text": translation.text,
        "kinds": list(kinds),
        "depths": {kind: layers_of(config, kind) for kind in kinds},
        "n_heads": int(config["n_heads"]),
        "d_k": int(config["d_model"]) // int(config["n_heads"]),
        "score": config["score"],
        "src": list(traced.src_tokens),
        "tgt": list(traced.tgt_tokens),
        "predicted": list(traced.predicted_tokens),
        "ids": list(translation.ids),
        "steps": _choices(translation.table),
        "tree": _tree(translation.tree),
    }


def weight_parts(traced: TraceLike, kinds: Sequence[AttentionKind], fine_limit: int) -> list[Part]:
    """Return the weights of all layers of these kinds, with two bytes each if there are at most
    `fine_limit`, otherwise with one."""
    layers = [
        (f"weights.{kind}.{layer}", traced.weights(kind, layer))
        for kind in kinds
        for layer in range(layers_of(traced.config, kind))
    ]
    top = FINE if sum(weights.size for _, weights in layers) <= fine_limit else COARSE
    return [quantize(name, weights, top) for name, weights in layers]


def query_key_vectors(traced: TraceLike, kind: AttentionKind, layer: int, head: int) -> list[Part]:
    """Return query, key, value, scores and output of one head; empty if they were not recorded."""
    site = SITES[kind].format(layer) + "hook_"
    if any(site + name not in traced for name in VECTORS):
        return []
    return [
        Part(
            f"{name}.{kind}.{layer}.{head}",
            np.ascontiguousarray(traced[site + name][head], "<f4"),
        )
        for name in VECTORS
    ]


def prefixed(parts: Sequence[Part], number: int) -> list[Part]:
    """Return the parts with the number of their side as a prefix, so that names are unique."""
    return [Part(f"{number}.{part.name}", part.array, part.top) for part in parts]


_EXPLAINED = [*KIND_TITLES.items(), ("head", "Head"), ("layer", "Layer")]
"""Tooltips of the explorer: the key that scripts use, and the term in the glossary."""


def fixed_header() -> dict[str, Any]:
    """Return the part of the explorer's header that is the same for every sentence: the default
    state, the descriptions of all measures, and the tooltips."""
    measures = {
        measure.name: {
            "label": measure.label,
            "unit": measure.unit,
            "note": measure.note,
            "offset": getattr(measure, "offset", ""),
        }
        for measure in MEASURES.values()
    }
    terms = {name: tip(term) for name, term in _EXPLAINED}
    return {"defaults": DEFAULTS, "measures": measures, "terms": terms}


def _choices(table: Any) -> list[dict[str, Any]]:
    """Return the candidates of every step and the chosen one, each [token, id, probability]; the
    tokens have the decoder's input. `table` is a `results.StepTable`."""
    rows = zip(table.tokens, table.ids, table.probabilities, table.chosen, strict=True)
    return [
        {
            "candidates": [list(row) for row in zip(tokens, ids, shares, strict=True)],
            "chosen": [chosen.token, chosen.id, chosen.probability],
        }
        for tokens, ids, shares, chosen in rows
    ]


def _tree(tree: Any) -> dict[str, Any] | None:
    """Return a beam search tree as columns with a value per node; `tree` is `results.BeamTree`."""
    if tree is None:
        return None
    columns = {name: [getattr(node, name) for node in tree.nodes] for name in TREE_FIELDS}
    return {**columns, "beam_size": tree.beam_size, "length_penalty": tree.length_penalty}
