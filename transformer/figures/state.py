"""What the explorer shows: its whole state, a flat table of words and whole numbers, so that an
address, a call from Python and the browser can all hold it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from transformer.config import near
from transformer.measures import MEASURES

State = dict[str, int | str]

DEFAULTS: State = {
    "view": "heads",
    "kind": "cross",
    "layer": -1,
    "head": -1,
    "heads": "",
    "combine": "one",
    "tokens": "",
    "row": -1,
    "column": -1,
    "zoom": 0,
    "units": "pieces",
    "special": "shown",
    "renormalise": 0,
    "scale": "sqrt",
    "measure": "none",
    "order": "layers",
    "step": 0,
    "node": -1,
    "force": "",
    "size": "normal",
}
"""What is shown if nothing else is asked for."""

CHOICES: dict[str, tuple[str, ...]] = {
    "view": ("heads", "model", "heatmap", "query-key", "decoding", "compare"),
    "kind": ("encoder", "decoder", "cross"),
    "combine": ("one", "mean", "max"),
    "units": ("pieces", "words"),
    "special": ("shown", "dimmed", "hidden"),
    "scale": ("sqrt", "linear", "row"),
    "measure": ("none", *MEASURES),
    "order": ("layers", "measure"),
    "size": ("normal", "large"),
}

RANGES: dict[str, tuple[int, int]] = {
    "layer": (-1, 999),
    "head": (-1, 999),
    "row": (-1, 9999),
    "column": (-1, 9999),
    "zoom": (0, 6),
    "renormalise": (0, 1),
    "step": (0, 9999),
    "node": (-1, 999_999),
}
"""Least and greatest value; -1 is none, or of layer and head the clearest (`Side.clearest`). What
lies beyond a sentence is brought back within it."""

FORMS: dict[str, tuple[str, str]] = {
    "heads": (
        r"(none|\d{1,3}\.\d{1,3}(,\d{1,3}\.\d{1,3})*)?",
        'layer.head with commas, like "3.2,3.4"',
    ),
    "tokens": (r"([qk]\d{1,4}(,[qk]\d{1,4})*)?", 'q or k and a position, like "q3,k5"'),
    "force": (r"(\d{1,4}:\d{1,7})?", 'a step and a piece\'s id, like "2:1234"'),
}


def check(name: str, value: int | str) -> int | str:
    """`value` as the state holds it; a number may come as text.

    Raises:
        ValueError: that says what it must be, as the end of a sentence: "one of heads, model, …".
    """
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise ValueError(f"one of {', '.join(CHOICES[name])}")
        return value
    if name in FORMS:
        pattern, told = FORMS[name]
        if not re.fullmatch(pattern, str(value), re.ASCII):
            raise ValueError(told)
        return str(value)
    low, high = RANGES[name]
    written = str(value)
    if not re.fullmatch(r"-?\d{1,9}", written, re.ASCII) or not low <= int(written) <= high:
        raise ValueError(f"a whole number from {low} to {high}")
    return int(written)


def state_of(values: Mapping[str, int | str]) -> State:
    """The whole state from what differs. Raises ValueError for a name or a value that is none."""
    found = dict(DEFAULTS)
    for name, value in values.items():
        if name not in DEFAULTS:
            known = ", ".join(DEFAULTS)
            raise ValueError(
                f"The explorer has no {name!r}; it has {known}{near(name, DEFAULTS) or '.'}"
            )
        try:
            found[name] = check(name, value)
        except ValueError as error:
            raise ValueError(f"{name} must be {error}, not {value!r}.") from None
    return found
