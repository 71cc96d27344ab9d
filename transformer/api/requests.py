"""The requests that the server answers, and the rules for their fields.

`client/engine/requests.d.ts` describes the same requests to the client, with their answers; a test
compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transformer.api.door import Rule, accepts, choice, flag, form, several, text, title, whole
from transformer.api.traces import ABLATIONS
from transformer.figures.state import FIELDS, state_of
from transformer.inference.options import EXTRA_LENGTH, MAX_SOURCE
from transformer.measures.head_codes import HEADS_FORM
from transformer.measures.registry import VECTORS

MAX_CHARACTERS = 20_000
"""Longer text is rejected before tokenization, which takes time."""
MAX_BEAM_SIZE = 12
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
        beam: beam size; 1 is greedy decoding.
        off: heads that are changed, such as "e3.2,c5"; ablation: how, one of `traces.ABLATIONS`.
    """

    text: str = accepts(text(MAX_CHARACTERS))
    prefix: tuple[int, ...] = accepts(several(whole(0, 10_000_000), MAX_SOURCE + EXTRA_LENGTH), ())
    beam: int = accepts(whole(1, MAX_BEAM_SIZE), 1)
    off: str = accepts(form(*HEADS_FORM), "")
    ablation: str = accepts(choice(ABLATIONS), "zero")


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

    The second has a token forced (`force`), or another text (`other`), or the heads `off` changed;
    the first of these that is given.

    Attributes:
        force: a step of the translation and the id of a token, such as "2:1234".
        start: fields of the explorer's state where they differ from the defaults.
        visit: a view that is already on screen takes over `start` if this number has changed.
        number: not used; a client can number its requests.
    """

    other: str = accepts(text(MAX_CHARACTERS), "")
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
class TraceRequest(SentenceRequest):
    """A translation with tensors of the model.

    Attributes:
        names: hook points or patterns of them.
        format: of the answer.
    """

    names: tuple[str, ...] = accepts(several(title(200), 64), ("*.hook_weights",))
    format: str = accepts(choice(("npz", "json")), "npz")
