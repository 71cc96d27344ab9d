"""What a person looks at, and the address that brings someone else to the same view.

`View` is what all pages share. A page that keeps more declares it in a class of its own, where
its folder begins (`__init__.py`); its address holds the fields of both and of no other page.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any

from transformer.figures.state import DEFAULTS, FIELDS, Field, State

METHODS = {"greedy": "Greedy", "beam": "Beam", "sample": "Sampling", "forced": "Forced decoding"}
CORPORA = {
    "run": "Validation set of the run",
    "ours": "Bundled sentences",
    "linked": "Hand-aligned",
    "upload": "Your own sentences",
}
EXAMPLE = "I am a student."
EXAMPLES = (
    EXAMPLE,
    "She has never seen the sea.",
    "If it rains, we will stay at home.",
    "Who gave you that red umbrella?",
)


def field(default: int | float | str = "", label: str = "", **options: Any) -> Any:
    """A field of a view: its default, what its widget is called, and what it may be (`Field`)."""
    return dataclass_field(Field(default, label, **options))


def explorer_field(name: str) -> Any:
    """A field of a view that is one of the explorer's too."""
    return dataclass_field(FIELDS[name])


def dataclass_field(declared_field: Field) -> Any:
    """`found` as a dataclass takes it."""
    return dataclasses.field(default=declared_field.default, metadata={"field": declared_field})


@dataclass(frozen=True)
class View:
    """What all pages share: a sentence, how it is translated, and the head that is looked at.

    Attributes:
        model: name of a checkpoint; "" is the first there is.
        target: the translation that method "forced" gives the model.
        top_k: 0 draws from all pieces.
        seed: of all that is drawn by chance.
        other, other_model: the sentence and the checkpoint to compare with; "" is the same.
        kind … exact: as in `figures.state`; layer and head are counted from 0, as in
            `trace.weights(kind, layer)`; `step` is the output token that is asked about.
        corpus: what heads are measured over, "" is what fits the model; sentences: at most.
        lesson: of the course, by its name; "" is none. (Once it was a number.)
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
    kind: str = explorer_field("kind")
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
        """What each may be, by its name in the address."""
        return {field.name: field.metadata["field"] for field in dataclasses.fields(cls)}

    @classmethod
    @cache
    def own(cls) -> dict[str, Field]:
        """Those that a page does not share."""
        shared = View.fields()
        return {name: field for name, field in cls.fields().items() if name not in shared}

    def to_params(self) -> dict[str, str]:
        """What differs from a first visit; `pages.values_of` it are those of this view.

        The explorer's fields come last and in its own order, as `address.js` writes them: of two
        addresses that say the same in another order, Streamlit makes a step in the history.
        """
        fields = self.fields()
        names = [name for name in fields if name not in DEFAULTS]
        return {
            name: str(getattr(self, name))
            for name in [*names, *(name for name in DEFAULTS if name in fields)]
            if fields[name].linked and getattr(self, name) != fields[name].default
        }

    def explorer(self) -> State:
        """The explorer's state, as far as this view holds it."""
        return {name: getattr(self, name, default) for name, default in DEFAULTS.items()}

    def decoding(self) -> dict[str, Any]:
        """The options of `Translator.trace` for this view."""
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
