"""The explorer's state: a flat table of strings and integers, so that a link, a Python call and the
browser can all hold it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from transformer.config import did_you_mean
from transformer.figures.views import EXPLORER
from transformer.measures import MEASURES
from transformer.measures.kinds import AttentionKind

State = dict[str, int | str]
KINDS: dict[AttentionKind, str] = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}
_HEADS = r"(none|\d{1,3}\.\d{1,3}(,\d{1,3}\.\d{1,3})*)?"
_CELLS = r"(\d{1,4}\.\d{1,4}(,\d{1,4}\.\d{1,4}){0,99})?"
_TOKENS = r"([qk]\d{1,4}(,[qk]\d{1,4})*)?"


@dataclass(frozen=True)
class Field:
    """The definition of one field. Without choices, bounds or a form it accepts any text.

    Attributes:
        default: value on a first visit; it sets the type: text, integer or float.
        label: label of its widget.
        choices: all allowed values; a mapping also gives their labels.
        bounds: smallest and largest number.
        form: a regular expression for text, and its description for error messages.
        of_model: whether it is meaningless for another model.
        linked: whether links contain it; personal display settings are not linked.
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
        """The allowed values with their labels."""
        if isinstance(self.choices, Mapping):
            return self.choices
        return {choice: choice for choice in self.choices}

    @property
    def rule(self) -> str:
        """What a value must be, as the end of a sentence: "one of heads, …"; "" if any text is."""
        if isinstance(self.default, str):
            return f"one of {', '.join(self.choices)}" if self.choices else self.form[1]
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        return f"{kind} from {self.bounds[0]:g} to {self.bounds[1]:.10g}"

    def read(self, value: object) -> Any:
        """Return `value` as a value of this field; a number may be given as text.

        Raises:
            ValueError: if it is invalid; the message completes "must be": "one of heads, …".
        """
        text = str(value)
        if isinstance(self.default, str):
            has_form = not self.form[0] or re.fullmatch(self.form[0], text, re.ASCII)
            if not has_form or (self.choices and text not in self.choices):
                raise ValueError(self.rule)
            return text
        form = r"-?\d{1,18}" if isinstance(self.default, int) else r"(?s:.*)"
        try:
            number = type(self.default)(text) if re.fullmatch(form, text, re.ASCII) else math.nan
        except ValueError:
            number = math.nan
        if not self.bounds[0] <= number <= self.bounds[1]:
            raise ValueError(self.rule)
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
    "marks": Field("", form=(_CELLS, 'rows and columns of cells, like "3.2,3.4"')),
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
        "", form=(r"(\d{1,4}:\d{1,7})?", 'a step and a token\'s id, like "2:1234"'), of_model=True
    ),
    "size": Field("normal", choices=("normal", "large"), linked=False),  # for a projector
}
"""All fields. -1 means none; for layer and head it means the clearest (`PackedTrace.clearest`).
Positions beyond the sentence are clipped."""


DEFAULTS: State = {name: field.read(field.default) for name, field in FIELDS.items()}
"""The default of every field."""


def state_of(
    values: Mapping[str, int | str],
    fields: Mapping[str, Field] = FIELDS,
    figure: str = "explorer",
) -> State:
    """Return the fields' defaults updated with these values; raise ValueError if one is invalid."""
    defaults = {name: field.read(field.default) for name, field in fields.items()}
    return {**defaults, **read_values(values, fields, figure)}


def read_values(values: Mapping[str, Any], fields: Mapping[str, Field], figure: str) -> State:
    """Return these values as those of their fields; raise ValueError if one is invalid."""
    state: State = {}
    for name, value in values.items():
        if name not in fields:
            hint = did_you_mean(name, fields) or "."
            raise ValueError(f"The {figure} has no {name!r}; it has {', '.join(fields)}{hint}")
        try:
            state[name] = fields[name].read(value)
        except ValueError as error:
            raise ValueError(f"{name} must be {error}, not {value!r}.") from None
    return state
