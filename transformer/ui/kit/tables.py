"""Tables of a few rows, for people and screen readers; and any table as a file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from html import escape

import pandas as pd
import streamlit as st


def html(about: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for `st.html` that is scrolled sideways where it does not fit; any text is shown
    as it stands. The first cell of a row is its head."""
    wide = 7 * len(heads)
    whole = 'style="overflow-wrap: normal"'  # no word is cut
    top = "".join(f'<th scope="col" {whole}>{escape(head)}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row" {whole}>{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        '<div style="overflow-x: auto" tabindex="0">'
        f'<table class="hu-table" style="min-width: {wide}rem">'
        f"<caption>{escape(about)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def csv(
    label: str, table: Callable[[], pd.DataFrame], name: str, *, icon: str | None = None
) -> None:
    """A button that gives the table as `name`.csv; it is made when somebody presses it."""
    st.download_button(
        label,
        lambda: table().to_csv(index=False),
        file_name=f"{name}.csv",
        mime="text/csv",
        icon=icon,
        on_click="ignore",
        key=f"csv-{name}",
    )


def file_name(what: str, model: str = "", text: str = "") -> str:
    """What a file that is taken away is called: what it holds, of which model, on which sentence;
    in letters that every file system takes."""
    plain = [unicodedata.normalize("NFKD", part).lower() for part in (model, text)]
    bare = [re.sub(r"[\u0300-\u036f]", "", part) for part in plain]  # without accents
    words = [word for part in bare for word in re.findall(r"[a-z0-9]+", part)[:6]]
    return "-".join([what, *words])[:80]
