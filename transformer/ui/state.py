"""What one browser session remembers: its view, kept when the page changes, and the address.

The view is the truth. A widget made with `bound` shows a field of it and writes back when it is
changed. The address follows the view, and the view follows the address when somebody opens a link
or goes back in the browser's history. Each page remembers its own fields; only those of the open
one, and what all share, stand in the address.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, NoReturn, overload

import streamlit as st

from transformer.figures.glossary import tip
from transformer.ui.address import View
from transformer.ui.shell.registry import (
    HOME,
    PAGES,
    Values,
    ViewType,
    make_view,
    model_defaults,
    parse_params,
)

_VIEW, _PAGE, _WRITTEN, _ACTED, _VISIT = "view", "page", "written", "acted", "visit"
_BY_LINK = "by link"
SIZE_COOKIE = "heads_up_size"
"""Cookie that keeps the larger drawing until the browser is closed, whatever address is opened."""
_view_cache = threading.local()
"""Of the thread that draws: the views made of the session's values, which are asked for forty times
and put anew as a whole."""
# _WRITTEN is the last page whose drawing came to its end, with the address that it had then.
# _ACTED is there after the user did something; it names the page whose widget it was, if known.


@overload
def view() -> View: ...
@overload
def view(kind: type[ViewType]) -> ViewType: ...
def view(kind: type[View] = View) -> View:
    """What this session looks at now: what all pages share, or that and a page's own."""
    values = st.session_state.get(_VIEW, {})
    if getattr(_view_cache, "values", None) is not values:
        _view_cache.values, _view_cache.made = values, {}
    if kind not in _view_cache.made:
        _view_cache.made[kind] = make_view(kind, values)
    current: View = _view_cache.made[kind]
    return current


def page_view() -> Any:
    """What this session looks at, with the fields of the open page."""
    return view(_page())


def params(file: str) -> dict[str, str]:
    """The address of this page, with what this session looks at there."""
    return view(PAGES[file].view).to_params()


def change(page: str = "", /, **values: Any) -> None:
    """Look at something else, because the user did something; for callbacks, which run first.

    Args:
        page: the file of the page whose fields `values` may be, and those that all share; the open
            one by default.
    """
    st.session_state[_ACTED] = ""
    if values.get("model", view().model) != view().model:
        _store(model_defaults())
    set_fields(page, **values)


def replace_view(page: str, new: View) -> None:
    """Look at another view whole, as if its address had been opened; for callbacks."""
    change(page, **{field.name: getattr(new, field.name) for field in fields(new)})
    st.session_state[_VISIT] = visit() + 1


def open_view(page: str, new: View) -> None:
    """As `replace_view`, before anything is drawn, by the app."""
    set_fields(page, **{field.name: getattr(new, field.name) for field in fields(new)})
    st.session_state[_VISIT] = visit() + 1


def open_params(page: str, params: Mapping[str, str], keep: Collection[str] = ()) -> None:
    """Look at what these parameters of an address say, as if it had been opened; by the app. What
    is in no address stays as it is, and so do the fields to `keep`; what makes no sense is left
    out."""
    view_type = PAGES[page].view
    new = make_view(view_type, parse_params(page, params)[0])
    linked = [
        name for name, field in view_type.fields().items() if field.linked and name not in keep
    ]
    set_fields(page, **{name: getattr(new, name) for name in linked})
    st.session_state[_VISIT] = visit() + 1


def bound(name: str) -> dict[str, Any]:
    """Arguments that tie a widget to the field `name` of the open page's view, with its label, and
    its tooltip where that is a term.

    A widget that is not drawn loses its key; it finds its value in the view when it returns.
    """
    field, key = _page().fields()[name], _key(name)
    if key not in st.session_state:
        st.session_state[key] = getattr(view(_page()), name)
    label = {"label": field.label, "help": tip(field.label)} if field.label else {}
    return {**label, "key": key, "on_change": _on_widget_change, "args": (name, key)}


def bound_number(name: str) -> dict[str, Any]:
    """As `bound`, with the least and the greatest number."""
    field = _page().fields()[name]
    low, high = (type(field.default)(end) for end in field.bounds)
    return {**bound(name), "min_value": low, "max_value": high}


def bound_choice(name: str) -> dict[str, Any]:
    """As `bound`, with the words to choose from."""
    names = _page().fields()[name].names
    return {**bound(name), "options": list(names), "format_func": names.__getitem__}


def set_fields(page: str = "", /, **values: Any) -> None:
    """As `change`, but by the app, to repair what cannot be."""
    view_type = PAGES[page].view if page else _page()
    values_by_view: Values = {}
    for name, value in values.items():
        if name not in view_type.fields():
            raise ValueError(
                f"{view_type.__name__} has no field {name!r}; it must declare it first."
            )
        values_by_view.setdefault((view_type if name in view_type.own() else View).__name__, {})[
            name
        ] = value
    _store(values_by_view)


def clamp(n_layers: int, n_heads: int) -> list[str]:
    """Bring layer and head within the model; returns a sentence for each that was not."""
    problems = []
    for name, count in (("layer", n_layers), ("head", n_heads)):
        index = getattr(view(), name)
        if index >= count:
            problems.append(
                f"There is no {name} {index} in this model; it has {count}, from 0 to {count - 1}."
            )
            set_fields(**{name: count - 1})
    return problems


def is_large() -> bool:
    """Whether all is drawn larger, over the whole width, for a projector."""
    return view().size == "large"


def toggle_larger() -> None:
    """For a projector, or no longer; for a callback. What is drawn in the browser hears of it as of
    another view."""
    change(size="normal" if is_large() else "large")
    st.session_state[_VISIT] = visit() + 1


def _restore_size() -> None:
    """Keep a new session as large as the browser's last one; `copylink.js` sets the cookie."""
    if st.context.cookies.get(SIZE_COOKIE) == "large":
        set_fields(size="large")


def visit() -> int:
    """Grows when the view came from the page's opening or from the address, not from a widget."""
    count: int = st.session_state.get(_VISIT, 0)
    return count


def open_address(page: str) -> list[str]:
    """Before anything is drawn: take over the address where it is news. Returns what is wrong
    with it, a sentence each.

    Not news is an address that this session wrote itself; one that is older than what the user
    has just done in a widget; or, but for the page's own fields, that of a link from page to page,
    which carries what all share as it is or as it was before the last change.
    """
    # First of all, for another rerun may end this one at any of its next calls.
    before = st.session_state.get(_PAGE)
    st.session_state[_PAGE] = page
    written = dict(st.query_params.items())
    actor = st.session_state.pop(_ACTED, None)
    acted, turned = actor is not None, before != page
    st.session_state[_BY_LINK] = not acted and not turned
    has_view = _VIEW in st.session_state
    if not has_view:
        _restore_size()
    if before and turned and actor == page:
        # A widget of a page that the user has just left spoke last, and took the browser back
        # with it. Go on to where the user went. (If it spoke together with the click on the link,
        # the browser is where it should be.)
        st.session_state[_WRITTEN] = before, params(before)
        st.switch_page(before, query_params=params(before))
    is_own_address = (page, written) == st.session_state.get(_WRITTEN)
    stale = has_view and (turned or acted or is_own_address)
    if turned or not stale:
        st.session_state[_VISIT] = visit() + 1
    values, problems = parse_params(page, written)
    view_type = _page()
    if stale and turned:
        set_fields(
            **{name: getattr(make_view(view_type, values), name) for name in view_type.own()}
        )
    if stale:
        return []
    bare = {name: field.default for name, field in view_type.fields().items() if field.linked}
    set_fields(**{**bare, **values.pop(View.__name__, {}), **values.pop(view_type.__name__, {})})
    if values:  # an old address may hold fields of other pages
        _store(values)
    return problems


def ignore_address() -> None:
    """For a callback of what asks for the page by itself: the address that comes with it may be
    older than what the visitor has just done, and is not news."""
    st.session_state.setdefault(_ACTED, "")


def write_address() -> None:
    """After everything is drawn: the address bar shows the view, where it does not already."""
    page, view_type, written = st.session_state[_PAGE], _page(), dict(st.query_params.items())
    values, problems = parse_params(page, written)
    linked = {name for name, field in view_type.fields().items() if field.linked}
    params = view(view_type).to_params()
    if (
        problems
        or not written.keys() <= linked
        or make_view(view_type, values).to_params() != params
    ):
        st.query_params.from_dict(params)
    elif st.session_state.get(_BY_LINK) and (page, written) != st.session_state.get(_WRITTEN):
        # A link to the page it stands on tells the server only: the bar would keep the old address,
        # and whatever the browser asks for next would bring that back. A view writes its own there,
        # and may have written the next one since. One to another page brings its own: what the
        # browser hears before it has turned, it puts into the history of the page that was left.
        st.query_params.from_dict(written)
    st.session_state[_WRITTEN] = page, dict(st.query_params.items())


def rerun_page() -> NoReturn:
    """From a fragment: draw the whole page, with what this session looks at.

    A fragment asks by its clock with the address the browser has by then, which may be older than
    what the page shows, and the new drawing would go back to that.
    """
    write_address()
    st.rerun()


def _store(changes: Values) -> None:
    """These fields of the views that declare them, and in the widgets that show them."""
    stored: Values = st.session_state.get(_VIEW, {})
    owners = dict.fromkeys([*stored, *changes])
    st.session_state[_VIEW] = {
        owner: {**stored.get(owner, {}), **changes.get(owner, {})} for owner in owners
    }
    current, held = (
        view(_page()),
        st.session_state.to_dict(),
    )  # one word with the session, not eighty
    for name in current.fields():
        key, value = f"{held[_PAGE]}:{name}", getattr(current, name)
        if key in held and held[key] != value:
            st.session_state[key] = value


def _on_widget_change(name: str, key: str) -> None:
    value = st.session_state[key]
    if isinstance(value, bool):
        value = int(value)  # of a switch; a field is a number or a word
    # What it says once more when it is gone, on a slow machine, is no news.
    if value is not None and value != getattr(page_view(), name, value):
        change(**{name: value})
        st.session_state[_ACTED] = key.partition(":")[0]


def _page() -> type[View]:
    """What the open page looks at."""
    return PAGES[st.session_state.get(_PAGE, HOME)].view


def _key(name: str) -> str:
    """The key of the widget for this field on this page: another page's is another widget."""
    return f"{st.session_state[_PAGE]}:{name}"
