"""Addresses restore their views and report invalid fields; the app writes them when it must."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

from tests.session import SessionDict
from transformer.figures.state import Field
from transformer.figures.views import EXPLORER
from transformer.ui.base import state
from transformer.ui.base.address import View
from transformer.ui.base.registry import (
    HOME,
    PAGES,
    make_view,
    model_defaults,
    parse_params,
)

FILES = {page.view: file for file, page in PAGES.items()}
ALL_FIELDS = sorted({name for view_type in FILES for name in view_type.fields()})


def field_values(field: Field) -> st.SearchStrategy[object]:
    if isinstance(field.default, int):
        return st.integers(*map(int, field.bounds))
    if isinstance(field.default, float):
        return st.floats(*field.bounds)
    if field.choices:
        return st.sampled_from(list(field.choices))
    if field.form[0]:
        return st.from_regex(re.compile(field.form[0], re.ASCII), fullmatch=True)
    return st.text()


def views_of(view_type: type[View]) -> st.SearchStrategy[View]:
    linked = {name: field for name, field in view_type.fields().items() if field.linked}
    return st.builds(view_type, **{name: field_values(field) for name, field in linked.items()})


views = st.sampled_from(list(FILES)).flatmap(views_of)


def open_address(file: str, params: dict[str, str]) -> tuple[View, list[str]]:
    values, problems = parse_params(file, params)
    return make_view(PAGES[file].view, values), problems


@pytest.mark.parametrize("view_type", FILES)
def test_every_default_is_valid_in_an_address(view_type: type[View]) -> None:
    default = view_type()
    for name, field in view_type.fields().items():
        assert getattr(default, name) == field.default
        if field.default != "" or not field.choices:
            assert field.read(field.default) == field.default
    assert default.to_params() == {}


@given(views)
def test_an_address_restores_its_view(view: View) -> None:
    assert open_address(FILES[type(view)], view.to_params()) == (view, [])


@given(
    st.sampled_from(list(PAGES)),
    st.dictionaries(st.sampled_from(ALL_FIELDS) | st.text(), st.text()),
)
def test_any_address_can_be_opened(file: str, params: dict[str, str]) -> None:
    view, problems = open_address(file, params)
    assert open_address(file, view.to_params()) == (view, [])
    assert len(problems) <= len(params)


def test_fields_that_no_address_of_the_page_has_are_reported() -> None:
    values, problems = parse_params(HOME, {"wrong": "1", "pin": "s1", "size": "large"})
    message = 'The address has the field "{}", which this page does not have.'
    assert problems == [message.format("wrong"), message.format("size")]
    assert values == {"View": {}, "Home": {"pin": "s1"}}


def test_fields_of_another_page_are_left_out() -> None:
    """After a reload, Streamlit may send the parameters of the page that one goes back from."""
    [(file, name)] = [(f, "topic") for f, page in PAGES.items() if "topic" in page.view.own()]
    assert file != HOME
    assert open_address(HOME, {name: "waves", "pin": "s1"})[1] == []
    view, _ = open_address(HOME, {name: "waves", "pin": "s1"})
    assert view.to_params() == {"pin": "s1"}


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
        ({"token": "3"}, 'The address has the field "token", which this page does not have.'),
        (
            {"tokens": "3"},
            "The address has tokens='3'; it must be q or k and a position, like \"q3,k5\".",
        ),
        ({"heads": "3.2,"}, 'layer.head with commas, like "3.2,3.4".'),
        ({"off": "x3.2"}, 'e, d or c and layer.head or a layer, with commas, like "e3.2,c5".'),
        ({"edited_row": "c5.1.3:2x0"}, "then keys and weights from 1 to 100, like"),
        ({"force": "2:x"}, 'a step and a token\'s id, like "2:1234".'),
        ({"view": "head"}, f"must be one of {', '.join(EXPLORER)}."),
    ],
)
def test_invalid_parameters_are_reported_and_ignored(params: dict[str, str], problem: str) -> None:
    (name,) = params
    for file in (f for f in PAGES if name == "token" or name in PAGES[f].view.fields()):
        view, problems = open_address(file, params)
        assert view == PAGES[file].view()
        assert [problem in text for text in problems] == [True]


def test_fields_that_depend_on_the_model_are_reset() -> None:
    assert model_defaults() == {
        "Home": {"off": "", "why": -1, "force": ""},
    }


OLD_PARAMS = {"text": "A dog sleeps."}
NEW_PARAMS = {**OLD_PARAMS, "pin": "s2"}


class AddressBar(SessionDict):
    """The browser's address, and a list of the addresses that reruns have written."""

    def __init__(self) -> None:
        super().__init__(OLD_PARAMS)
        self.written: list[dict[str, str]] = []

    def from_dict(self, params: dict[str, str]) -> None:
        self.data = dict(params)
        self.written.append(self.data)


@pytest.fixture
def address_bar(monkeypatch: pytest.MonkeyPatch) -> AddressBar:
    query_params = AddressBar()
    monkeypatch.setattr(streamlit, "session_state", SessionDict())
    monkeypatch.setattr(streamlit, "query_params", query_params)
    rerun(query_params, OLD_PARAMS)
    query_params.written.clear()
    return query_params


class OtherPage(Exception):
    """Ends a script run as `st.switch_page` does."""


@pytest.fixture
def switches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    """The pages to which runs have switched, with their parameters."""
    switched: list[tuple[str, dict[str, str]]] = []

    def switch_page(file: str, query_params: dict[str, str]) -> None:
        switched.append((file, query_params))
        raise OtherPage

    monkeypatch.setattr(streamlit, "switch_page", switch_page)
    return switched


def show_page(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Let the browser show a page whose widget calls back."""
    context = SimpleNamespace(url=f"http://localhost:8501/{path}")
    monkeypatch.setattr(streamlit, "context", context)


def rerun(address_bar: AddressBar, params: dict[str, str], page: str = HOME) -> None:
    address_bar.data = dict(params)
    state.open_address(page)
    state.write_address()


def test_an_address_written_by_a_view_is_not_written_again(address_bar: AddressBar) -> None:
    # The view may have written a newer address, which must not be replaced.
    state.change(pin="s2")
    rerun(address_bar, NEW_PARAMS)
    assert not address_bar.written
    assert state.page_view().to_params() == NEW_PARAMS


def test_a_text_in_the_view_is_bounded(address_bar: AddressBar) -> None:
    state.set_fields(text="the cat " * 500_000)
    assert len(state.view().text) == state.MAX_CHARACTERS


def test_a_widget_change_writes_the_address(address_bar: AddressBar) -> None:
    changes: dict[str, Any] = {"pin": "s2"}
    state.change(**changes)
    rerun(address_bar, OLD_PARAMS)
    assert address_bar.written == [NEW_PARAMS]


def test_a_link_to_another_page_keeps_its_address(address_bar: AddressBar) -> None:
    # Written before the page changes, the address would become part of the old page's history.
    rerun(address_bar, {**OLD_PARAMS, "topic": "waves"}, "pages/inside.py")
    assert not address_bar.written
    rerun(address_bar, NEW_PARAMS)
    assert not address_bar.written
    assert state.page_view().to_params() == NEW_PARAMS


def test_a_step_in_the_history_restores_the_shared_fields(address_bar: AddressBar) -> None:
    rerun(address_bar, {"text": "Old.", "topic": "waves"}, "pages/inside.py")
    assert state.page_view().to_params() == {"text": "Old.", "topic": "waves"}


@pytest.mark.parametrize("file", ["pages/inside.py", "pages/glossary.py"])
def test_a_link_sets_only_the_fields_of_its_page(
    address_bar: AddressBar, switches: list[tuple[str, dict[str, str]]], file: str
) -> None:
    """It may have been drawn before the last change of a shared field."""
    rerun(address_bar, OLD_PARAMS, file)
    state.request_link("pages/inside.py", {"text": "Old.", "topic": "waves"})
    state.change(layer=1)  # whose callback is called after that of the link
    with pytest.raises(OtherPage):
        state.go_to_requested_place(file)
    assert switches == [("pages/inside.py", {**OLD_PARAMS, "topic": "waves", "layer": "1"})]
    state.go_to_requested_place("pages/inside.py")
    rerun(address_bar, switches[0][1], "pages/inside.py")
    assert state.page_view().to_params() == switches[0][1]
    state.go_to_requested_place("pages/inside.py")  # nothing is requested any more


def test_an_invalid_address_of_another_page_is_corrected(address_bar: AddressBar) -> None:
    rerun(address_bar, {**OLD_PARAMS, "topic": "no such topic"}, "pages/inside.py")
    assert address_bar.written == [OLD_PARAMS]


def test_a_link_works_while_the_page_is_being_drawn(address_bar: AddressBar) -> None:
    """The browser may still send the previous page's address, which is invalid for this page."""
    address_bar.data = {**OLD_PARAMS, "topic": "waves"}
    state.open_address("pages/inside.py")  # the run is stopped before it is complete
    assert state.page_view().topic == "waves"
    rerun(address_bar, OLD_PARAMS, "pages/inside.py")
    assert state.page_view().topic == type(state.page_view())().topic
    assert state.page_view().to_params() == OLD_PARAMS


def test_an_outdated_address_is_ignored_even_after_an_interrupted_rerun(
    address_bar: AddressBar,
) -> None:
    inside, older = "pages/inside.py", {**OLD_PARAMS, "topic": "added"}
    newer = {**OLD_PARAMS, "topic": "waves"}
    rerun(address_bar, OLD_PARAMS, inside)
    state.change(**dict[str, Any](topic="waves"))
    address_bar.data = dict(older)
    state.open_address(inside)  # a newer rerun stops this one before it writes the address
    rerun(address_bar, older, inside)
    assert state.page_view().to_params() == newer
    assert address_bar.written == [newer]
    rerun(address_bar, older, inside)  # the visitor goes back to that address
    assert state.page_view().to_params() == older


def test_a_choice_on_a_page_that_was_just_left_is_stored_there(
    address_bar: AddressBar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser that is opening a page still shows the one before it."""
    inside = "pages/inside.py"
    rerun(address_bar, OLD_PARAMS, inside)
    show_page(monkeypatch, "")
    state.change(**dict[str, Any](pin="s2", layer=1))
    rerun(address_bar, OLD_PARAMS, inside)
    assert state.page_view().to_params() == {**OLD_PARAMS, "layer": "1"}
    rerun(address_bar, {**NEW_PARAMS, "layer": "1"})
    assert state.page_view().to_params() == {**NEW_PARAMS, "layer": "1"}


def test_a_choice_does_not_undo_a_click_on_a_link(
    address_bar: AddressBar,
    monkeypatch: pytest.MonkeyPatch,
    switches: list[tuple[str, dict[str, str]]],
) -> None:
    rerun(address_bar, OLD_PARAMS, "pages/inside.py")
    rerun(address_bar, OLD_PARAMS, "pages/glossary.py")
    show_page(monkeypatch, "inside")
    state.change(**dict[str, Any](topic="waves"))
    with pytest.raises(OtherPage):
        rerun(address_bar, OLD_PARAMS, "pages/inside.py")
    assert switches == [("pages/glossary.py", OLD_PARAMS)]


def test_a_field_that_neither_page_has_is_an_error(address_bar: AddressBar) -> None:
    rerun(address_bar, OLD_PARAMS, "pages/inside.py")
    with pytest.raises(ValueError, match="Inside has no field 'experiment'"):
        state.change(**dict[str, Any](experiment="roles"))
