"""What to notice on the sentence at hand, in a few lines above the view."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.analysis.roles.sentence_heads import StandsOut, stand_out
from transformer.figures.explorer import Notice
from transformer.figures.state import State
from transformer.ui.services.trace_cache import CachedTrace

_cache: WeakKeyDictionary[CachedTrace, dict[object, list[StandsOut]]] = WeakKeyDictionary()
_ENDS = {"</s>": "the end-of-sentence token", "<s>": "the start token"}


def first_look(reading: CachedTrace, asked: State, measured: AlignerHead | None = None) -> State:
    """What is shown of `asked`: of the encoder–decoder's heads, where none is chosen, the one that
    the story calls the aligner; of the others the clearest.

    Args:
        measured: the model's aligner head by gold links, if it has one.
    """
    found = reading.side.resolved(asked)
    if found["kind"] != "cross" or max(int(asked["layer"]), int(asked["head"])) >= 0:
        return found
    standing = _standing_out(reading, measured)
    aligner = next((one for one in standing if one.what == "aligns"), None)
    if aligner is None:
        return found
    return {**found, "layer": aligner.layer, "head": aligner.head, "word_row": aligner.to}


def story(reading: CachedTrace, measured: AlignerHead | None = None) -> list[Notice]:
    """A line for each sort of head that stands out; `measured` as in `first_look`."""
    return [_notice(one, reading) for one in _standing_out(reading, measured)]


def _standing_out(reading: CachedTrace, measured: AlignerHead | None) -> list[StandsOut]:
    """Kept while the reading is."""
    key = measured and (measured.layer, measured.head, measured.weights_to)
    kept = _cache.setdefault(reading, {})
    if key not in kept:
        kept[key] = list(stand_out(reading.trace, measured))
    return kept[key]


def _notice(one: StandsOut, reading: CachedTrace) -> Notice:
    tokens = [f"q{row}" for row in one.rows]
    if one.what == "rests":
        last = 0 if one.kind == "decoder" else len(reading.trace.src_tokens) - 1
        tokens = [f"k{last}"]
    look: State = {"view": "heads", "kind": one.kind, "layer": one.layer, "head": one.head}
    if one.kind == "cross":
        look["word_row"] = one.to
    alone: State = {"heads": "", "combine": "one", "tokens": ",".join(tokens), "pin": ""}
    return Notice(_text_parts(one), {**look, **alone})


def _text_parts(one: StandsOut) -> tuple[tuple[str, bool], ...]:
    """In words, each with whether it is one of the sentence's."""
    if one.what == "aligns" and one.measured:
        return _aligner_parts(one)
    if one.what == "aligns":
        more = (
            f" with weight {_format_weight(one.weight)}. {one.count} of {one.of} words give "
            "their source word more than half:"
        )
        return (
            ("To write ", False), (one.word, True), (", this head attends to ", False),
            (one.other, True), (more, False),
        )  # fmt: skip
    if one.what == "back":
        more = (
            f", with weight {_format_weight(one.weight)}. {one.count} of {one.of} words give the "
            "word before them more than half:"
        )
        return (
            (one.word, True), (" attends to the word before it, ", False),
            (one.other, True), (more, False),
        )  # fmt: skip
    end = _ENDS.get(one.other, "punctuation")
    return (
        (
            f"{one.count} of {one.of} heads are attention sinks: they give most of their weight to "
            f"{end}. This one gives it {_format_weight(one.share)}:", False,
        ),
    )  # fmt: skip


def _aligner_parts(one: StandsOut) -> tuple[tuple[str, bool], ...]:
    """Of the head that aligns words best by gold links, and how sure it is on this sentence."""
    when = "After writing " if one.to == "input" else "To write "
    unsure = one.of - one.count
    more = f" with {_format_weight(one.weight)} of its attention. "
    if not unsure:
        more += "It gives each word written more than half to one word of the source."
    elif one.count:
        more += f"It is unsure about {unsure} of the {one.of} words written: less than half each."
    else:
        more += "It is unsure on this sentence: no word written gives half to one source word."
    more += " By links made by people it is the best aligner of this model:"
    return (
        (when, False), (one.word, True), (", this head looks most at ", False),
        (one.other, True), (more, False),
    )  # fmt: skip


def _format_weight(weight: float) -> str:
    """With two digits, and never a whole of what is not quite that."""
    return "more than 0.99" if 0.995 <= weight < 1 else f"{weight:.2f}"
