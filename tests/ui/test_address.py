"""An address brings back the view it was made of, and says what is wrong with any other."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.inference.options import Decoding
from transformer.ui.address import KINDS, METHODS, RANGES, View


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
    method=st.sampled_from(list(METHODS)),
    kind=st.sampled_from(list(KINDS)),
    **{name: number(name) for name in RANGES},
)


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
        ({"layer": "-1"}, "The address has layer='-1'; it must be a whole number from 0 to 999."),
        ({"layer": "1.5"}, "The address has layer='1.5'; it must be a whole number from 0 to 999."),
        ({"top_p": "nan"}, "The address has top_p='nan'; it must be a number from 0.05 to 1."),
        ({"seed": "2147483648"}, "a whole number from 0 to 2147483647."),
        (
            {"kind": "both"},
            "The address has kind='both'; it must be one of encoder, decoder, cross.",
        ),
        ({"tokens": "3"}, 'The address asks for "tokens", which this app does not know.'),
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
