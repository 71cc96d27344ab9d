"""What the explorer shows: its whole state, a flat table of words and whole numbers, so that an
address, a call from Python and the browser can all hold it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from transformer.config import near
from transformer.figures.views import EXPLORER
from transformer.measures import MEASURES

State = dict[str, int | str]
KINDS = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}
_HEADS = r"(none|\d{1,3}\.\d{1,3}(,\d{1,3}\.\d{1,3})*)?"
_TOKENS = r"([qk]\d{1,4}(,[qk]\d{1,4})*)?"
OLD = {"units": {"pieces": ("exact", "1"), "words": ("exact", "0")}}
"""Fields of before, and by their values what they say now: links and programs still have them."""


@dataclass(frozen=True)
class Field:
    """What one field may be. Without choices, bounds or a form it is any text.

    Attributes:
        default: its value on a first visit, and so its type: a word, a whole number or a number.
        label: what a widget for it is called.
        choices: every word that it may be; a mapping also says what each is called.
        bounds: the least and the greatest number.
        form: how a word is written that is made of parts: a regular expression, and in words.
        of_model: whether it means nothing to another model.
        linked: whether an address carries it; what is the visitor's own way to look is not.
    """

    default: int | float | str
    label: str = ""
    choices: Collection[str] = ()
    bounds: tuple[float, float] = (-math.inf, math.inf)
    form: tuple[str, str] = ("", "")
    of_model: bool = False
    linked: bool = True

    @property
    def names(self) -> Mapping[str, str]:
        """Every word that it may be, with what it is called."""
        if isinstance(self.choices, Mapping):
            return self.choices
        return {choice: choice for choice in self.choices}

    def read(self, written: object) -> Any:
        """`written` as a value of this field; a number may come as text.

        Raises:
            ValueError: that says what it must be, as the end of a sentence: "one of heads, …".
        """
        text = str(written)
        if isinstance(self.default, str):
            if self.choices and text not in self.choices:
                raise ValueError(f"one of {', '.join(self.choices)}")
            if self.form[0] and not re.fullmatch(self.form[0], text, re.ASCII):
                raise ValueError(self.form[1])
            return text
        whole = isinstance(self.default, int)
        sort, form = ("a whole number", r"-?\d{1,18}") if whole else ("a number", r"(?s:.*)")
        try:
            number = type(self.default)(text) if re.fullmatch(form, text, re.ASCII) else math.nan
        except ValueError:
            number = math.nan
        low, high = self.bounds
        if not low <= number <= high:
            raise ValueError(f"{sort} from {low:g} to {high:.10g}")
        return number


FIELDS: dict[str, Field] = {
    "view": Field("heads", choices=tuple(EXPLORER)),
    "kind": Field("cross", "Kind of attention", choices=KINDS),
    "layer": Field(-1, "Layer", bounds=(-1, 999)),
    "head": Field(-1, "Head", bounds=(-1, 999)),
    "heads": Field("", form=(_HEADS, 'layer.head with commas, like "3.2,3.4"')),
    "combine": Field("one", choices=("one", "mean", "max")),
    "tokens": Field("", form=(_TOKENS, 'q or k and a position, like "q3,k5"')),
    "pin": Field("", form=(r"([st]\d{1,4})?", 's or t and a position, like "s4"')),
    "way": Field("both", choices=("both", "to", "from")),
    "row": Field(-1, bounds=(-1, 9999)),
    "column": Field(-1, bounds=(-1, 9999)),
    "zoom": Field(0, bounds=(0, 6)),
    "exact": Field(0, "Show tokens", bounds=(0, 1)),
    "special": Field("shown", choices=("shown", "dimmed", "hidden")),
    "renormalise": Field(0, bounds=(0, 1)),
    "word_row": Field(
        "output", choices=("output", "input")
    ),  # the row of a word in cross attention
    "scale": Field("sqrt", choices=("sqrt", "linear", "row")),
    "measure": Field("none", choices=("none", *MEASURES)),
    "more": Field(0, bounds=(0, 1)),
    "order": Field("layers", choices=("layers", "measure")),
    "step": Field(0, bounds=(0, 9999)),
    "node": Field(-1, bounds=(-1, 999_999)),
    "force": Field(
        "", form=(r"(\d{1,4}:\d{1,7})?", 'a step and a piece\'s id, like "2:1234"'), of_model=True
    ),
    "size": Field("normal", choices=("normal", "large"), linked=False),  # for a projector
}
"""Every field. Of numbers -1 is none, or of layer and head the clearest (`Side.clearest`). What
lies beyond a sentence is brought back within it."""

DEFAULTS: State = {name: field.read(field.default) for name, field in FIELDS.items()}
"""What is shown if nothing else is asked for."""


def state_of(values: Mapping[str, int | str]) -> State:
    """The whole state from what differs. Raises ValueError for a name or a value that is none."""
    found = dict(DEFAULTS)
    for given, value in values.items():
        name, value = OLD.get(given, {}).get(str(value), (given, value))
        if name not in DEFAULTS:
            known = ", ".join(DEFAULTS)
            raise ValueError(
                f"The explorer has no {name!r}; it has {known}{near(name, DEFAULTS) or '.'}"
            )
        try:
            found[name] = FIELDS[name].read(value)
        except ValueError as error:
            raise ValueError(f"{name} must be {error}, not {value!r}.") from None
    return found
