"""Bringing pairs of one's own: pasted or uploaded, and seen before anything begins."""

from __future__ import annotations

import math
from html import escape

import streamlit as st

from transformer.text.visible import is_blank
from transformer.training.data import SET_ASIDE_EVERY, SET_ASIDE_MOST
from transformer.ui import frame, live_jobs
from transformer.ui.kit.uploads import decoded
from transformer.ui.training import own_pairs as own
from transformer.ui.training.draft import Draft

SHOWN = 6
EXAMPLE = "one cat\tun chat\ntwo cats\tdeux chats\n…"


def pairs(now: Draft) -> None:
    """Widgets for the text; the draft has its pairs, or a sentence says what is wrong with it."""
    most = live_jobs.jobs().limits.upload_bytes
    st.markdown("**Your pairs**")
    st.caption(
        "Nobody else sees them, nor the run, its name or its model, until you share it on the "
        "run's page; whoever runs this server can."
    )
    now.text = st.text_area(
        "Paste them, a line each: source, a tab, target",
        now.text,
        placeholder=EXAMPLE,
        height=150,
        key=f"pasted-{now.turn}",
    )
    file = st.file_uploader(
        "or upload a .tsv or .csv file, UTF-8",  # its size stands in the field itself
        type=["tsv", "csv", "txt"],
        max_upload_size=max(1, math.ceil(most / 1e6)),
        key=f"uploaded-{now.turn}",
    )
    try:
        if file is not None:
            if file.size > most:
                raise ValueError(
                    f"{file.name} has {file.size:,} bytes; this app allows at most {most:,}."
                )
            now.pairs = own.parsed(decoded(file.getvalue(), file.name), file.name, most)
        elif not is_blank(now.text):
            now.pairs = own.parsed(now.text, "The text", most)
        else:
            now.pairs = []
    except ValueError as error:
        now.pairs = []
        st.warning(frame.plain(frame.sentence(error)))
    if now.pairs:
        _preview(now.pairs)


def _preview(found: own.Pairs) -> None:
    aside = min(SET_ASIDE_MOST, 1 + (len(found) - 1) // SET_ASIDE_EVERY)
    st.caption(
        f"{len(found):,} pairs, of which {aside:,} are set aside to judge by. The first of them:"
    )
    rows = "".join(
        f"<tr><td>{escape(src)}</td><td>{escape(tgt)}</td></tr>" for src, tgt in found[:SHOWN]
    )
    st.html(
        '<table class="hu-table"><thead><tr><th scope="col">Source</th>'
        f'<th scope="col">Target</th></tr></thead><tbody>{rows}</tbody></table>'
    )
