"""The view of a session, which survives a change of page, and its synchronisation with the URL.

The view is the single source of truth. A widget made with `bound` shows a field of the view and
writes changes back. The URL follows the view; the view follows the URL when the visitor opens a
link or goes back in the browser's history. Each page keeps its own fields; the URL contains those
of the open page and the shared ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NoReturn, overload
from urllib.parse import urlsplit

import streamlit as st

from transformer.figures.glossary import tip
from transformer.ui.base.address import View
from transformer.ui.base.registry import (
    BY_PATH,
    CLIENT_PAGES,
    HOME,
    PAGES,
    Values,
    ViewType,
    make_view,
    model_defaults,
    parse_params,
)

# Session keys.
_REQUESTED_PLACE = "requested place"
# A page to open with parameters, and whether a rerun has gone there.
_VIEW, _PAGE = "view", "page"
_WRITTEN_ADDRESS = "written"  # the last page that was drawn completely, with its address then
# The session's first page with its address and the parameters of its view once it is drawn; None
# after a user action.
_OPENED_ADDRESS = "opened address"
_ACTING_PAGE = "acted"  # set after a user action: the page whose widget it was
MAX_CHARACTERS = 40_000
"""Maximum characters of a text in the view: Streamlit accepts addresses up to 524,288 characters,
and a character takes up to 12 of them. Pages explain their own, smaller limits."""
SIZE_COOKIE = "heads_up_size"
"""Cookie that keeps the larger drawing until the browser is closed, for any address."""


@overload
def view() -> View: ...
@overload
def view(kind: type[ViewType]) -> ViewType: ...
def view(kind: type[View] = View) -> View:
    """Return the session's view: the shared fields, or those and the fields of one page."""
    return make_view(kind, st.session_state.get(_VIEW, {}))


def page_view() -> Any:
    """Return the session's view with the fields of the open page."""
    return view(_page())


def params(file: str) -> dict[str, str]:
    """Return the URL parameters of a page for the session's view."""
    return view(PAGES[file].view).to_params()


def change(page: str = "", /, **values: Any) -> None:
    """Change fields of the view because of a user action; for callbacks.

    Args:
        page: the file of the page whose fields `values` may contain, besides the shared ones; by
            default, the page of the widget.
    """
    st.session_state[_ACTING_PAGE] = _running_page()
    st.session_state[_OPENED_ADDRESS] = None  # this may come before the first run has ended
    if not page:
        page = _page_of_widget(values)
    if values.get("model", view().model) != view().model:
        _store(model_defaults())
    set_fields(page, **values)


def bound(name: str) -> dict[str, Any]:
    """Return the arguments that bind a widget to the field `name` of the open page's view, with its
    label, and a tooltip if the label is a term of the glossary.

    Streamlit deletes the key of a widget that is not drawn; the view keeps its value.
    """
    field, key = _page().fields()[name], _key(name)
    if key not in st.session_state:
        st.session_state[key] = getattr(view(_page()), name)
    label = {"label": field.label, "help": tip(field.label)} if field.label else {}
    return {**label, "key": key, "on_change": _on_widget_change, "args": (name, key)}


def bound_number(name: str) -> dict[str, Any]:
    """Return the arguments of `bound`, with minimum and maximum."""
    field = _page().fields()[name]
    low, high = (type(field.default)(end) for end in field.bounds)
    return {**bound(name), "min_value": low, "max_value": high}


def bound_choice(name: str) -> dict[str, Any]:
    """Return the arguments of `bound`, with the options."""
    names = _page().fields()[name].names
    return {**bound(name), "options": list(names), "format_func": names.__getitem__}


def set_fields(page: str = "", /, **values: Any) -> None:
    """Set fields of the view without a user action, for example to correct an invalid value."""
    view_type = PAGES[page].view if page else _page()
    values_by_view: Values = {}
    for name, value in values.items():
        if isinstance(value, str):
            value = value[:MAX_CHARACTERS]
        if name not in view_type.fields():
            raise ValueError(
                f"{view_type.__name__} has no field {name!r}; it must declare it first."
            )
        values_by_view.setdefault((view_type if name in view_type.own() else View).__name__, {})[
            name
        ] = value
    _store(values_by_view)


def clamp(n_layers: int, n_heads: int) -> list[str]:
    """Limit layer and head to those of the model; return a sentence for each that was too large."""
    problems = []
    for name, count in (("layer", n_layers), ("head", n_heads)):
        index = getattr(view(), name)
        if index >= count:
            problems.append(
                f"The address has {name}={index}, counted from 0; in this model it must be from 0 "
                f"to {count - 1}."
            )
            set_fields(**{name: count - 1})
    return problems


def is_large() -> bool:
    """Return whether everything is drawn larger and at full width, for a projector."""
    return view().size == "large"


def _restore_size() -> None:
    """Restore the size of the browser's last session, whose cookie `frame.js` sets."""
    if st.context.cookies.get(SIZE_COOKIE) == "large":
        set_fields(size="large")


def open_address(page: str) -> list[str]:
    """Update the view from the URL, before anything is drawn; return one sentence per problem.

    The URL is ignored if this session wrote it, or if it is older than the user action that caused
    this rerun.
    """
    # At the very beginning: a newer rerun may stop this one at any later Streamlit call.
    previous_page = st.session_state.get(_PAGE)
    st.session_state[_PAGE] = page
    url_params = dict(st.query_params.items())
    acting_page = st.session_state.pop(_ACTING_PAGE, None)
    has_acted = acting_page is not None
    if page in CLIENT_PAGES:
        _open_client_address(page, url_params, has_acted)
        return []
    has_view = _VIEW in st.session_state
    if not has_view:
        st.session_state[_OPENED_ADDRESS] = page, url_params, None
        _restore_size()
    if previous_page and previous_page != page == acting_page:
        # The message came from a widget of the page that the user has just left, and returned the
        # browser to it. Continue to the new page.
        st.session_state[_WRITTEN_ADDRESS] = previous_page, params(previous_page)
        st.switch_page(previous_page, query_params=params(previous_page))
    if has_view and (has_acted or (page, url_params) == st.session_state.get(_WRITTEN_ADDRESS)):
        # Now, as this rerun may be stopped before it writes the new address.
        st.session_state[_WRITTEN_ADDRESS] = page, url_params
        return []
    values, problems = parse_params(page, url_params)
    view_type = _page()
    defaults = {name: field.default for name, field in view_type.fields().items() if field.linked}
    set_fields(**{**defaults, **values[View.__name__], **values[view_type.__name__]})
    return problems


def _open_client_address(page: str, url_params: dict[str, str], has_acted: bool) -> None:
    """Take the view from the address of a page whose address the client owns and corrects."""
    if has_acted and _VIEW in st.session_state:
        return
    if _VIEW not in st.session_state:
        _restore_size()
    leave_client(page, url_params)


def leave_client(page: str, params: Mapping[str, str]) -> None:
    """Take the view from these parameters, which one of `CLIENT_PAGES` has in its address.

    The page Learn has no sentence and no head: those of the page before stay.
    """
    view_type = PAGES[page].view
    values, _ = parse_params(page, params)
    kept = view_type.fields().keys() - {"lesson", "lesson_text", "model", *view_type.own()}
    defaults = {
        name: field.default
        for name, field in view_type.fields().items()
        if field.linked and (page == HOME or name not in kept)
    }
    set_fields(page, **{**defaults, **values[View.__name__], **values[view_type.__name__]})


def request_place(file: str, params: Mapping[str, str] | None = None) -> None:
    """Open a page in this rerun; for callbacks. Without parameters it is the page as the visitor
    has left it, after all other changes of this rerun."""
    st.session_state[_REQUESTED_PLACE] = file, params, False


def request_link(file: str, params: Mapping[str, str]) -> None:
    """Open the page of a link with the link's values of the page's own fields; for callbacks. The
    shared fields are those of the view, as they may have changed since the link was drawn."""
    values, _ = parse_params(file, params)
    view = make_view(PAGES[file].view, values)
    set_fields(file, **{name: getattr(view, name) for name in view.own()})
    request_place(file)


def go_to_requested_place(page: str) -> None:
    """Go to the place that a callback has requested, if it is not open yet.

    A message of the page that is being left may interrupt the rerun that opens the place; the rerun
    of that message goes there again.
    """
    file, place, is_on_the_way = st.session_state.get(_REQUESTED_PLACE, (page, None, True))
    if file == page and is_on_the_way:
        st.session_state.pop(_REQUESTED_PLACE, None)
        return
    st.session_state.pop(_ACTING_PAGE, None)
    place = params(file) if place is None else place
    st.session_state[_REQUESTED_PLACE] = file, place, True
    st.switch_page(file, query_params=place)


def write_address() -> None:
    """Write the view into the URL if it differs, after everything is drawn.

    A written URL is a new entry of the browser's history. So the URL that the visitor has opened
    stays as it is if the page has only filled in defaults, such as the model, until the visitor
    goes elsewhere.
    """
    page, view_type, url_params = st.session_state[_PAGE], _page(), dict(st.query_params.items())
    values, problems = parse_params(page, url_params)
    linked = {name for name, field in view_type.fields().items() if field.linked}
    params = view(view_type).to_params()
    if not problems and _stays_as_opened(page, url_params, params):
        st.session_state[_WRITTEN_ADDRESS] = page, url_params
        return
    if (
        problems
        or not url_params.keys() <= linked
        or make_view(view_type, values).to_params() != params
    ):
        st.query_params.from_dict(params)
    st.session_state[_WRITTEN_ADDRESS] = page, dict(st.query_params.items())


def _stays_as_opened(page: str, url_params: dict[str, str], params: dict[str, str]) -> bool:
    """Return whether the URL is the one that the visitor has opened, and the view differs from it
    only by what the page has filled in since it opened."""
    opened_page, opened_url, opened_params = st.session_state.get(_OPENED_ADDRESS) or (None,) * 3
    if (opened_page, opened_url) != (page, url_params):
        st.session_state[_OPENED_ADDRESS] = None
        return False
    if opened_params is None:
        opened_params = params
        st.session_state[_OPENED_ADDRESS] = page, url_params, params
    with_model = {**url_params, "model": opened_params.get("model", "")}
    return params in (opened_params, with_model) and url_params.items() <= params.items()


def rerun_page() -> NoReturn:
    """Rerun the whole page from a fragment, with the session's view.

    A fragment's periodic rerun has the URL of the browser at that time, which may be older than the
    view; without this, the rerun would go back to it.
    """
    write_address()
    st.rerun()


def _store(changes: Values) -> None:
    """Store fields in the views that declare them and in the widgets that show them."""
    stored: Values = st.session_state.get(_VIEW, {})
    owners = dict.fromkeys([*stored, *changes])
    st.session_state[_VIEW] = {
        owner: {**stored.get(owner, {}), **changes.get(owner, {})} for owner in owners
    }
    current = view(_page())
    session_values = st.session_state.to_dict()  # once, as each access to the session is slow
    for name in current.fields():
        key, value = f"{session_values[_PAGE]}:{name}", getattr(current, name)
        if key in session_values and session_values[key] != value:
            st.session_state[key] = value


def _on_widget_change(name: str, key: str) -> None:
    value, page = st.session_state[key], key.partition(":")[0]
    if isinstance(value, bool):
        value = int(value)  # a toggle; fields are numbers or texts
    # On a slow machine a removed widget may send its old value again: no change.
    if value is not None and value != getattr(view(PAGES[page].view), name):
        change(page, **{name: value})


def _page_of_widget(names: Collection[str]) -> str:
    """Return the page whose widget changes these fields: the running one, if it has them."""
    open_page: str = st.session_state.get(_PAGE, HOME)
    pages = (_running_page(), open_page)
    return next((p for p in pages if set(names) <= PAGES[p].view.fields().keys()), open_page)


def _running_page() -> str:
    """Return the page that this run draws: that of the widget whose callback asks. While the
    browser is changing pages, it is not the page that the session has opened."""
    open_page: str = st.session_state.get(_PAGE, HOME)
    return BY_PATH.get(urlsplit(st.context.url or "").path.rpartition("/")[2], open_page)


def _page() -> type[View]:
    """Return the view class of the open page."""
    return PAGES[st.session_state.get(_PAGE, HOME)].view


def _key(name: str) -> str:
    """Return the widget key of this field on the open page; each page has its own widget."""
    return f"{st.session_state[_PAGE]}:{name}"
