"""The glossary in pages: headings with a term's tooltip, and the list of all terms."""

from __future__ import annotations

import streamlit as st

from transformer.figures.glossary import TERMS, Term, tip
from transformer.ui.base import state
from transformer.ui.base.registry import PAGES, path
from transformer.ui.widgets import frame


def heading(text: str, name: str = "") -> None:
    """Return a heading with the tooltip of the term `name`, by default of the term `text`."""
    st.header(text, help=tip(name or text))


def term_list() -> None:
    """Draw all terms in alphabetical order, filtered by a search field."""
    query = st.text_input(
        "Search", placeholder="head, beam, loss …", key="look-for", width=360
    ).lower()
    terms = sorted(TERMS, key=lambda term: term.name.lower())
    matches = [
        term
        for term in terms
        if query in " ".join((term.name, *term.also, term.definition)).lower()
    ]
    if not matches:
        st.info("No term matches your search.")
    with st.container(key="terms"):
        for term in matches:
            _entry(term)


def _entry(term: Term) -> None:
    other_names = [name for name in term.also if name != f"{term.name}s"]
    synonyms = f" ({', '.join(other_names)})" if other_names else ""
    address, _, query = term.see.partition("?")
    file = next(file for file in PAGES if path(file) == address)
    formula = f"  \n$\\displaystyle {term.formula}$" if term.formula else ""
    with st.container(key=f"term-{term.name}", gap=None):
        params = dict(part.split("=") for part in query.split("&") if part)
        shared = state.view().to_params()
        label = f"**{frame.plain(term.name)}**{frame.plain(synonyms)}"
        st.page_link(file, label=label, query_params={**shared, **params})
        st.markdown(f"{frame.plain(term.definition)}{formula}")
