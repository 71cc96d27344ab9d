"""An address brings back the view it was made of, and says what is wrong with any other."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.figures import state
from transformer.inference.options import Decoding
from transformer.ui.address import CHOICES, FORMS, RANGES, View


def number(name: str) -> st.SearchStrategy[float]:
    low, high = RANGES[name]
    if isinstance(getattr(View(), name), int):
        return st.integers(int(low), int(high))
    return st.floats(low, high)


views = st.builds(
    View,
    model=st.text(),
    text=st.text(),
    target=st.text(),
    other=st.text(),
    other_model=st.text(),
    **{name: number(name) for name in RANGES},
    **{name: st.sampled_from(choices) for name, choices in CHOICES.items()},
    **{name: st.sampled_from(choices) for name, choices in state.CHOICES.items()},
    **{name: st.integers(*ends) for name, ends in state.RANGES.items()},
    **{
        name: st.from_regex(re.compile(form, re.ASCII), fullmatch=True)
        for name, (form, _) in (*state.FORMS.items(), *FORMS.items())
    },
)


def test_the_view_holds_the_explorers_whole_state() -> None:
    assert View().explorer() == state.DEFAULTS
    assert state.DEFAULTS.keys() == state.CHOICES.keys() | state.RANGES.keys() | state.FORMS.keys()


@given(views)
def test_an_address_brings_its_view_back(view: View) -> None:
    assert View.from_params(view.to_params()) == (view, [])


def test_a_first_visit_has_a_bare_address() -> None:
    assert View().to_params() == {}


@given(st.dictionaries(st.sampled_from([f.name for f in fields(View)]) | st.text(), st.text()))
def test_no_address_is_too_odd(params: dict[str, str]) -> None:
    view, problems = View.from_params(params)
    assert View.from_params(view.to_params()) == (view, [])
    assert len(problems) <= len(params)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"layer": "-2"}, "The address has layer='-2'; it must be a whole number from -1 to 999."),
        (
            {"layer": "1.5"},
            "The address has layer='1.5'; it must be a whole number from -1 to 999.",
        ),
        (
            {"row": "\u0663"},
            "The address has row='\u0663'; it must be a whole number from -1 to 9999.",
        ),
        ({"top_p": "nan"}, "The address has top_p='nan'; it must be a number from 0.05 to 1."),
        ({"seed": "2147483648"}, "a whole number from 0 to 2147483647."),
        (
            {"kind": "both"},
            "The address has kind='both'; it must be one of encoder, decoder, cross.",
        ),
        ({"token": "3"}, 'The address asks for "token", which this app does not know.'),
        (
            {"tokens": "3"},
            "The address has tokens='3'; it must be q or k and a position, like \"q3,k5\".",
        ),
        ({"heads": "3.2,"}, 'layer.head with commas, like "3.2,3.4".'),
        ({"off": "x3.2"}, 'e, d or c and layer.head or a layer, with commas, like "e3.2,c5".'),
        ({"paint": "c5.1.3:2x0"}, "then keys and weights from 1 to 100, like"),
        ({"force": "2:x"}, 'a step and a piece\'s id, like "2:1234".'),
        (
            {"view": "head"},
            "must be one of heads, model, heatmap, query-key, decoding, compare.",
        ),
    ],
)
def test_what_makes_no_sense_is_named_and_left_out(params: dict[str, str], problem: str) -> None:
    view, problems = View.from_params(params)
    assert view == View()
    assert [problem in found for found in problems] == [True]


@given(views)
def test_every_view_is_a_decoding_that_exists(view: View) -> None:
    options = view.decoding()
    target = options.pop("target", None)
    assert (target is not None) == (view.method == "forced")
    if target is None:
        assert Decoding.of(options).method == view.method
