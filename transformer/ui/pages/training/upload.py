"""Sentence pairs of one's own: pasted or uploaded, with a preview before training."""

from __future__ import annotations

import math
from html import escape

import streamlit as st

from transformer.text.visible import is_blank
from transformer.training.data import SET_ASIDE_EVERY, SET_ASIDE_MOST
from transformer.ui.pages.training import draft
from transformer.ui.pages.training import own_pairs as own
from transformer.ui.pages.training.draft import Draft
from transformer.ui.services import live_jobs
from transformer.ui.services.uploads import decoded
from transformer.ui.widgets import frame

SHOWN = 6
EXAMPLE = "one cat\tun chat\ntwo cats\tdeux chats\n…"


def pairs(now: Draft) -> None:
    """Draw the widgets for the text and put its pairs into the draft, or say what is wrong."""
    most = live_jobs.jobs().limits.upload_bytes
    st.markdown("**Your pairs**")
    st.caption(
        "Only you and the operator of this server can see your pairs, the run and its model, until "
        "you share the run on its page."
    )
    now.text = st.text_area(
        "Paste one pair per line: source, a tab, target",
        now.text,
        placeholder=EXAMPLE,
        height=150,
        key=f"pasted-{now.turn}",
        help="Also accepted: a vertical bar or two or more spaces between source and target, "
        "comma-separated values, or a source and its target on alternating lines.",
    )
    file = st.file_uploader(
        "Or upload a .tsv, .csv or .txt file in UTF-8",  # its size stands in the field itself
        type=["tsv", "csv", "txt"],
        max_upload_size=max(1, math.ceil(most / 1e6)),
        key=f"uploaded-{now.turn}",
    )
    layout = ""
    try:
        if file is not None:
            if file.size > most:
                raise ValueError(
                    f"{file.name} has {file.size:,} bytes; this app allows at most {most:,}."
                )
            text = decoded(file.getvalue(), file.name)
            now.pairs, layout = own.read(text, file.name, most)
        elif not is_blank(now.text):
            now.pairs, layout = own.read(now.text, "The text", most)
        else:
            now.pairs = []
    except ValueError as error:
        now.pairs = []
        st.warning(frame.plain(frame.sentence(error)))
    draft.refit_steps(now)
    if now.pairs:
        _preview(now.pairs, layout)


def _preview(found: own.Pairs, layout: str) -> None:
    aside = min(SET_ASIDE_MOST, 1 + (len(found) - 1) // SET_ASIDE_EVERY)
    st.caption(
        f"{len(found):,} pairs ({layout}), {aside:,} of them held out for validation. The first "
        f"{min(SHOWN, len(found))}:"
    )
    rows = "".join(
        f"<tr><td>{escape(src)}</td><td>{escape(tgt)}</td></tr>" for src, tgt in found[:SHOWN]
    )
    st.html(
        '<table class="hu-table"><thead><tr><th scope="col">Source</th>'
        f'<th scope="col">Target</th></tr></thead><tbody>{rows}</tbody></table>'
    )
