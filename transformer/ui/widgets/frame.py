"""Links, buttons and texts in the same style on every page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import streamlit as st

from transformer.app_folders import APP_FOLDER
from transformer.text.visible import as_sentence as as_sentence
from transformer.ui.base import state
from transformer.ui.base.registry import HOME, PAGES
from transformer.ui.services import models

WORD_JOINER = "\u2060"


def page_link(file: str, label: str, **changes: Any) -> None:
    """Draw a link to a page with its view in the URL, with `changes` of the page's own fields."""
    view = state.view(PAGES[file].view)
    if changes:
        view = replace(view, **changes)
    st.page_link(_page_of(file), label=label, query_params=view.to_params())


@cache
def _page_of(file: str) -> Any:
    """Return Streamlit's page for the file; given its name, a link would look it up on disk each
    time."""
    return st.Page(APP_FOLDER / file, default=file == HOME)


def page_button(file: str, label: str, icon: str, key: str = "", **changes: Any) -> None:
    """Draw a button that changes any fields of the view and goes to a page. (A link can change only
    the target page's own fields.) A second button to the same page needs a `key`."""
    pressed = st.button(
        label,
        icon=f":material/{icon}:",
        on_click=state.change,
        args=(file,),
        kwargs=changes,
        key=f"go-{key or file}",
    )
    if pressed:
        st.switch_page(file, query_params=state.params(file))


def callback_button(
    label: str, icon: str, on_click: Callable[..., None], *args: Any, **options: Any
) -> None:
    """Draw a button that calls `on_click(*args)`; `options` are those of `st.button`."""
    st.button(
        label, icon=f":material/{icon}:" if icon else None, on_click=on_click, args=args, **options
    )


def state_button(label: str, icon: str, changes: Mapping[str, Any], **options: Any) -> None:
    """Draw a button that changes these fields of the view."""
    callback_button(label, icon, partial(state.change, **changes), **options)


def lead_text(markdown: str) -> None:
    """Draw the introduction of a page, a little larger than other text."""
    with st.container(key="lead"):
        st.markdown(markdown)


def plain(text: str) -> str:
    """Escape `text` so that Streamlit's Markdown shows it literally, without links, images or HTML;
    paths of this server are removed.

    Markdown turns bare URLs into links even if every character is escaped; an invisible word joiner
    prevents it.
    """
    escaped = re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", models.without_server_paths(text))
    return re.sub(r"(?i)(https?(?=\\:)|www(?=\\\.)|\\@)", rf"\1{WORD_JOINER}", escaped)
