"""What to notice on the sentence at hand, in a few lines above the view."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from transformer.analysis.roles.sentence_heads import StandsOut, stand_out
from transformer.figures.explorer import Notice
from transformer.figures.state import State
from transformer.ui.trace_cache import Reading

_kept: WeakKeyDictionary[Reading, list[StandsOut]] = WeakKeyDictionary()
_ENDS = {"</s>": "the sign that ends the sentence", "<s>": "the sign that begins the translation"}


def first_look(reading: Reading, asked: State) -> State:
    """What is shown of `asked`: of the encoder–decoder's heads, where none is chosen, the one that
    the story calls the aligner; of the others the clearest."""
    found = reading.side.resolved(asked)
    if found["kind"] != "cross" or max(int(asked["layer"]), int(asked["head"])) >= 0:
        return found
    aligner = next((one for one in _standing_out(reading) if one.what == "aligns"), None)
    return found if aligner is None else {**found, "layer": aligner.layer, "head": aligner.head}


def story(reading: Reading) -> list[Notice]:
    """A line for each sort of head that stands out."""
    return [_notice(one, reading) for one in _standing_out(reading)]


def _standing_out(reading: Reading) -> list[StandsOut]:
    """Kept while the reading is."""
    if reading not in _kept:
        _kept[reading] = list(stand_out(reading.trace))
    return _kept[reading]


def _notice(one: StandsOut, reading: Reading) -> Notice:
    tokens = [f"q{row}" for row in one.rows]
    if one.what == "rests":
        last = 0 if one.kind == "decoder" else len(reading.trace.src_tokens) - 1
        tokens = [f"k{last}"]
    look: State = {"view": "heads", "kind": one.kind, "layer": one.layer, "head": one.head}
    alone: State = {"heads": "", "combine": "one", "tokens": ",".join(tokens), "pin": ""}
    return Notice(_said(one), {**look, **alone})


def _said(one: StandsOut) -> tuple[tuple[str, bool], ...]:
    """In words, each with whether it is one of the sentence's."""
    if one.what == "aligns":
        more = (
            f" with {_written(one.weight)} of its attention. So do {one.count} of the {one.of} "
            "words written, each at its own with more than half:"
        )
        return (
            ("To write ", False), (one.word, True), (", this head looks at ", False),
            (one.other, True), (more, False),
        )  # fmt: skip
    if one.what == "back":
        more = f", with {_written(one.weight)}; so do {one.count} of {one.of} with more than half:"
        return (
            ("Here ", False), (one.word, True), (" looks one word back, at ", False),
            (one.other, True), (more, False),
        )  # fmt: skip
    end = _ENDS.get(one.other, "a sign that is no word")
    return (
        (
            f"{one.count} of {one.of} heads rest: they give most of their attention to {end}, "
            f"which says nothing; this one {_written(one.share)}:", False,
        ),
    )  # fmt: skip


def _written(weight: float) -> str:
    """With two digits, and never a whole of what is not quite that."""
    return "more than 0.99" if 0.995 <= weight < 1 else f"{weight:.2f}"
