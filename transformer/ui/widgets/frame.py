"""Links, buttons and texts that every page writes in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import streamlit as st

from transformer.app_folders import APP_FOLDER
from transformer.ui import state
from transformer.ui.services import models
from transformer.ui.shell.registry import HOME, PAGES

JOINER = "\u2060"


def page_link(file: str, label: str, **changes: Any) -> None:
    """A link to one of our pages, with its view in the address, but for `changes` of its own
    fields."""
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
    """A button that changes the view and goes to one of our pages: a link from page to page changes
    no more than that page's own fields. A second one to the same page needs a `key`."""
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
    label: str, icon: str, act: Callable[..., None], *args: Any, **more: Any
) -> None:
    """A button that calls `act(*args)`; `more` is Streamlit's."""
    st.button(label, icon=f":material/{icon}:" if icon else None, on_click=act, args=args, **more)


def state_button(label: str, icon: str, changes: Mapping[str, Any], **more: Any) -> None:
    """A button that gives these fields of the view other values."""
    callback_button(label, icon, partial(state.change, **changes), **more)


def lead_text(markdown: str) -> None:
    """A page's first words, a little larger than the rest."""
    with st.container(key="lead"):
        st.markdown(markdown)


def plain(text: str) -> str:
    """`text` so that Streamlit's Markdown shows it as it stands: no links, pictures or HTML; but
    for paths of this server, which are cut.

    A bare address becomes a link even where every sign is escaped, because it is looked for in
    what is left at the end: an invisible word joiner takes it apart.
    """
    escaped = re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", models.without_server_paths(text))
    return re.sub(r"(?i)(https?(?=\\:)|www(?=\\\.)|\\@)", rf"\1{JOINER}", escaped)


def as_sentence(error: object) -> str:
    """An error's message as a sentence: a capital, unless a setting's name comes first, and an
    end."""
    text = str(error).strip()
    first = text.split(" ")[0]
    if "_" not in first and not any(letter in first for letter in ".-'"):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
