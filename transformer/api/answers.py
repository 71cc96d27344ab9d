"""The answers of a loaded model to the client's requests: what `client/engine/worker.js` answers.

Each function takes a visitor, a model and a request, and returns JSON types or packed bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np

from transformer.api.models import Model
from transformer.api.requests import (
    MAX_CHARACTERS,
    ExploreRequest,
    GlanceRequest,
    ModelRequest,
    PartRequest,
    SentenceRequest,
    TraceRequest,
)
from transformer.api.sized_cache import SizedCache
from transformer.api.traces import CachedTrace, cached_trace, changed_heads, cpu_slots
from transformer.cancellation import check_cancelled
from transformer.figures import explorer_data
from transformer.figures.glance import glance_data
from transformer.figures.packed_trace import aligner_fields, describe, prefixed, query_key_vectors
from transformer.figures.packing import Part, pack, unpack
from transformer.figures.switchboard import switchboard_data
from transformer.hooks import select
from transformer.inference import Trace
from transformer.inference.alternatives import Alternative, word_alternatives
from transformer.measures import KINDS
from transformer.measures.kinds import AttentionKind, checked_kind
from transformer.measures.registry import SITES, VECTORS, layers_of
from transformer.text.visible import is_blank

MAX_TRACE_NUMBERS = {"npz": 8_000_000, "json": 1_000_000}
"""Maximum numbers of a trace in an answer, by its format."""
Alternatives = tuple[tuple[Alternative, ...], ...]
_alternatives: SizedCache[Alternatives] = SizedCache(4_000_000)


def load(visitor: str, model: Model, request: ModelRequest) -> bool:
    """Answer when the model is loaded."""
    return True


def glance(visitor: str, model: Model, request: GlanceRequest) -> bytes:
    """Return the translation for the bands, as `figures.glance` packs it."""
    trace = _trace(visitor, model, request).trace
    alternatives: Alternatives = ()
    if request.with_alternatives:
        alternatives = _word_alternatives(visitor, model, request, trace)
    original = _trace(visitor, model, replace(request, off="")).trace if request.off else None
    header = {"unknown": unknown_words(model, request.text)}
    return glance_data(header, trace, alternatives, model.aligner, original)


def explore(visitor: str, model: Model, request: ExploreRequest) -> bytes:
    """Return one or two traces for the explorer, as `figures.explorer_data` packs them.

    If a token cannot be forced, `refused` in the header says why, and `second_kind` is "refused".
    """
    sides, second_kind, refused = _sides(visitor, model, request)
    traces = [_trace(visitor, model, side) for side in sides]
    later = [
        part
        for number, traced in enumerate(traces)
        for part in prefixed(_empty_vectors(traced.trace), number)
    ]
    names: Sequence[str] = ("A", "B")[: len(sides)] if len(sides) > 1 else ()
    if sides[-1].off:
        names = ("as trained", "heads changed")
    data = explorer_data(
        [traced.packed for traced in traces],
        dict(request.start),
        visit=request.visit,
        second_kind=second_kind,
        later=later,
        names=names,
        aligner=model.aligner,
        has_notices=True,
    )
    return _with_fields(data, refused=refused) if refused else data


def part(visitor: str, model: Model, request: PartRequest) -> bytes:
    """Return one of the vectors that `explore` lists as `later`."""
    side, vector, kind, layer, head = request.name.split(".")
    sides, _, _ = _sides(visitor, model, request)
    config = model.translator.model.config
    if not (int(side) < len(sides) and int(layer) < config.n_layers and int(head) < config.n_heads):
        raise ValueError(f"there is no part {request.name}")
    prefix = SITES[checked_kind(kind)].format(int(layer)) + "hook_"
    trace = _trace(visitor, model, sides[int(side)], [prefix + name for name in VECTORS]).trace
    parts = query_key_vectors(trace, checked_kind(kind), int(layer), int(head))
    return pack({}, [replace(parts[VECTORS.index(vector)], name=request.name[2:])])


def heads(visitor: str, model: Model, request: SentenceRequest) -> bytes:
    """Return the switchboard, with the translation before and after the change in its header."""
    original = _trace(visitor, model, replace(request, off=""))
    altered = _trace(visitor, model, request)
    data = switchboard_data(original.packed, request.off)
    return _with_fields(data, original=_summary(original.trace), altered=_summary(altered.trace))


def case(visitor: str, model: Model, request: SentenceRequest) -> bytes:
    """Return what the question of a lesson is made of in the client: the trace, not quantized, with
    the scores of cross-attention."""
    scores = [
        SITES["cross"].format(layer) + "hook_scores"
        for layer in range(model.translator.model.config.n_layers)
    ]
    weights = [n for n in model.translator.model.hook_names if n.endswith("hook_weights")]
    trace = _trace(visitor, model, request, [*weights, *scores]).trace
    return case_data(trace, scores, {"aligner": aligner_fields(model.aligner)})


def case_data(trace: Trace, sites: Sequence[str], header: Mapping[str, Any]) -> bytes:
    """Pack a trace as `unpackCase` of `client/trace/questions/case.js` reads it.

    Args:
        sites: names of the tensors that the question needs besides the weights.
    """
    weights = [
        (f"weights.{kind}.{layer}", trace.weights(kind, layer))
        for kind in KINDS
        for layer in range(trace.n_layers)
    ]
    tensors = [*weights, *((name, trace[name]) for name in sites)]
    parts = [Part(name, np.ascontiguousarray(tensor, "<f4")) for name, tensor in tensors]
    return pack({**header, "trace": describe(trace, KINDS)}, parts)


def translate(visitor: str, model: Model, request: SentenceRequest) -> dict[str, Any]:
    """Return the translation with its steps."""
    return _trace(visitor, model, request).trace.translation.to_dict()


def trace(visitor: str, model: Model, request: TraceRequest) -> bytes:
    """Return a trace file, as `Trace.save_npz` or `Trace.to_json` writes it.

    Raises:
        ValueError: for a name that matches no hook point, or if the file would be too large.
    """
    names = select(request.names, model.translator.model.hook_names)
    traced = _trace(visitor, model, request, names).trace
    count = sum(traced[name].size for name in traced.names)
    limit = MAX_TRACE_NUMBERS[request.format]
    if count > limit:
        raise ValueError(
            f"this trace has {count:,} numbers, and an answer as {request.format} has at most "
            f"{limit:,}; name fewer hook points or use a shorter text"
        )
    if request.format == "json":
        return traced.to_json().encode("utf-8", errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.npz"
        traced.save_npz(path)
        return path.read_bytes()


def check_text(model: Model, text: str) -> None:
    """Raise ValueError with a sentence if this text cannot be translated."""
    if is_blank(text):
        raise ValueError("Type a few words to translate.")
    if model.description.languages and not any(category(sign)[0] in "LNP" for sign in text):
        raise ValueError("The text contains only symbols; type a word.")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"The text has {len(text):,} characters; type at most {MAX_CHARACTERS:,}.")
    model.translator.check(text)


def unknown_words(model: Model, text: str) -> list[str]:
    """Return up to five words with characters that are not in the vocabulary."""
    vocabulary = model.translator.vocabulary
    words = dict.fromkeys(text.split())
    return [word for word in words if vocabulary.unk_id in vocabulary.encode(word)][:5]


def _trace(
    visitor: str, model: Model, request: SentenceRequest, names: Sequence[str] = ()
) -> CachedTrace:
    check_text(model, request.text)
    return cached_trace(visitor, model, request.text, _options(request), names)


def _options(request: SentenceRequest) -> dict[str, Any]:
    """Return the options of `cached_trace`."""
    options: dict[str, Any] = {"method": "greedy"}
    if request.beam > 1:
        options = {"method": "beam", "beam_size": request.beam}
    if request.prefix:
        options["prefix"] = request.prefix
    if request.off:
        options |= {"off": request.off, "ablation": request.ablation}
    return options


def _sides(
    visitor: str, model: Model, request: ExploreRequest
) -> tuple[list[ExploreRequest], str, str]:
    """Return the sentence and what it is compared with, each as a request without comparison; what
    the second is, as in `explorer_data`; and why a token cannot be forced."""
    first = replace(request, other="", force="", off="")
    if not request.force:
        if not (request.other or request.off):
            return [first], "", ""
        second = first if request.other else replace(first, off=request.off)
        return [first, replace(second, text=request.other or request.text)], "other", ""
    step, piece = map(int, request.force.split(":"))
    ids = _trace(visitor, model, first).trace.translation.ids
    forced = replace(first, prefix=(*ids[:step], piece))
    try:
        if step >= len(ids):
            raise ValueError(f"there is no step {step}; the last one is {len(ids) - 1}")
        _trace(visitor, model, forced)
    except ValueError as error:
        return [first], "refused", f"That token cannot be forced: {error}"
    return [first, forced], "force", ""


def _word_alternatives(
    visitor: str, model: Model, request: SentenceRequest, trace: Trace
) -> Alternatives:
    key = (model.hash, request.text, *sorted(_options(request).items()))
    if (known := _alternatives.get(key)) is not None:
        return known
    search = _options(replace(request, off=""))
    hooks = changed_heads(visitor, model, request.text, search, request.off, request.ablation)

    def make() -> Alternatives:
        with cpu_slots.slot(visitor):
            check_cancelled()
            return word_alternatives(model.translator, trace.translation, hooks=hooks)

    return _alternatives.get_or_make(key, make)


def _empty_vectors(trace: Trace) -> list[Part]:
    """Return the vectors of all heads, without their numbers: only names and shapes."""
    n_heads, d_k = trace.n_heads, int(trace.config["d_model"]) // trace.n_heads
    source, target = len(trace.src_tokens), len(trace.tgt_tokens)
    lengths: dict[AttentionKind, tuple[int, int]] = {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source),
    }
    parts = []
    for kind, (rows, keys) in lengths.items():
        shapes = {"key": (keys, d_k), "value": (keys, d_k), "scores": (rows, keys)}
        arrays = {
            name: np.broadcast_to(np.float32(0), shapes.get(name, (rows, d_k))) for name in VECTORS
        }
        parts += [
            Part(f"{name}.{kind}.{layer}.{head}", array)
            for layer in range(layers_of(trace.config, kind))
            for head in range(n_heads)
            for name, array in arrays.items()
        ]
    return parts


def _summary(trace: Trace) -> dict[str, Any]:
    translation = trace.translation
    return {name: getattr(translation, name) for name in ("text", "score", "finished")}


def _with_fields(data: bytes, **fields: Any) -> bytes:
    """Return packed bytes with further fields in the header."""
    header, parts = unpack(data)
    return pack({**header, **fields}, [*parts.values()])
