"""An address brings back the view it was made of, and says what is wrong with any other; and who
writes what in the browser's address bar."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

from tests.session import SessionDict
from transformer.figures.state import DEFAULTS, Field
from transformer.figures.views import EXPLORER
from transformer.inference.options import Decoding
from transformer.ui import state
from transformer.ui.address import View
from transformer.ui.pages.attention import Attention
from transformer.ui.pages.lab import Lab
from transformer.ui.shell.registry import PAGES, make_view, model_defaults, parse_params
from transformer.ui.widgets import following

FILES = {page.view: file for file, page in PAGES.items()}
EVERY = sorted({name for kind in FILES for name in kind.fields()})


def values(field: Field) -> st.SearchStrategy[object]:
    if isinstance(field.default, int):
        return st.integers(*map(int, field.bounds))
    if isinstance(field.default, float):
        return st.floats(*field.bounds)
    if field.choices:
        return st.sampled_from(list(field.choices))
    if field.form[0]:
        return st.from_regex(re.compile(field.form[0], re.ASCII), fullmatch=True)
    return st.text()


def any_of(kind: type[View]) -> st.SearchStrategy[View]:
    linked = {name: field for name, field in kind.fields().items() if field.linked}
    return st.builds(kind, **{name: values(field) for name, field in linked.items()})


views = st.sampled_from(list(FILES)).flatmap(any_of)


def opened(file: str, params: dict[str, str]) -> tuple[View, list[str]]:
    found, problems = parse_params(file, params)
    return make_view(PAGES[file].view, found), problems


def test_the_attention_page_holds_the_explorers_whole_state() -> None:
    assert Attention().explorer() == DEFAULTS
    assert DEFAULTS.keys() <= Attention.fields().keys()
    assert View(layer=3).explorer() == {**DEFAULTS, "layer": 3}


@pytest.mark.parametrize("kind", FILES)
def test_every_first_value_is_one_that_the_address_takes(kind: type[View]) -> None:
    first = kind()
    for name, field in kind.fields().items():
        assert getattr(first, name) == field.default
        if field.default != "" or not field.choices:
            assert field.read(field.default) == field.default
    assert first.to_params() == {}


@given(views)
def test_an_address_brings_its_view_back(view: View) -> None:
    assert opened(FILES[type(view)], view.to_params()) == (view, [])


@given(st.sampled_from(list(PAGES)), st.dictionaries(st.sampled_from(EVERY) | st.text(), st.text()))
def test_no_address_is_too_odd(file: str, params: dict[str, str]) -> None:
    view, problems = opened(file, params)
    linked = replace(view, size="normal")  # an old address may have it, a new one does not
    assert opened(file, view.to_params()) == (linked, [])
    assert len(problems) <= len(params)


@given(any_of(Lab))
def test_an_old_address_reaches_every_page_that_it_speaks_of(view: View) -> None:
    assert isinstance(view, Lab)
    found, problems = parse_params(FILES[Attention], view.to_params())
    assert problems == []
    assert make_view(Lab, found) == view
    assert make_view(Attention, found).explorer() == view.explorer()


def test_what_is_wrong_with_another_pages_field_is_said_too() -> None:
    found, problems = parse_params(FILES[Attention], {"off": "x3.2", "d": "8192", "shift": "7"})
    for problem, start in zip(problems, ("off='x3.2'", "d='8192'"), strict=True):
        assert problem.startswith(f"The address has {start}; it must be ")
    assert found["Positions"] == {"shift": 7}


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
        ({"seed": "1_0"}, "The address has seed='1_0'; it must be a whole number from 0 to"),
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
        ({"view": "head"}, f"must be one of {', '.join(EXPLORER)}."),
    ],
)
def test_what_makes_no_sense_is_named_and_left_out(params: dict[str, str], problem: str) -> None:
    for file in PAGES:
        view, problems = opened(file, params)
        assert view == PAGES[file].view()
        assert [problem in found for found in problems] == [True]


def test_what_means_nothing_to_another_model_is_known() -> None:
    assert model_defaults() == {
        "Attention": {"force": "", "trace": "", "other_trace": ""},
        "Translate": {"force": ""},
    }


@given(any_of(View))
def test_every_view_is_a_decoding_that_exists(view: View) -> None:
    options = view.decoding()
    target = options.pop("target", None)
    assert (target is not None) == (view.method == "forced")
    if target is None:
        assert Decoding.of(options).method == view.method


def test_what_all_pages_share_belongs_to_none() -> None:
    assert View.own() == {}
    for kind in FILES:
        assert not kind.own().keys() & View.fields().keys()


ATTENTION = "pages/attention.py"
BEFORE = {"text": "A dog sleeps."}
NOW = {**BEFORE, "pin": "s2"}


class Bar(SessionDict):
    """The address that a rerun was asked for with; and what it writes there instead."""

    def __init__(self) -> None:
        super().__init__(BEFORE)
        self.written: list[dict[str, str]] = []

    def from_dict(self, params: dict[str, str]) -> None:
        self.data = dict(params)
        self.written.append(self.data)


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Bar:
    made = Bar()
    monkeypatch.setattr(streamlit, "session_state", SessionDict())
    monkeypatch.setattr(streamlit, "query_params", made)
    rerun(made, BEFORE)
    made.written.clear()
    return made


def rerun(bar: Bar, asked: dict[str, str], page: str = ATTENTION) -> None:
    bar.data = dict(asked)
    state.open_address(page)
    state.write_address()


def test_what_a_view_wrote_itself_is_not_written_again(bar: Bar) -> None:
    # It may have written the next one since: that would be taken back, and stand in the history.
    state.change(pin="s2")
    rerun(bar, NOW)
    assert not bar.written
    assert state.page_view().to_params() == NOW


def test_the_address_of_a_link_to_the_page_it_stands_on_is_written(bar: Bar) -> None:
    rerun(bar, NOW)
    assert bar.written == [NOW]


def test_what_a_widget_changed_is_written(bar: Bar) -> None:
    changes: dict[str, Any] = {"pin": "s2"}
    state.change(**changes)
    rerun(bar, BEFORE)
    assert bar.written == [NOW]


def test_the_address_of_a_link_to_another_page_is_its_own(bar: Bar) -> None:
    # What the browser hears before it has turned the page, it puts into the history of the old one.
    rerun(bar, {**BEFORE, "topic": "shift"}, "pages/positions.py")
    assert not bar.written
    rerun(bar, NOW)
    assert not bar.written
    assert state.page_view().to_params() == NOW


def test_an_address_of_another_page_that_makes_no_sense_is_put_right(bar: Bar) -> None:
    rerun(bar, {**BEFORE, "topic": "no such topic"}, "pages/positions.py")
    assert bar.written == [BEFORE]


def test_a_link_on_a_page_that_is_still_being_drawn_is_followed(bar: Bar) -> None:
    """Its address may be the one that the page before it had, which is no address of this page."""
    bar.data = {**BEFORE, "topic": "shift"}
    state.open_address("pages/positions.py")  # the drawing is ended before it comes to the end
    assert state.page_view().topic == "shift"
    rerun(bar, BEFORE, "pages/positions.py")
    assert state.page_view().topic == type(state.page_view())().topic
    assert state.page_view().to_params() == BEFORE


def test_what_asks_by_itself_brings_no_older_address(bar: Bar) -> None:
    """A busy browser hears of the class's news before it has shown what was just done."""
    state.change(**dict[str, Any](pin="s2"))
    rerun(bar, BEFORE)
    following._on_news()
    rerun(bar, BEFORE)
    assert state.page_view().to_params() == NOW
    assert bar.written == [NOW, NOW]


def test_an_address_that_was_ignored_is_not_followed_after_an_interrupted_rerun(bar: Bar) -> None:
    older = {**BEFORE, "pin": "s0"}
    state.change(**dict[str, Any](pin="s2"))
    bar.data = dict(older)
    state.open_address(ATTENTION)  # a newer rerun stops this one before it writes the address
    rerun(bar, older)
    assert state.page_view().to_params() == NOW
    assert bar.written == [NOW]
    rerun(bar, older)  # the visitor goes back to it
    assert state.page_view().to_params() == older
