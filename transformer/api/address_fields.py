"""The fields of addresses: those that several pages share, and those of the page Try.

The client checks an address with them (`client_data`), and `ui/base/address.py` builds the views of
the Streamlit pages from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.api.requests import (
    ABLATIONS,
    DECODING,
    EDITED_ROW_FORM,
    METHODS,
    PATCH_FORM,
    POSITIONS_FORM,
)
from transformer.figures.state import FIELDS, Field
from transformer.measures.head_codes import HEADS_FORM
from transformer.text.sentences import EXAMPLE

DEPTHS = {
    "bands": "Bands",
    "heads": "All heads",
    "steps": "Step by step",
    "off": "Switch off",
}
"""The depths of the page Try: name and label."""
CORPORA = {
    "run": "Validation set of the run",
    "ours": "Bundled sentences",
    "linked": "Hand-aligned",
    "upload": "Your own sentences",
}
SHARED: dict[str, Field] = {
    "model": Field("", "Model"),
    "text": Field(EXAMPLE),
    "method": Field("greedy", "Decoding method", choices=METHODS),
    "target": Field(""),
    **DECODING,
    "other": Field("", "Another sentence"),
    "other_model": Field("", "Another model"),
    **{name: FIELDS[name] for name in ("kind", "layer", "head", "row", "column", "step")},
    **{name: FIELDS[name] for name in ("size", "exact")},
    "corpus": Field("", "Measured over", choices=CORPORA),
    "sentences": Field(300, "Maximum sentences", bounds=(1, 5000)),
    "lesson": Field("", form=(r"[a-z0-9]{0,20}", 'a lesson\'s name, like "umbrella"')),
    "lesson_text": Field(""),
}
TRY: dict[str, Field] = {
    "depth": Field("bands", "Depth", choices=DEPTHS),
    "off": Field("", form=HEADS_FORM, of_model=True),
    "ablation": Field("zero", "Kind of ablation", choices=ABLATIONS),
    "edited_row": Field("", form=EDITED_ROW_FORM),
    "masked_tokens": Field("", form=POSITIONS_FORM),
    "patch": Field("", form=PATCH_FORM),
    "why": Field(-1, bounds=(-1, 9999), of_model=True),
    **{name: field for name, field in FIELDS.items() if name not in SHARED},
}
"""Fields that only the page Try has."""


LINKED: Mapping[str, Field] = {n: field for n, field in {**SHARED, **TRY}.items() if field.linked}
"""All fields in an address of the page Try."""


def try_fields() -> dict[str, dict[str, Any]]:
    """Return the rules of `LINKED`, for `app/try/address-problems.js`."""
    return {name: _rules(field) for name, field in LINKED.items()}


def _rules(field: Field) -> dict[str, Any]:
    rules: dict[str, Any] = {"default": field.default, "label": field.label}
    if not isinstance(field.default, str):
        is_integer = isinstance(field.default, int)
        rules |= {"bounds": list(field.bounds), "is_integer": is_integer}
    elif field.choices:
        rules["choices"] = list(field.choices)
    elif field.form[0]:
        rules["form"] = field.form[0]
    return {**rules, "must": field.rule}
