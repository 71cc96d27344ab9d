"""Notable heads of the current sentence, described in a few lines above the view."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.analysis.roles.sentence_heads import MIN_SHARE, SalientHead, salient_heads
from transformer.figures.explorer import Notice
from transformer.figures.state import State
from transformer.ui.services.trace_cache import CachedTrace

Parts = tuple[tuple[str, bool], ...]
"""Parts of a text, each with whether it is a word of the sentence."""
_cache: WeakKeyDictionary[CachedTrace, dict[object, list[SalientHead]]] = WeakKeyDictionary()
_TOKEN_NAMES = {"</s>": "the end-of-sentence token", "<s>": "the start token"}


def initial_explorer_state(
    cached_trace: CachedTrace, requested: State, measured: AlignerHead | None = None
) -> State:
    """Return the explorer's state for `requested`. If it names no head, choose the aligner for
    cross-attention and the clearest head for the other kinds.

    Args:
        measured: the model's aligner head by gold links, if it has one.
    """
    resolved = cached_trace.explorer_data.resolved(requested)
    if resolved["kind"] != "cross" or max(int(requested["layer"]), int(requested["head"])) >= 0:
        return resolved
    candidates = _notable_heads(cached_trace, measured)
    aligner = next((notable for notable in candidates if notable.pattern == "aligner"), None)
    if aligner is None:
        return resolved
    return {
        **resolved,
        "layer": aligner.layer,
        "head": aligner.head,
        "word_row": aligner.target_row,
    }


def head_notices(cached_trace: CachedTrace, measured: AlignerHead | None = None) -> list[Notice]:
    """Return one line for each type of notable head; `measured` as in `initial_explorer_state`."""
    return [_notice(notable, cached_trace) for notable in _notable_heads(cached_trace, measured)]


def _notable_heads(cached_trace: CachedTrace, measured: AlignerHead | None) -> list[SalientHead]:
    """Compute the notable heads once for each cached trace."""
    key = measured and (measured.layer, measured.head, measured.weights_to)
    by_aligner = _cache.setdefault(cached_trace, {})
    if key not in by_aligner:
        by_aligner[key] = list(salient_heads(cached_trace.trace, measured))
    return by_aligner[key]


def _notice(notable: SalientHead, cached_trace: CachedTrace) -> Notice:
    tokens = [f"q{row}" for row in notable.rows]
    if notable.pattern == "sink":
        last = 0 if notable.kind == "decoder" else len(cached_trace.trace.src_tokens) - 1
        tokens = [f"k{last}"]
    state: State = {"view": "heads", "kind": notable.kind}
    state |= {"layer": notable.layer, "head": notable.head}
    if notable.kind == "cross":
        state["word_row"] = notable.target_row
    state |= {"heads": "", "combine": "one", "tokens": ",".join(tokens), "pin": ""}
    return Notice(_text_parts(notable), state)


def _text_parts(notable: SalientHead) -> Parts:
    counts = f"{notable.count} of {notable.total}"
    if notable.pattern == "aligner" and notable.measured:
        return _aligner_parts(notable)
    if notable.pattern == "aligner":
        statement = (
            f" with weight {_format_weight(notable.weight)}. {counts} words give their source word "
            "at least half:"
        )
        return (
            ("To write ", False), (notable.word, True), (", one head attends to ", False),
            (notable.attended_word, True), (statement, False),
        )  # fmt: skip
    if notable.pattern == "previous":
        statement = (
            f", with weight {_format_weight(notable.weight)}. {counts} words give the previous "
            "word at least half:"
        )
        return (
            (notable.word, True), (" attends to the previous word, ", False),
            (notable.attended_word, True), (statement, False),
        )  # fmt: skip
    end = _TOKEN_NAMES.get(notable.attended_word, "punctuation")
    text = (
        f"{counts} heads attend mostly to a sink: they give most of their weight to {end}. This "
        f"one gives it {_format_weight(notable.share)}:"
    )
    return ((text, False),)


def _aligner_parts(notable: SalientHead) -> Parts:
    """Describe the best aligner by gold links, and how certain it is on this sentence."""
    introduction = "After writing " if notable.target_row == "input" else "To write "
    n_uncertain = notable.total - notable.count
    statement = f" with {_format_weight(notable.weight)} of its attention. "
    if not n_uncertain:
        statement += "Every target word gives at least half of its weight to one source word."
    elif notable.count:
        statement += (
            f"It is uncertain for {n_uncertain} of the {notable.total} target words: no source "
            "word gets half of its weight."
        )
    else:
        statement += (
            "It is uncertain on this sentence: no target word gives half of its weight to one "
            "source word."
        )
    statement += " On human-made links it is the best aligner of this model:"
    return (
        (introduction, False), (notable.word, True), (", one head attends most to ", False),
        (notable.attended_word, True), (statement, False),
    )  # fmt: skip


def _format_weight(weight: float) -> str:
    """Format with two decimals that are on the same side of one half as the weight; "1.00" is only
    for exactly 1."""
    if 0.995 <= weight < 1:
        return "more than 0.99"
    return "almost 0.50" if 0.495 <= weight < MIN_SHARE else f"{weight:.2f}"
