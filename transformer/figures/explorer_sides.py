"""One trace as the explorer reads it: labels and thumbnails of all heads at once, the weights of a
layer and the vectors of a head on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Integer

from transformer import measures
from transformer.figures.glossary import tip
from transformer.figures.packing import COARSE, FINE, Part, quantize
from transformer.figures.state import DEFAULTS, State
from transformer.figures.state import KINDS as KIND_TITLES
from transformer.figures.steps import choices, tree_data
from transformer.figures.token_diff import align
from transformer.measures import KINDS, MEASURES
from transformer.measures.registry import SITES, VECTORS, AttentionTrace, layers_of
from transformer.measures.words import plain_words, special, strongest_links, word_labels, words

THUMBNAIL_CELLS = 64
"""Maximum height and width of a thumbnail, in cells."""

FINE_LIMIT = 4_000_000
"""Maximum number of weights of a kind that are sent with two bytes each."""

MAX_WEIGHTS_AT_ONCE = 1_500_000
"""Maximum number of weights that are sent at once; above it, one layer at a time."""


@runtime_checkable
class TraceLike(AttentionTrace, Protocol):
    """What the explorer reads from a trace; `inference.Trace` satisfies it."""

    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def translation(self) -> Any: ...
    def __getitem__(self, name: str) -> npt.NDArray[Any]: ...
    def __contains__(self, name: object) -> bool: ...


class ExplorerData:
    """The data that the explorer shows of a trace.

    `name` is shown when two traces are compared; `model` is written on exported files.
    """

    def __init__(self, traced: TraceLike, name: str = "", model: str = "") -> None:
        self.traced, self.name, self.model = traced, name, model
        self.depths = {kind: layers_of(traced.config, kind) for kind in KINDS}
        self._layers: dict[tuple[str, int], Part] = {}
        self._clearest: dict[str, tuple[int, int]] = {}
        self.kinds = [kind for kind in KINDS if self._has(kind)]
        if not self.kinds:
            raise ValueError("There is no attention to show: the trace has no weights.")

    def _has(self, kind: str) -> bool:
        names = [SITES[kind].format(layer) + "hook_weights" for layer in range(self.depths[kind])]
        return all(name in self.traced for name in names)

    def weights(self, kind: str) -> list[npt.NDArray[np.float32]]:
        """Return the weights of this kind layer by layer, each (heads, rows, columns)."""
        return [self.traced.weights(kind, layer) for layer in range(self.depths[kind])]

    @cached_property
    def size(self) -> int:
        """Number of weights of all kinds, layers and heads."""
        return sum(self.depths[kind] * self.traced.weights(kind, 0).size for kind in self.kinds)

    @cached_property
    def doc(self) -> dict[str, Any]:
        """Labels, measures and steps; `id` is a hash of the content."""
        traced, config = self.traced, self.traced.config
        doc = {
            "name": self.name,
            "model": self.model,
            "source": traced.translation.source,
            "text": traced.translation.text,
            "kinds": self.kinds,
            "depths": {kind: self.depths[kind] for kind in self.kinds},
            "n_heads": int(config["n_heads"]),
            "d_k": int(config["d_model"]) // int(config["n_heads"]),
            "score": config["score"],
            "src": labels_of(traced.src_tokens),
            "tgt": labels_of(traced.tgt_tokens),
            "predicted": labels_of(traced.predicted_tokens),
            "measures": {kind: self._measures(kind) for kind in self.kinds},
            "clearest": {kind: list(self.clearest(kind)) for kind in self.kinds},
            "steps": choices(traced.translation.table),
            "tree": tree_data(traced.translation.tree),
        }
        digest = hashlib.blake2b(json.dumps(doc).encode(), digest_size=8)
        for part in self.thumbs:
            digest.update(part.array.tobytes())
        return {**doc, "id": digest.hexdigest()}

    @cached_property
    def thumbs(self) -> list[Part]:
        """Thumbnails of all heads, one part per kind, (layers, heads, height, width)."""
        return [self._thumbs(kind) for kind in self.kinds]

    @cached_property
    def pins(self) -> list[Part]:
        """The values that colour every head when a word is pinned: `pin_parts` of every kind.

        A row of cross-attention belongs to the word that it writes.
        """
        traced = self.traced
        source, target = traced.src_tokens, traced.tgt_tokens
        texts = {
            "encoder": (source, source),
            "decoder": (target, target),
            "cross": (traced.predicted_tokens, source),
        }
        return [
            part
            for kind in self.kinds
            for part in pin_parts(kind, self.weights(kind), *texts[kind])
        ]

    def clearest(self, kind: str) -> tuple[int, int]:
        """Return layer and head with the sharpest pattern: the largest mean over columns of a
        column's greatest weight. It only chooses which head opens first."""
        if kind not in self._clearest:
            sharpness = np.stack(self.weights(kind)).max(axis=2).mean(axis=2)
            layer, head = np.unravel_index(int(sharpness.argmax()), sharpness.shape)
            self._clearest[kind] = int(layer), int(head)
        return self._clearest[kind]

    def resolved(self, state: State) -> State:
        """Return `state` with a kind that this trace has, and the clearest head if none is set."""
        kind = str(state["kind"]) if state["kind"] in self.kinds else self.kinds[-1]
        layer, head = int(state["layer"]), int(state["head"])
        if max(layer, head) < 0:
            layer, head = self.clearest(kind)
        layer, head = max(layer, 0), max(head, 0)
        return {**state, "kind": kind, "layer": layer, "head": head}

    def layer(self, kind: str, layer: int) -> Part:
        """Return all weights of one layer, (heads, rows, columns)."""
        if (kind, layer) not in self._layers:
            weights = self.traced.weights(kind, layer)
            fine = weights.size * self.depths[kind] <= FINE_LIMIT
            part = quantize(f"weights.{kind}.{layer}", weights, FINE if fine else COARSE)
            self._layers[kind, layer] = part
        return self._layers[kind, layer]

    def layers(self, numbers: Iterable[int]) -> list[Part]:
        """Return all layers of all kinds if they fit `MAX_WEIGHTS_AT_ONCE`, else these layers."""
        selected = None if self.size <= MAX_WEIGHTS_AT_ONCE else set(numbers)
        return [
            self.layer(kind, number)
            for kind in self.kinds
            for number in range(self.depths[kind])
            if selected is None or number in selected
        ]

    def everything(self, kind: str, layer: int) -> Iterator[Part]:
        """Yield all layers of all kinds, and the vectors of one layer's heads if recorded.

        (The vectors of all layers would be many times larger.)
        """
        for each_kind in self.kinds:
            for number in range(self.depths[each_kind]):
                yield self.layer(each_kind, number)
        for head in range(int(self.traced.config["n_heads"])):
            yield from query_key_vectors(self.traced, kind, layer, head)

    def _thumbs(self, kind: str) -> Part:
        pooled = np.stack([pool(layer, THUMBNAIL_CELLS) for layer in self.weights(kind)])
        return quantize(f"thumbs.{kind}", pooled, COARSE)

    def _measures(self, kind: str) -> dict[str, list[list[float]]]:
        """Return every measure as [layer][head], with the offsets of those that have one."""
        layers = [
            measures.measure_heads(self.traced, kind, layer) for layer in range(self.depths[kind])
        ]
        return {
            name: [np.round(values[name], 4).tolist() for values in layers] for name in layers[0]
        }


def query_key_vectors(traced: TraceLike, kind: str, layer: int, head: int) -> list[Part]:
    """Return queries, keys, values, scores and output of one head; [] if not recorded."""
    site = SITES[kind].format(layer) + "hook_"
    if not all(site + name in traced for name in VECTORS):
        return []
    return [
        Part(
            f"{name}.{kind}.{layer}.{head}",
            np.ascontiguousarray(traced[site + name][head], "<f4"),
        )
        for name in VECTORS
    ]


def pool(
    weights: Float[np.ndarray, "heads rows columns"], limit: int
) -> Float[np.ndarray, "heads height width"]:
    """Max-pool to at most `limit` cells a side; a maximum keeps single strong weights visible."""
    for axis in (1, 2):
        count = weights.shape[axis]
        if count > limit:
            starts: Integer[np.ndarray, " limit"] = np.arange(limit) * count // limit
            weights = np.maximum.reduceat(weights, starts, axis=axis)
    return weights


def labels_of(tokens: Sequence[str]) -> dict[str, Any]:
    """Return tokens as the browser reads them: the pieces, the words they form, which tokens are
    special, and the words without punctuation, which readers pin."""
    plain, plain_labels = plain_words(tokens)
    return {
        "tokens": list(tokens),
        "words": words(tokens),
        "word_labels": word_labels(tokens),
        "plain": plain,
        "plain_labels": plain_labels,
        "special": special(tokens),
    }


def prefixed(parts: Sequence[Part], number: int) -> list[Part]:
    """Return the parts with the number of their side as a prefix, so that names are unique."""
    return [Part(f"{number}.{part.name}", part.array, part.top) for part in parts]


_EXPLAINED = {**KIND_TITLES, "head": "Head", "layer": "Layer"}
"""Tooltips of the explorer: the key that scripts use, and the term in the glossary."""
_aligned = lru_cache(maxsize=64)(align)


def header(
    sides: Sequence[ExplorerData], start: State, names: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the explorer's header; `start` is the initial state, and `names` replace the sides'
    own names."""
    pairs = None
    if len(sides) == 2:
        first, second = (side.traced for side in sides)
        pairs = {
            name: _aligned(getattr(first, name), getattr(second, name))
            for name in ("src_tokens", "tgt_tokens")
        }
    docs = [side.doc for side in sides]
    docs = [{**doc, "name": name} for doc, name in zip(docs, names, strict=True)] if names else docs
    start = sides[0].resolved(start)
    computed = {name for doc in docs for kind in doc["kinds"] for name in doc["measures"][kind]}
    fixed = fixed_header()
    measures_computed = {
        name: entry for name, entry in fixed["measures"].items() if name in computed
    }
    return {"sides": docs, "pairs": pairs, "start": start, **fixed, "measures": measures_computed}


def fixed_header() -> dict[str, Any]:
    """Return the part of the header that is the same for every sentence: the default state, all
    measures, and the tooltips."""
    measures_known = {
        measure.name: {
            "label": measure.label,
            "unit": measure.unit,
            "note": measure.note,
            "offset": getattr(measure, "offset", ""),
        }
        for measure in MEASURES.values()
    }
    terms = {name: tip(term) for name, term in _EXPLAINED.items()}
    return {"defaults": DEFAULTS, "measures": measures_known, "terms": terms}


def pin_parts(
    kind: str,
    layers: Sequence[Float[np.ndarray, "heads rows columns"]],
    rows: Sequence[str],
    columns: Sequence[str],
) -> list[Part]:
    """Return `strongest_links` of all layers of a kind, (layers, heads, words) each:
    `pins.KIND.to` and `pins.KIND.from`, and with the suffix `.words` the words at the other end."""
    links_by_layer = [
        strongest_links(layer, rows, columns, same=kind != "cross") for layer in layers
    ]
    parts = []
    for index, name in enumerate(("to", "from")):
        directed = [pair[index] for pair in links_by_layer]
        other_words = np.stack([layer.partners for layer in directed]).astype("<u2")
        parts.append(
            quantize(f"pins.{kind}.{name}", np.stack([layer.weights for layer in directed]), FINE)
        )
        parts.append(Part(f"pins.{kind}.{name}.words", other_words))
    return parts
