"""Views: the state of a page that is part of its URL, so that a link shows others the same.

`View` has the fields that all pages share. A page with further fields declares a subclass in its
folder's `__init__.py`; its URL contains the fields of both and of no other page.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any

from transformer.api.address_fields import SHARED
from transformer.api.requests import decoding_options
from transformer.figures.state import DEFAULTS, Field, State
from transformer.measures.kinds import AttentionKind

PERSONAL_FIELDS = ("exact", "size")
"""Fields that each visitor sets for themselves: lessons and the teacher of a class leave them as
they are."""


def field(default: int | float | str = "", label: str = "", **options: Any) -> Any:
    """Declare a field of a view: default, label of its widget, and allowed values (`Field`)."""
    return dataclass_field(Field(default, label, **options))


def dataclass_field(declared_field: Field) -> Any:
    """Return a dataclass field with `declared_field` in its metadata."""
    return dataclasses.field(default=declared_field.default, metadata={"field": declared_field})


@dataclass(frozen=True)
class View:
    """The fields that all pages share: a sentence, its decoding method and the selected head.

    Attributes:
        model: name of a checkpoint; "" is the default one.
        target: the translation for the decoding method "forced".
        top_k: 0 samples from the whole vocabulary.
        seed: random seed of sampling.
        other, other_model: the sentence and the checkpoint to compare with; "" is the same one.
        kind … exact: as in `figures.state`; layer and head are counted from 0, as in
            `trace.weights(kind, layer)`; `step` is the selected output token.
        corpus: the corpus of measurements, "" is the default for the model; sentences: its maximum
            number of sentences.
        lesson: name of the open lesson; "" is none. lesson_text: a teacher's own sentence for it.
    """

    model: str = dataclass_field(SHARED["model"])
    text: str = dataclass_field(SHARED["text"])
    method: str = dataclass_field(SHARED["method"])
    target: str = dataclass_field(SHARED["target"])
    beam_size: int = dataclass_field(SHARED["beam_size"])
    length_penalty: float = dataclass_field(SHARED["length_penalty"])
    temperature: float = dataclass_field(SHARED["temperature"])
    top_k: int = dataclass_field(SHARED["top_k"])
    top_p: float = dataclass_field(SHARED["top_p"])
    seed: int = dataclass_field(SHARED["seed"])
    other: str = dataclass_field(SHARED["other"])
    other_model: str = dataclass_field(SHARED["other_model"])
    kind: AttentionKind = dataclass_field(SHARED["kind"])  # noqa: RUF009  (a string)
    layer: int = dataclass_field(SHARED["layer"])
    head: int = dataclass_field(SHARED["head"])
    row: int = dataclass_field(SHARED["row"])
    column: int = dataclass_field(SHARED["column"])
    step: int = dataclass_field(SHARED["step"])
    size: str = dataclass_field(SHARED["size"])
    exact: int = dataclass_field(SHARED["exact"])
    corpus: str = dataclass_field(SHARED["corpus"])
    sentences: int = dataclass_field(SHARED["sentences"])
    lesson: str = dataclass_field(SHARED["lesson"])
    lesson_text: str = dataclass_field(SHARED["lesson_text"])

    @classmethod
    @cache
    def fields(cls) -> dict[str, Field]:
        """Return the fields by their names in the address."""
        return {field.name: field.metadata["field"] for field in dataclasses.fields(cls)}

    @classmethod
    @cache
    def own(cls) -> dict[str, Field]:
        """Return the fields that only this page has."""
        shared = View.fields()
        return {name: field for name, field in cls.fields().items() if name not in shared}

    def to_params(self) -> dict[str, str]:
        """Return the fields that differ from their defaults; `registry.parse_params` reverses it.

        The explorer's fields come last and in its order, as `address.js` writes them: if only the
        order differs, Streamlit adds an entry to the browser's history.
        """
        fields = self.fields()
        names = [name for name in fields if name not in DEFAULTS]
        return {
            name: str(getattr(self, name))
            for name in [*names, *(name for name in DEFAULTS if name in fields)]
            if fields[name].linked and getattr(self, name) != fields[name].default
        }

    def explorer(self) -> State:
        """Return the part of the explorer's state that this view contains."""
        return {name: getattr(self, name, default) for name, default in DEFAULTS.items()}

    def decoding(self) -> dict[str, Any]:
        """Return the options of `Translator.trace` for this view."""
        return decoding_options(self)
