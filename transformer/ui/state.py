"""What one browser session remembers: its view, kept when the page changes, and the address.

The view is the truth. A widget made with `bound` shows a field of it and writes back when it is
changed. The address follows the view, and the view follows the address when somebody opens a link
or goes back in the browser's history.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import streamlit as st

from transformer.ui.address import View

_VIEW, _PAGE, _WRITTEN, _ACTED, _VISIT = "view", "page", "written", "acted", "visit"
# _ACTED is there after the user did something; it names the page whose widget it was, if known.


def view() -> View:
    """What this session looks at now."""
    found: View = st.session_state.get(_VIEW, View())
    return found


def change(**values: Any) -> None:
    """Look at something else, because the user did something; for callbacks, which run first."""
    st.session_state[_ACTED] = ""
    _put(replace(view(), **values))


def turn_to(new: View) -> None:
    """Look at another view whole, as if its address had been opened; for callbacks."""
    change(**{field.name: getattr(new, field.name) for field in fields(View)})
    st.session_state[_VISIT] = visit() + 1


def bound(name: str) -> dict[str, Any]:
    """Arguments that tie a widget to the field `name` of the view.

    A widget that is not drawn loses its key; it finds its value in the view when it returns.
    """
    key = _key(name)
    if key not in st.session_state:
        st.session_state[key] = getattr(view(), name)
    return {"key": key, "on_change": _take, "args": (name, key)}


def settle(**values: Any) -> None:
    """As `change`, but by the app, to repair what cannot be."""
    _put(replace(view(), **values))


def fit(n_layers: int, n_heads: int) -> list[str]:
    """Bring layer and head within the model; returns a sentence for each that was not."""
    problems = []
    for name, count in (("layer", n_layers), ("head", n_heads)):
        asked = getattr(view(), name)
        if asked >= count:
            problems.append(
                f"There is no {name} {asked} in this model; it has {count}, from 0 to {count - 1}."
            )
            settle(**{name: count - 1})
    return problems


def visit() -> int:
    """Grows when the view came from the page's opening or from the address, not from a widget."""
    count: int = st.session_state.get(_VISIT, 0)
    return count


def open_address(page: str) -> list[str]:
    """Before anything is drawn: take over the address where it is news. Returns what is wrong
    with it, a sentence each.

    Not news is an address that this session wrote itself; one that is older than what the user
    has just done in a widget; or that of a link from page to page, which carries the same view or
    the one before the last change.
    """
    # First of all, for another rerun may end this one at any of its next calls.
    before = st.session_state.get(_PAGE)
    st.session_state[_PAGE] = page
    params = dict(st.query_params.items())
    actor = st.session_state.pop(_ACTED, None)
    acted = actor is not None
    turned = before != page
    known = _VIEW in st.session_state
    if before and turned and actor == page:
        # A widget of a page that the user has just left spoke last, and took the browser back
        # with it. Go on to where the user went. (If it spoke together with the click on the link,
        # the browser is where it should be.)
        st.session_state[_WRITTEN] = view().to_params()
        st.switch_page(before, query_params=view().to_params())
    stale = known and (turned or acted or params == st.session_state.get(_WRITTEN))
    if turned or not stale:
        st.session_state[_VISIT] = visit() + 1
    if stale:
        return []
    found, problems = View.from_params(params)
    _put(found)
    return problems


def write_address() -> None:
    """After everything is drawn: the address bar shows the view, where it does not already."""
    found, problems = View.from_params(st.query_params)
    if problems or found != view():
        st.query_params.from_dict(view().to_params())
    st.session_state[_WRITTEN] = dict(st.query_params.items())


def _put(new: View) -> None:
    st.session_state[_VIEW] = new
    for field in fields(View):
        key, value = _key(field.name), getattr(new, field.name)
        if key in st.session_state and st.session_state[key] != value:
            st.session_state[key] = value


def _take(name: str, key: str) -> None:
    value = st.session_state[key]
    if value is not None:
        change(**{name: value})
        st.session_state[_ACTED] = key.partition(":")[0]


def _key(name: str) -> str:
    """Of the widget for this field on this page: another page's is another widget."""
    return f"{st.session_state[_PAGE]}:{name}"
