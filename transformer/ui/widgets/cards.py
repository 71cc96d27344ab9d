"""Cards, each a picture and a link to a page or to a part of one; the whole card is the link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import streamlit as st

from transformer.figures.page_icons import STYLE, picture
from transformer.ui.widgets import frame


@contextmanager
def cards() -> Iterator[None]:
    """Draw the cards of the block beside each other."""
    with st.container(horizontal=True, key="page-cards"):
        yield


def card(name: str, file: str, question: str, caption: str, **fields: Any) -> None:
    """Draw a card.

    Args:
        name: of its picture, one of `page_icons.PICTURES`.
        file: the page that it opens, with these fields in the address.
    """
    with st.container(border=True, gap="xsmall", key=f"page-card-{name}"):
        _picture(name)(key=f"picture-{name}", data={})
        frame.page_link(file, question, **fields)  # `frame.css` makes it cover the card
        st.caption(caption)


@cache
def _picture(name: str) -> Callable[..., Any]:
    """Return the component that draws the picture; Streamlit's own HTML removes SVG."""
    return st.components.v2.component(f"heads_up.card-{name}", html=picture(name), css=STYLE)
