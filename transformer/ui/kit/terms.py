"""The glossary on a page: a heading with a term's tooltip, and all terms at once."""

from __future__ import annotations

import streamlit as st

from transformer.figures.glossary import TERMS, Term, tip
from transformer.ui import frame, state
from transformer.ui.pages import PAGES, path


def heading(text: str, name: str = "") -> None:
    """A heading with the tooltip of the term `name`, or of the one that it is."""
    st.subheader(text, help=tip(name or text))


def everything() -> None:
    """All terms in the order of the alphabet, those that a visitor looks for alone."""
    wanted = st.text_input("Look for", placeholder="head, beam, loss …", key="look-for").lower()
    terms = sorted(TERMS, key=lambda one: one.name.lower())
    found = [one for one in terms if wanted in " ".join((one.name, *one.also, one.what)).lower()]
    if not found:
        st.info("There is no such term here.")
    for one in found:
        _entry(one)


def _entry(one: Term) -> None:
    also = f" ({', '.join(one.also)})" if one.also else ""
    place, _, query = one.see.partition("?")
    file = next(file for file in PAGES if path(file) == place)
    with st.container(horizontal=True, vertical_alignment="center", key=f"term-{one.name}"):
        st.markdown(f"**{frame.plain(one.name)}**{frame.plain(also)}: {frame.plain(one.what)}")
        params = dict(part.split("=") for part in query.split("&") if part)
        shared = state.view().to_params()
        st.page_link(file, label="see it", query_params={**shared, **params})
