"""The answers of a loaded model to the client's requests: what `client/engine/worker.js` answers.

Each function takes a visitor, a model and a request, and returns JSON types or packed bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast
from unicodedata import category

import numpy as np

from transformer.analysis.attribution.norms import contributions
from transformer.analysis.importance.sentence import sentence_importances
from transformer.analysis.interventions.blanking import blank_cells
from transformer.analysis.interventions.comparison import compare
from transformer.analysis.interventions.switching import check_heads
from transformer.api import changes
from transformer.api.models import Model, open_model
from transformer.api.requests import (
    MAX_CHARACTERS,
    CellsRequest,
    ExploreRequest,
    FileRequest,
    GlanceRequest,
    ImportanceRequest,
    ModelRequest,
    PartRequest,
    SentenceRequest,
    TraceRequest,
)
from transformer.api.sized_cache import SizedCache
from transformer.api.traces import CachedTrace, cpu_slots, full_trace
from transformer.api.training_facts import training_facts
from transformer.cancellation import check_cancelled
from transformer.figures import PackedTrace, explorer_data, explorer_page
from transformer.figures.glance import glance_data
from transformer.figures.packed_trace import aligner_fields, describe, prefixed, query_key_vectors
from transformer.figures.packing import Part, pack, unpack
from transformer.figures.state import state_of
from transformer.hooks import Hooks, select
from transformer.inference import Trace, Translation
from transformer.inference.alternatives import Alternative, word_alternatives
from transformer.measures import KINDS
from transformer.measures.head_codes import write_heads
from transformer.measures.kinds import AttentionKind, checked_kind
from transformer.measures.registry import SITES, VECTORS, layers_of
from transformer.text.languages import language_name
from transformer.text.visible import is_blank

MAX_TRACE_NUMBERS = {"npz": 8_000_000, "json": 1_000_000}
"""Maximum numbers of a trace in an answer, by its format."""
Alternatives = tuple[tuple[Alternative, ...], ...]
Value = TypeVar("Value")
_results: SizedCache[Any] = SizedCache(8_000_000)


def load(visitor: str, model: Model, request: ModelRequest) -> dict[str, Any]:
    """Return what is known of the model once it is loaded: target languages that a text can ask
    for, and what the model saw in training."""
    codes = model.translator.vocabulary.target_languages
    facts = training_facts(model)
    return {
        "languages": [[code, language_name(code)] for code in codes],
        "facts": [] if facts is None else facts.sentences(),
        "symbols": None if facts is None else list(facts.symbols),
    }


def glance(visitor: str, model: Model, request: GlanceRequest) -> bytes:
    """Return the translation for the bands, as `figures.glance` packs it."""
    trace = _trace(visitor, model, request).trace
    alternatives: Alternatives = ()
    if request.with_alternatives:
        alternatives = _word_alternatives(visitor, model, request, trace)
    original = _trace(visitor, model, request.unchanged()).trace if request.changes else None
    header = {"unknown": unknown_words(model, request.text)}
    return glance_data(header, trace, alternatives, model.aligner, original)


def explore(visitor: str, model: Model, request: ExploreRequest) -> bytes:
    """Return one or two traces for the explorer, as `figures.explorer_data` packs them.

    If a token cannot be forced, `refused` in the header says why, and `second_kind` is "refused".
    """
    sides, second_kind, refused = _sides(visitor, model, request)
    traces = [_trace(visitor, _model_of(visitor, model, side), side) for side in sides]
    later = [
        part
        for number, traced in enumerate(traces)
        for part in prefixed(_empty_vectors(traced.trace), number)
    ]
    data = explorer_data(
        [traced.packed for traced in traces],
        dict(request.start),
        visit=request.visit,
        second_kind=second_kind,
        later=later,
        names=_side_names(model, sides),
        aligner=model.aligner,
        has_notices=True,
    )
    return _with_fields(data, refused=refused) if refused else data


def part(visitor: str, model: Model, request: PartRequest) -> bytes:
    """Return one of the vectors that `explore` lists as `later`."""
    side, vector, kind, layer, head = request.name.split(".")
    sides, _, _ = _sides(visitor, model, request)
    if int(side) < len(sides):
        model = _model_of(visitor, model, sides[int(side)])
    config = model.translator.model.config
    if not (int(side) < len(sides) and int(layer) < config.n_layers and int(head) < config.n_heads):
        raise ValueError(f"there is no part {request.name}")
    prefix = SITES[checked_kind(kind)].format(int(layer)) + "hook_"
    trace = _trace(visitor, model, sides[int(side)], [prefix + name for name in VECTORS]).trace
    parts = query_key_vectors(trace, checked_kind(kind), int(layer), int(head))
    return pack({}, [replace(parts[VECTORS.index(vector)], name=request.name[2:])])


def change(visitor: str, model: Model, request: SentenceRequest) -> bytes:
    """Return the sentence as it is and, if something is changed, its tokens by the changed model;
    what that model writes itself (`altered`); and why some changes do not fit (`problems`)."""
    original = _trace(visitor, model, request.unchanged())
    donor = original
    if request.other:
        donor = _trace(visitor, model, request.unchanged(text=request.other))
    hooks, problems = changes.change_hooks(visitor, model, request)
    sides, altered = [original.packed], None
    if hooks is not None:
        forced, altered = _changed(visitor, model, request, original.trace, hooks)
        sides.append(forced)
    header = {
        "sides": [side.description for side in sides],
        "altered": altered
        and {"text": altered.text, "ids": altered.ids, "finished": altered.finished},
        "problems": problems,
        "sites": model.translator.model.hook_names,
        "donor": {"src": donor.trace.src_tokens, "tgt": donor.trace.tgt_tokens},
    }
    parts = [part for number, side in enumerate(sides) for part in prefixed(side.parts, number)]
    return pack(header, parts)


def _changed(
    visitor: str, model: Model, request: SentenceRequest, original: Trace, hooks: Hooks
) -> tuple[PackedTrace, Translation]:
    """Return the tokens of a translation as the changed model reads them, and its own translation.

    The latter needs no decoding where the former shows that it chooses the same tokens.
    """
    search = changes.options(request)
    is_empty = original.predicted_ids == (model.translator.model.config.eos_id,)

    def make() -> tuple[PackedTrace, Translation]:
        text, translator = request.text, model.translator
        if request.method != "forced" and not is_empty:
            comparison = compare(translator, text, hooks, original=original, **search)
            return PackedTrace(comparison.forced, model=model.name), comparison.translation
        forced = translator.trace(text, original.predicted_ids, hooks=hooks, names=original.names)
        own = translator.translate(text, hooks=hooks, **search)
        return PackedTrace(forced, model=model.name), own

    key = ("change", model.hash, request.text, *sorted(search.items()), request.changes)
    return cached(visitor, key, make)


def file(visitor: str, model: Model, request: FileRequest) -> bytes:
    """Return a file of the explorer's traces, with every tensor of the first one."""
    sides, _, _ = _sides(visitor, model, request)
    first = _trace(visitor, model, sides[0]).trace
    full = full_trace(visitor, model, first)
    if request.format == "npz":
        return _npz(full)
    names = _side_names(model, sides) or ("",)
    packed = [PackedTrace(full, names[0], model.name)]
    for name, side in zip(names[1:], sides[1:], strict=True):
        packed.append(
            PackedTrace(_trace(visitor, _model_of(visitor, model, side), side).trace, name)
        )
    state = state_of(dict(request.start))
    return explorer_page(packed, state, first.source, model.aligner, has_notices=True).encode()


def importance(visitor: str, model: Model, request: ImportanceRequest) -> list[tuple[str, float]]:
    """Return how much less probable the translation, or the token of one step, is without each
    head, in nats, by the head's code."""
    traced = _trace(visitor, model, request.unchanged()).trace
    step = None if request.step < 0 else request.step

    def make() -> list[tuple[str, float]]:
        losses = sentence_importances(model.translator, traced, step)
        return [(write_heads([head]), loss) for head, loss in losses.items()]

    key = ("importance", model.hash, traced.src_ids, traced.predicted_ids, step)
    return cached(visitor, key, make)


def cells(visitor: str, model: Model, request: CellsRequest) -> dict[str, Any]:
    """Return of one head the norm of what every cell adds, row by row, and for the cells of a row
    what blanking each changes: the log-probability of every token of the output."""
    kind, layer, number = checked_kind(request.head[0]), *request.head[1:]
    [head] = check_heads(model.translator.model.config, [(kind, layer, number)])
    prefix = SITES[kind].format(layer) + "hook_"
    names = [prefix + name for name in ("weights", "value", "heads")]
    traced = _trace(visitor, model, request.unchanged(), names).trace
    norms = contributions(model.translator.model, traced, kind, layer)[number]
    effects: list[list[float]] = []
    if request.row >= 0:
        key = ("cells", model.hash, traced.src_ids, traced.predicted_ids, head, request.row)
        effects = cached(
            visitor,
            key,
            lambda: blank_cells(model.translator, traced, head, [request.row]).effects.tolist(),
        )
    return {"norms": norms.ravel().tolist(), "effects": effects}


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
    return _npz(traced)


def _npz(traced: Trace) -> bytes:
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
    return changes.trace(visitor, model, request, names)


def _sides(
    visitor: str, model: Model, request: ExploreRequest
) -> tuple[list[ExploreRequest], str, str]:
    """Return the sentence and what it is compared with, each as a request without comparison; what
    the second is, as in `explorer_data`; and why a token cannot be forced."""
    first = replace(request.unchanged(), force="", other_model="")
    without_target = "greedy" if request.method == "forced" else request.method
    if not request.force:
        text = "" if request.patch else request.other  # else it is the one of the patch
        if text or request.other_model:
            second = replace(
                first,
                model=request.other_model or request.model,
                text=text or request.text,
                # A forced translation belongs to the first sentence.
                method=without_target if text else request.method,
            )
            return [first, second], "other", ""
        second = replace(request, force="")
        return ([first, second], "other", "") if request.changes else ([first], "", "")
    step, piece = map(int, request.force.split(":"))
    ids = _trace(visitor, model, first).trace.translation.ids
    forced = replace(first, prefix=(*ids[:step], piece), method=without_target)
    try:
        if step >= len(ids):
            raise ValueError(f"there is no step {step}; the last one is {len(ids) - 1}")
        _trace(visitor, model, forced)
    except ValueError as error:
        return [first], "refused", f"That token cannot be forced: {error}"
    return [first, forced], "force", ""


def _model_of(visitor: str, model: Model, side: ExploreRequest) -> Model:
    """Return the model of a side of the explorer: `model`, or the one with which it is compared."""
    is_other = side.model not in ("", model.name)
    return open_model(side.model, visitor) if is_other else model


def _side_names(model: Model, sides: Sequence[ExploreRequest]) -> tuple[str, ...]:
    """Return the names of two sides; none for one."""
    if len(sides) == 1:
        return ()
    if sides[1].changes:
        return "as trained", "changed"
    is_other = sides[1].model not in ("", model.name)
    return (model.name, sides[1].model) if is_other else ("A", "B")


def _word_alternatives(
    visitor: str, model: Model, request: SentenceRequest, trace: Trace
) -> Alternatives:
    hooks, _ = changes.change_hooks(visitor, model, request)
    search = changes.options(request)
    key = ("alternatives", model.hash, request.text, *sorted(search.items()), request.changes)
    translation = trace.translation
    return cached(
        visitor, key, lambda: word_alternatives(model.translator, translation, hooks=hooks)
    )


def cached(visitor: str, key: Hashable, make: Callable[[], Value]) -> Value:
    """Return the cached result, or compute it once for all that wait for it, in a slot."""

    def make_in_slot() -> Value:
        with cpu_slots.slot(visitor):
            check_cancelled()
            return make()

    return cast(Value, _results.get_or_make(key, make_in_slot))


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


def _with_fields(data: bytes, **fields: Any) -> bytes:
    """Return packed bytes with further fields in the header."""
    header, parts = unpack(data)
    return pack({**header, **fields}, [*parts.values()])
