"""Views: the state of a page that is part of its URL, so that a link shows others the same.

`View` has the fields that all pages share. A page with further fields declares a subclass in its
folder's `__init__.py`; its URL contains the fields of both and of no other page.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any

from transformer.api.model_description import EXAMPLE
from transformer.figures.state import DEFAULTS, FIELDS, Field, State
from transformer.measures.kinds import AttentionKind

METHODS = {"greedy": "Greedy", "beam": "Beam", "sample": "Sampling", "forced": "Forced decoding"}
CORPORA = {
    "run": "Validation set of the run",
    "ours": "Bundled sentences",
    "linked": "Hand-aligned",
    "upload": "Your own sentences",
}
PERSONAL_FIELDS = ("exact", "size")
"""Fields that each visitor sets for themselves: lessons and the teacher of a class leave them as
they are."""


def field(default: int | float | str = "", label: str = "", **options: Any) -> Any:
    """Declare a field of a view: default, label of its widget, and allowed values (`Field`)."""
    return dataclass_field(Field(default, label, **options))


def explorer_field(name: str) -> Any:
    """Declare a field of a view that is also a field of the explorer."""
    return dataclass_field(FIELDS[name])


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
        lesson: name of the open lesson; "" is none.
    """

    model: str = field(label="Model")
    text: str = field(EXAMPLE)
    method: str = field("greedy", "Decoding method", choices=METHODS)
    target: str = field()
    beam_size: int = field(4, "Beam size", bounds=(2, 12))
    length_penalty: float = field(0.6, "Length penalty", bounds=(0.0, 2.0))
    temperature: float = field(1.0, "Temperature", bounds=(0.1, 2.0))
    top_k: int = field(0, "Top-k", bounds=(0, 100))
    top_p: float = field(0.9, "Top-p", bounds=(0.05, 1.0))
    seed: int = field(1, "Seed", bounds=(0, 2**31 - 1))
    other: str = field(label="Another sentence")
    other_model: str = field(label="Another model")
    kind: AttentionKind = explorer_field("kind")  # noqa: RUF009  (a string)
    layer: int = explorer_field("layer")
    head: int = explorer_field("head")
    row: int = explorer_field("row")
    column: int = explorer_field("column")
    step: int = explorer_field("step")
    size: str = explorer_field("size")
    exact: int = explorer_field("exact")
    corpus: str = field("", "Measured over", choices=CORPORA)
    sentences: int = field(300, "Maximum sentences", bounds=(1, 5000))
    lesson: str = field(form=(r"[a-z0-9]{0,20}", 'a lesson\'s name, like "umbrella"'))

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
        if self.method == "forced":
            return {"target": self.target}
        if self.method == "beam":
            names: tuple[str, ...] = ("beam_size", "length_penalty")
        elif self.method == "sample":
            names = ("temperature", "top_k", "top_p", "seed")
        else:
            names = ()
        options = {name: getattr(self, name) for name in names}
        return {
            "method": self.method,
            **{k: v for k, v in options.items() if (k, v) != ("top_k", 0)},
        }
