"""The view of a session, which survives a change of page, and its synchronisation with the URL.

The view is the single source of truth. A widget made with `bound` shows a field of the view and
writes changes back. The URL follows the view; the view follows the URL when the visitor opens a
link or goes back in the browser's history. Each page keeps its own fields; the URL contains those
of the open page and the shared ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NoReturn, overload

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
from transformer.ui.base.streamlit_fixes.displayed_page import displayed_page

# Session keys.
_REQUESTED_PLACE, _ARRIVING = "requested place", "arriving"
# A page that a view opens with parameters, and whether a rerun has gone there; the page that is
# then opened with all of them.
_VIEW, _PAGE, _LEFT_PAGE, _BY_LINK = "view", "page", "left", "by link"
_WRITTEN_ADDRESS = "written"  # the last page that was drawn completely, with its address then
# The session's first page with its address and the parameters of its view once it is drawn; None
# after a user action.
_OPENED_ADDRESS = "opened address"
_ACTING_PAGE = "acted"  # set after a user action: the page of the widget, "" if unknown
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
    st.session_state[_ACTING_PAGE] = ""
    st.session_state[_OPENED_ADDRESS] = None  # this may come before the first run has ended
    if not page:
        page = _page_of_widget(values)
        st.session_state[_ACTING_PAGE] = page
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
    this rerun. A link between pages sets only the target page's own fields, because its shared
    fields are those of the view, or of the view before the last change. A step in the browser's
    history sets all fields; the browser then displays the target page already.
    """
    # At the very beginning: a newer rerun may stop this one at any later Streamlit call.
    previous_page = st.session_state.get(_PAGE)
    st.session_state[_PAGE] = page
    if previous_page not in (None, page):
        st.session_state[_LEFT_PAGE] = previous_page
    url_params = dict(st.query_params.items())
    acting_page = st.session_state.pop(_ACTING_PAGE, None)
    has_acted, has_changed_page = acting_page is not None, previous_page != page
    if page in CLIENT_PAGES:
        _open_client_address(page, url_params, has_acted)
        return []
    st.session_state[_BY_LINK] = not has_acted and not has_changed_page
    has_view = _VIEW in st.session_state
    if not has_view:
        st.session_state[_OPENED_ADDRESS] = page, url_params, None
        _restore_size()
    if previous_page and has_changed_page and acting_page == page:
        # The last message came from a widget of the page that the user has just left and returned
        # the browser to that page. Continue to the new page. (If the message came together with
        # the click on the link, the browser is already there.)
        st.session_state[_WRITTEN_ADDRESS] = previous_page, params(previous_page)
        st.switch_page(previous_page, query_params=params(previous_page))
    is_own_address = (page, url_params) == st.session_state.get(_WRITTEN_ADDRESS)
    is_arriving = st.session_state.pop(_ARRIVING, None) == page
    is_link = has_changed_page and displayed_file() != page and not is_arriving
    ignores_url = has_view and (is_link or has_acted or is_own_address)
    values, problems = parse_params(page, url_params)
    view_type = _page()
    if ignores_url and has_changed_page:
        set_fields(
            **{name: getattr(make_view(view_type, values), name) for name in view_type.own()}
        )
    if ignores_url:
        if has_acted and not has_changed_page:
            # Now, as this rerun may be stopped before it writes the new address.
            st.session_state[_WRITTEN_ADDRESS] = page, url_params
        return []
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
    kept = view_type.fields().keys() - {"lesson", "model", *view_type.own()}
    defaults = {
        name: field.default
        for name, field in view_type.fields().items()
        if field.linked and (page == HOME or name not in kept)
    }
    set_fields(page, **{**defaults, **values[View.__name__], **values[view_type.__name__]})


def request_place(file: str, params: Mapping[str, str]) -> None:
    """Open a page with these parameters in this rerun; for callbacks."""
    st.session_state[_REQUESTED_PLACE] = file, dict(params), False


def go_to_requested_place(page: str) -> None:
    """Go to the place that a callback has requested, if it is not open yet.

    A message of the page that is being left may interrupt the rerun that opens the place; the rerun
    of that message goes there again.
    """
    file, params, is_on_the_way = st.session_state.get(_REQUESTED_PLACE, (page, {}, True))
    if file == page and is_on_the_way:
        if st.session_state.pop(_REQUESTED_PLACE, None):
            st.session_state[_ARRIVING] = page
        return
    st.session_state[_REQUESTED_PLACE] = file, params, True
    st.switch_page(file, query_params=params)


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
    elif st.session_state.get(_BY_LINK) and (page, url_params) != st.session_state.get(
        _WRITTEN_ADDRESS
    ):
        # Streamlit does not update the address bar for a link to the current page; the next request
        # would restore the old address. Views in the browser write their own address, which may
        # already be newer. A link to another page needs nothing: an address sent before the browser
        # has changed pages would be added to the history of the old page.
        st.query_params.from_dict(url_params)
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
        st.session_state[_ACTING_PAGE] = page


def _page_of_widget(names: Collection[str]) -> str:
    """Return the page whose widget changes these fields: the page that the browser displays, which
    is still the old one while it is changing pages. If that is unknown, the open page, unless it
    lacks one of the fields and the page that was left has it."""
    open_page: str = st.session_state.get(_PAGE, HOME)
    left_page: str = st.session_state.get(_LEFT_PAGE, open_page)
    pages = (displayed_file() or open_page, open_page, left_page)
    return next((p for p in pages if set(names) <= PAGES[p].view.fields().keys()), open_page)


def displayed_file() -> str | None:
    """Return the page that the browser displayed when it requested this rerun; None if unknown."""
    path = displayed_page()
    return None if path is None else BY_PATH.get(path, HOME)


def _page() -> type[View]:
    """Return the view class of the open page."""
    return PAGES[st.session_state.get(_PAGE, HOME)].view


def _key(name: str) -> str:
    """Return the widget key of this field on the open page; each page has its own widget."""
    return f"{st.session_state[_PAGE]}:{name}"
