"""Tables of a few rows, for people and screen readers; and any table as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

import pandas as pd

from transformer.ui.kit import downloads


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
    """A button that gives the table as `name`.csv, made when somebody presses it.

    Args:
        name: of `figures.naming.file_name`.
    """
    downloads.download(
        label, lambda: table().to_csv(index=False), f"{name}.csv", key=f"csv-{name}", icon=icon
    )
