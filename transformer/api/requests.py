"""The requests that the server answers, and the rules for their fields.

`client/engine/requests.d.ts` describes the same requests to the client, with their answers; a test
compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from transformer.figures.state import FIELDS, Field, state_of
from transformer.inference.options import EXTRA_LENGTH, MAX_SOURCE
from transformer.measures import KINDS
from transformer.measures.head_codes import HEADS_FORM
from transformer.measures.registry import VECTORS
from transformer.text.door import (
    Rule,
    accepts,
    choice,
    flag,
    form,
    number,
    several,
    text,
    title,
    whole,
)

Sentence = TypeVar("Sentence", bound="SentenceRequest")
MAX_CHARACTERS = 20_000
"""Longer text is rejected before tokenization, which takes time."""
METHODS = {"greedy": "Greedy", "beam": "Beam", "sample": "Sampling", "forced": "Forced decoding"}
"""Decoding methods: name and label."""
DECODING = {
    "beam_size": Field(4, "Beam size", bounds=(2, 12)),
    "length_penalty": Field(0.6, "Length penalty", bounds=(0.0, 2.0)),
    "temperature": Field(1.0, "Temperature", bounds=(0.1, 2.0)),
    "top_k": Field(0, "Top-k", bounds=(0, 100)),
    "top_p": Field(0.9, "Top-p", bounds=(0.05, 1.0)),
    "seed": Field(1, "Seed", bounds=(0, 2**31 - 1)),
}
"""Settings of the decoding methods. `top_k` 0 samples from the whole vocabulary."""
_SETTINGS = {
    "greedy": (),
    "beam": ("beam_size", "length_penalty"),
    "sample": ("temperature", "top_k", "top_p", "seed"),
}
ABLATIONS = {
    "zero": "Zero ablation",
    "uniform": "Uniform attention",
    "mean": "Mean ablation",
}
"""What heads can do instead of what they do: name and label."""
FILE_FORMATS = ("html", "npz")
"""Formats in which the explorer's traces are written to a file."""
_WEIGHT = r"\d{1,4}x(100|[1-9]\d?)"
_NUMBERS = r"(\d{1,4}(,\d{1,4})*)?"
EDITED_ROW_FORM = (
    rf"([edc]\d{{1,3}}\.\d{{1,3}}\.\d{{1,4}}:{_WEIGHT}(,{_WEIGHT})*)?",
    'a head, a row, then keys and weights from 1 to 100, like "c5.1.3:0x70,4x30"',
)
POSITIONS_FORM = (_NUMBERS, 'positions with commas, like "0,3"')
PATCH_FORM = (
    rf"([a-z_.\d]{{1,60}}:{_NUMBERS}:{_NUMBERS})?",
    'a hook point, positions of this sentence and of the other, like "encoder.hook_memory:1:1"',
)
_PART_FORM = (
    rf"[01]\.({'|'.join(VECTORS)})\.(encoder|decoder|cross)\.\d{{1,3}}\.\d{{1,3}}",
    'side, vector, kind, layer and head, like "0.query.cross.5.2"',
)


def _read_start(value: object) -> tuple[tuple[str, Any], ...]:
    if not isinstance(value, dict) or len(value) > len(FIELDS):
        raise ValueError("an object with fields of the explorer")
    try:
        state_of(value)
    except ValueError:
        raise ValueError("an object with valid fields of the explorer") from None
    return tuple((name, FIELDS[name].read(entry)) for name, entry in value.items())


def _read_head(value: object) -> tuple[str, int, int]:
    numbers = whole(0, 999)
    try:
        if not isinstance(value, dict) or len(value) != 3:
            raise ValueError
        kind, layer, head = (value[name] for name in ("kind", "layer", "head"))
        return choice(KINDS).read(kind), numbers.read(layer), numbers.read(head)
    except (KeyError, ValueError):
        raise ValueError('a head, like {"kind": "cross", "layer": 5, "head": 1}') from None


def _setting(name: str) -> Any:
    """Declare a setting of decoding as a field of a request."""
    field = DECODING[name]
    low, high = field.bounds
    is_integer = isinstance(field.default, int)
    return accepts(whole(int(low), int(high)) if is_integer else number(low, high), field.default)


def decoding_options(settings: Any) -> dict[str, Any]:
    """Return the options of `Translator.trace` for an object with a `method` and its settings."""
    if settings.method == "forced":
        return {"target": settings.target}
    options = {name: getattr(settings, name) for name in _SETTINGS[settings.method]}
    if options.get("top_k") == 0:
        del options["top_k"]
    return {"method": settings.method, **options}


SENTENCE = text(MAX_CHARACTERS)
"""Accept a sentence."""
EXPLORER_FIELDS = Rule(_read_start, "Record<string, string | number>")
"""Accept fields of the explorer's state."""


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """A request to one model.

    Attributes:
        model: its name; "" for the first in the list.
    """

    model: str = accepts(title(200), "")


@dataclass(frozen=True, kw_only=True)
class SentenceRequest(ModelRequest):
    """A sentence, and how it is translated.

    Attributes:
        prefix: ids of tokens with which the translation must begin.
        method: how it is translated; beam_size … seed: settings of the methods (`DECODING`).
        target: the translation for the method "forced".
        off: heads that are changed, such as "e3.2,c5"; ablation: how, one of `ABLATIONS`.
        edited_row: a row of one head with attention weights in percent for its keys.
        masked_tokens: positions of the source that no head can attend to.
        patch: a hook point whose activations at some positions come from the sentence `other`,
            which is by default the same one.
    """

    text: str = accepts(SENTENCE)
    prefix: tuple[int, ...] = accepts(several(whole(0, 10_000_000), MAX_SOURCE + EXTRA_LENGTH), ())
    method: str = accepts(choice(METHODS), "greedy")
    target: str = accepts(SENTENCE, "")
    beam_size: int = _setting("beam_size")
    length_penalty: float = _setting("length_penalty")
    temperature: float = _setting("temperature")
    top_k: int = _setting("top_k")
    top_p: float = _setting("top_p")
    seed: int = _setting("seed")
    off: str = accepts(form(*HEADS_FORM), "")
    ablation: str = accepts(choice(ABLATIONS), "zero")
    edited_row: str = accepts(form(*EDITED_ROW_FORM), "")
    masked_tokens: str = accepts(form(*POSITIONS_FORM), "")
    patch: str = accepts(form(*PATCH_FORM), "")
    other: str = accepts(SENTENCE, "")

    @property
    def changes(self) -> tuple[str, ...]:
        """What changes the model; empty for nothing."""
        changes = (self.off, self.edited_row, self.masked_tokens, self.patch)
        details = (self.off and self.ablation, self.patch and self.other)
        return (*changes, *details) if any(changes) else ()

    def unchanged(self: Sentence, **fields: Any) -> Sentence:
        """Return the request without changes of the model, with these fields."""
        nothing = dict.fromkeys(("off", "edited_row", "masked_tokens", "patch", "other"), "")
        return replace(self, **{**nothing, **fields})


@dataclass(frozen=True, kw_only=True)
class GlanceRequest(SentenceRequest):
    """The translation as bands.

    Attributes:
        with_alternatives: whether to compute the alternatives of every word too, which takes as
            long as the translation.
    """

    with_alternatives: bool = accepts(flag(), False)


@dataclass(frozen=True, kw_only=True)
class ExploreRequest(SentenceRequest):
    """All heads of a translation, and of a second one to compare with.

    The second has a token forced (`force`), or another text (`other`, unless `patch` uses it) or
    model (`other_model`), or the changes of the model; the first of these that is given.

    Attributes:
        other_model: the name of another model.
        force: a step of the translation and the id of a token, such as "2:1234".
        start: fields of the explorer's state where they differ from the defaults.
        visit: a view that is already on screen takes over `start` if this number has changed.
        number: not used; a client can number its requests.
    """

    other_model: str = accepts(title(200), "")
    force: str = accepts(form(*FIELDS["force"].form), "")
    start: tuple[tuple[str, Any], ...] = accepts(EXPLORER_FIELDS, ())
    visit: int = accepts(whole(0, 10**9), 0)
    number: int = accepts(whole(0, 10**9), 0)


@dataclass(frozen=True, kw_only=True)
class PartRequest(ExploreRequest):
    """One vector of a head of the explorer's traces.

    Attributes:
        name: side, vector, kind of attention, layer and head, such as "0.query.cross.5.2".
    """

    name: str = accepts(form(*_PART_FORM))


@dataclass(frozen=True, kw_only=True)
class FileRequest(ExploreRequest):
    """A file of the explorer's traces: a web page that opens alone, or all tensors of the first
    trace.

    Attributes:
        format: of the file.
    """

    format: str = accepts(choice(FILE_FORMATS), "npz")


@dataclass(frozen=True, kw_only=True)
class CellsRequest(SentenceRequest):
    """The cells of a head.

    Attributes:
        row: the row whose cells are blanked one at a time; -1 for none.
    """

    head: tuple[str, int, int] = accepts(Rule(_read_head, "HeadOfKind"))
    row: int = accepts(whole(-1, 9999), -1)


@dataclass(frozen=True, kw_only=True)
class ImportanceRequest(SentenceRequest):
    """What each head matters for: the whole translation, or one of its tokens.

    Attributes:
        step: the decoding step that writes the token; -1 for the whole translation.
    """

    step: int = accepts(whole(-1, 9999), -1)


@dataclass(frozen=True, kw_only=True)
class QuestionRequest(ModelRequest):
    """The question of a lesson that Python makes.

    Attributes:
        lesson: its name.
        exact: whether to name tokens as the model does.
    """

    lesson: str = accepts(title(20))
    exact: bool = accepts(flag(), False)


@dataclass(frozen=True, kw_only=True)
class TraceRequest(SentenceRequest):
    """A translation with tensors of the model.

    Attributes:
        names: hook points or patterns of them.
        format: of the answer.
    """

    names: tuple[str, ...] = accepts(several(title(200), 64), ("*.hook_weights",))
    format: str = accepts(choice(("npz", "json")), "npz")
