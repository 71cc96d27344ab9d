"""Tables of a few rows, for people and screen readers; and files to download."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

import pandas as pd
import streamlit as st

from transformer.ui.services import downloads

MIME = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "npz": "application/octet-stream",
    "zip": "application/zip",
}
"""Media types by file extension."""


def download(
    label: str,
    make: Callable[[], str | bytes],
    name: str,
    *,
    key: str | None = None,
    help: str | None = None,
) -> None:
    """Draw a link that looks like a button and downloads a file.

    Args:
        make: returns the contents; called outside of the session, when a visitor asks for them.
        name: of the file, with an extension in `MIME`.
        key: distinguishes two files of the same name on a page.
        help: tooltip.
    """
    address = downloads.address(make, name, MIME[name.rpartition(".")[2]], key or label)
    title = f' title="{escape(help)}"' if help else ""
    st.html(
        f'<a class="hu-download" href="{address}" download="{escape(name)}"{title}>'
        f"{escape(label)}</a>",
        width="content",
    )


def html(
    caption: str, headers: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False
) -> str:
    """Return an HTML table for `st.html` that scrolls horizontally; all text is escaped. The first
    cell of each row is its header.

    Args:
        words: whether the cells are texts of a visitor or a model, which a browser that translates
            the page leaves as they are.
    """
    kept = ' translate="no"' if words else ""
    min_width = 7 * len(headers)
    no_break = 'style="overflow-wrap: normal"'  # do not break words
    header = "".join(f'<th scope="col" {no_break}>{escape(head)}</th>' for head in headers)
    body = "".join(
        f'<tr><th scope="row" {no_break}>{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        '<div style="overflow-x: auto" tabindex="0">'
        f'<table class="hu-table" style="min-width: {min_width}rem">'
        f"<caption>{escape(caption)}</caption><thead><tr>{header}</tr></thead>"
        f"<tbody{kept}>{body}</tbody></table></div>"
    )


def show(
    caption: str, headers: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False
) -> None:
    """Draw the table of `html` on the page."""
    st.html(html(caption, headers, rows, words=words))


def csv(
    label: str, table: Callable[[], pd.DataFrame], name: str, *, help: str | None = None
) -> None:
    """Draw a link that downloads the table as `name`.csv, in UTF-8 with the mark by which Excel
    recognises it.

    Args:
        name: file name from `measures.naming.file_name`.
    """
    download(
        label,
        lambda: table().to_csv(index=False).encode("utf-8-sig"),
        f"{name}.csv",
        key=f"csv-{name}",
        help=help,
    )
