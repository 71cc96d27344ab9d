"""One field of what is looked at: its default, what it is called, and what it may be.

A flat table of such fields can stand in an address, in a call from Python and in the browser.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


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
