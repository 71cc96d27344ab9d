"""One sentence's attention as the explorer takes it: labels and small pictures of all heads at
once, the weights of a layer and the vectors of a head when they are asked for."""

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
from transformer.figures.state import KINDS as CALLED
from transformer.figures.steps import choices, tree_data
from transformer.figures.token_diff import align
from transformer.measures import KINDS, MEASURES
from transformer.measures.registry import SITES, VECTORS, AttentionTrace, layers_of
from transformer.measures.words import plain_words, special, strongest_links, word_labels, words

THUMB = 64
"""Cells a side of a small picture, at most."""

FINE_LIMIT = 4_000_000
"""Most weights of a kind that are sent with two bytes each."""

WHOLE = 1_500_000
"""Most weights of all kinds that are sent at once; of longer sentences a layer at a time."""


@runtime_checkable
class Traced(AttentionTrace, Protocol):
    """What is read of a trace; `inference.Trace` is one."""

    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def translation(self) -> Any: ...
    def __getitem__(self, name: str) -> npt.NDArray[Any]: ...
    def __contains__(self, name: object) -> bool: ...


class ExplorerData:
    """A trace on its way to the browser.

    `name` is shown where two are side by side; `model` is said on what is taken away.
    """

    def __init__(self, traced: Traced, name: str = "", model: str = "") -> None:
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
        """Of every layer that has attention of this kind, the first one first: (heads, rows,
        columns)."""
        return [self.traced.weights(kind, layer) for layer in range(self.depths[kind])]

    @cached_property
    def size(self) -> int:
        """Weights of all kinds, layers and heads."""
        return sum(self.depths[kind] * self.traced.weights(kind, 0).size for kind in self.kinds)

    @cached_property
    def doc(self) -> dict[str, Any]:
        """Labels, measures and steps; `id` is another for every other content."""
        traced, config = self.traced, self.traced.config
        found = {
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
        digest = hashlib.blake2b(json.dumps(found).encode(), digest_size=8)
        for part in self.thumbs:
            digest.update(part.array.tobytes())
        return {**found, "id": digest.hexdigest()}

    @cached_property
    def thumbs(self) -> list[Part]:
        """For each kind all heads as small pictures, (layers, heads, height, width)."""
        return [self._thumbs(kind) for kind in self.kinds]

    @cached_property
    def pins(self) -> list[Part]:
        """What every head is coloured by when a word is pinned: `pins.pin_parts` of every kind.
        The words of a row of the cross-attention are those that it writes."""
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
        """Layer and head that look most decidedly at every token in turn: where the greatest weight
        of a column, averaged over the columns, is greatest. For a first look, nothing more."""
        if kind not in self._clearest:
            marks = np.stack(self.weights(kind)).max(axis=2).mean(axis=2)
            layer, head = np.unravel_index(int(marks.argmax()), marks.shape)
            self._clearest[kind] = int(layer), int(head)
        return self._clearest[kind]

    def resolved(self, state: State) -> State:
        """`state` with a kind that is here, and the clearest head where none is chosen."""
        kind = str(state["kind"]) if state["kind"] in self.kinds else self.kinds[-1]
        layer, head = int(state["layer"]), int(state["head"])
        if max(layer, head) < 0:
            layer, head = self.clearest(kind)
        layer, head = max(layer, 0), max(head, 0)
        return {**state, "kind": kind, "layer": layer, "head": head}

    def layer(self, kind: str, layer: int) -> Part:
        """All weights of one layer, (heads, rows, columns)."""
        if (kind, layer) not in self._layers:
            weights = self.traced.weights(kind, layer)
            fine = weights.size * self.depths[kind] <= FINE_LIMIT
            part = quantize(f"weights.{kind}.{layer}", weights, FINE if fine else COARSE)
            self._layers[kind, layer] = part
        return self._layers[kind, layer]

    def layers(self, wanted: Iterable[int]) -> list[Part]:
        """All layers of all kinds if they are few weights, else those wanted."""
        asked = None if self.size <= WHOLE else set(wanted)
        return [
            self.layer(kind, number)
            for kind in self.kinds
            for number in range(self.depths[kind])
            if asked is None or number in asked
        ]

    def everything(self, kind: str, layer: int) -> Iterator[Part]:
        """All layers of all kinds, and the vectors of the heads of this one if they are recorded.
        (Those of all heads would be many times more.)"""
        for one in self.kinds:
            for number in range(self.depths[one]):
                yield self.layer(one, number)
        for head in range(int(self.traced.config["n_heads"])):
            yield from vectors_of(self.traced, kind, layer, head)

    def _thumbs(self, kind: str) -> Part:
        pooled = np.stack([pool(layer, THUMB) for layer in self.weights(kind)])
        return quantize(f"thumbs.{kind}", pooled, COARSE)

    def _measures(self, kind: str) -> dict[str, list[list[float]]]:
        """Each measure of each head, and the offsets of those that have one, [layer][head]."""
        layers = [
            measures.measure_heads(self.traced, kind, layer) for layer in range(self.depths[kind])
        ]
        return {name: [np.round(one[name], 4).tolist() for one in layers] for name in layers[0]}


def vectors_of(traced: Traced, kind: str, layer: int, head: int) -> list[Part]:
    """Queries, keys, values, scores and the output of one head; nothing if not recorded."""
    site = SITES[kind].format(layer) + "hook_"
    if not all(site + what in traced for what in VECTORS):
        return []
    return [
        Part(
            f"{what}.{kind}.{layer}.{head}",
            np.ascontiguousarray(traced[site + what][head], "<f4"),
        )
        for what in VECTORS
    ]


def pool(
    weights: Float[np.ndarray, "heads rows columns"], limit: int
) -> Float[np.ndarray, "heads height width"]:
    """At most `limit` cells a side; of those that share a cell the greatest, so that a lone strong
    weight is never lost."""
    for axis in (1, 2):
        count = weights.shape[axis]
        if count > limit:
            starts: Integer[np.ndarray, " limit"] = np.arange(limit) * count // limit
            weights = np.maximum.reduceat(weights, starts, axis=axis)
    return weights


def labels_of(tokens: Sequence[str]) -> dict[str, Any]:
    """Tokens as the browser takes them: pieces, the words they make, which are no text; and those
    words without the signs around them, to be pinned."""
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
    """The parts of side `number`: what travels together needs names apart."""
    return [Part(f"{number}.{part.name}", part.array, part.top) for part in parts]


_EXPLAINED = {**CALLED, "head": "Head", "layer": "Layer"}
"""What has a tooltip in the explorer, and its name in the glossary."""
_aligned = lru_cache(maxsize=64)(align)


def header(
    sides: Sequence[ExplorerData], start: State, names: Sequence[str] = ()
) -> dict[str, Any]:
    """The explorer's header; `start` is the state it opens with, `names` are those of the sides
    where their own are not meant."""
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
    shown = {name for doc in docs for kind in doc["kinds"] for name in doc["measures"][kind]}
    fixed = fixed_header()
    about = {name: one for name, one in fixed["measures"].items() if name in shown}
    return {"sides": docs, "pairs": pairs, "start": start, **fixed, "measures": about}


def fixed_header() -> dict[str, Any]:
    """What the header says of every sentence: the default state, the measures that there are, and
    the terms with their tooltips."""
    measures_known = {
        one.name: {
            "label": one.label,
            "unit": one.unit,
            "note": one.note,
            "offset": getattr(one, "offset", ""),
        }
        for one in MEASURES.values()
    }
    terms = {name: tip(called) for name, called in _EXPLAINED.items()}
    return {"defaults": DEFAULTS, "measures": measures_known, "terms": terms}


def pin_parts(
    kind: str,
    layers: Sequence[Float[np.ndarray, "heads rows columns"]],
    rows: Sequence[str],
    columns: Sequence[str],
) -> list[Part]:
    """`looks` of all layers of a kind, (layers, heads, words) each: `pins.KIND.to` and `.from`, and
    with `.who` after it the words at the other end."""
    each = [strongest_links(one, rows, columns, same=kind != "cross") for one in layers]
    parts = []
    for which, name in enumerate(("to", "from")):
        mine = [pair[which] for pair in each]
        others = np.stack([one.partners for one in mine]).astype("<u2")
        parts.append(quantize(f"pins.{kind}.{name}", np.stack([one.weights for one in mine]), FINE))
        parts.append(Part(f"pins.{kind}.{name}.who", others))
    return parts
