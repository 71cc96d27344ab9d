"""The user's own sentence pairs: pasted or uploaded, read and previewed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from transformer.text.corpus import pairs_of
from transformer.text.pair_formats import ColumnsUnclear, FormatError, recognise, split_text
from transformer.text.visible import is_blank, normalised
from transformer.training.data import HeldOut
from transformer.ui.services import live_jobs
from transformer.ui.services.uploads import decode_text
from transformer.ui.widgets import frame, tables

MIN_PAIRS = 20
"""Minimum number of pairs; fewer are not enough to train and validate."""
Pairs = list[tuple[str, str]]
Columns = tuple[int, int]
"""Indices of the columns of source and target."""

EPOCHS, MIN_STEPS, MAX_STEPS = 60, 300, 3000
"""Passes over the pairs, and the bounds of the resulting number of steps."""
PIECES_PER_WORD = 1.5
"""Estimated subword tokens of a word."""
COUNTED_PAIRS = 2000
"""Number of evenly spaced pairs, at least, whose words are counted."""
PREVIEW_ROWS = 3
EXAMPLE = "one cat\tun chat\ntwo cats\tdeux chats\n…"
_TEXT, _FILE, _COLUMNS = "pasted-pairs", "uploaded-pairs", ("source-column", "target-column")


class Reading(NamedTuple):
    """The result of reading pairs: pairs with their layout, or a problem, or nothing.

    Attributes:
        cells: the first row of a table whose columns of source and target are not clear.
    """

    pairs: Pairs
    layout: str = ""
    problem: str = ""
    cells: Sequence[str] = ()


def draw() -> Pairs:
    """Draw the fields for the pairs, and a preview of them or what is wrong; return them."""
    st.markdown("**Your pairs**")
    st.caption(
        "Only you and the operator of this server can see your pairs, the run and its model, until "
        "you share the run on its page."
    )
    st.text_area(
        "Paste one pair per line: source, a tab, target",
        placeholder=EXAMPLE,
        height=150,
        key=_TEXT,
        help="Also accepted: a vertical bar, a dash, an arrow or an equals sign between source and "
        "target, comma-separated values, or an export of Tatoeba.",
    )
    st.file_uploader(
        "Or upload a .tsv, .csv or .txt file in UTF-8",  # Streamlit adds the maximum size
        type=["tsv", "csv", "txt"],
        max_upload_size=max(1, math.ceil(_max_bytes() / 1e6)),
        key=_FILE,
    )
    reading = current()
    if reading.cells:
        _choose_columns(reading.cells)
    if reading.problem:
        st.warning(frame.plain(frame.as_sentence(reading.problem)))
    elif reading.pairs:
        _preview(reading)
    return reading.pairs


def _choose_columns(cells: Sequence[str]) -> None:
    """Draw two fields for the columns of source and target."""
    with st.container(horizontal=True):
        for side, key in zip(("source", "target"), _COLUMNS, strict=True):
            st.selectbox(
                f"Column of the {side}",
                range(len(cells)),
                index=None,
                format_func=lambda column: f"{column + 1}: {cells[column][:40]}",
                placeholder="Choose a column",
                key=key,
            )


def _preview(reading: Reading) -> None:
    count, rows = len(reading.pairs), reading.pairs[:PREVIEW_ROWS]
    held_out, repeats = _count_held_out(reading.pairs)
    with_unseen_words = _count_unseen(reading.pairs)
    caption = (
        f"{count:,} pairs ({reading.layout}), {held_out:,} of them held out for validation. The "
        f"first {len(rows)}:"
    )
    tables.show(caption, ["Source", "Target"], rows, words=True)
    if repeats:
        st.caption(
            f"Pairs that repeat the source of another: {repeats:,}; pairs with an equal source are "
            "held out together."
        )
    if with_unseen_words:
        st.caption(
            f"Held-out pairs with words that no training pair has: {with_unseen_words:,}; a model "
            "can hardly get them right."
        )


def current() -> Reading:
    """Return the pairs of the uploaded file, or else of the pasted text, for callbacks too."""
    file, text, name = st.session_state.get(_FILE), st.session_state.get(_TEXT) or "", "The text"
    try:
        if file is not None:
            name = file.name
            _check_size(file.size, name, _max_bytes())
            text = decode_text(file.getvalue(), name)
        elif is_blank(text):
            return Reading([])
        return Reading(*read_with_layout(text, name, _max_bytes()))
    except ValueError as error:
        if isinstance(error.__cause__, ColumnsUnclear):
            return _read_columns(text, name, error.__cause__.cells, str(error))
        return Reading([], problem=str(error))


def _read_columns(text: str, name: str, cells: Sequence[str], problem: str) -> Reading:
    """Return the pairs of the chosen columns, or the problem until two are chosen."""
    source, target = (st.session_state.get(key) for key in _COLUMNS)
    if source is None or target is None or source == target or max(source, target) >= len(cells):
        return Reading([], problem=problem, cells=cells)
    try:
        pairs, layout = read_with_layout(text, name, _max_bytes(), (source, target))
    except ValueError as error:
        return Reading([], problem=str(error), cells=cells)
    return Reading(pairs, layout, cells=cells)


def _max_bytes() -> int:
    return live_jobs.jobs().limits.upload_bytes


def _check_size(size: int, name: str, max_bytes: int) -> None:
    if size > max_bytes:
        raise ValueError(f"{name} has {size:,} bytes; this app allows at most {max_bytes:,}.")


def fitting_steps(pairs: Pairs, batch_tokens: int) -> int:
    """Return the default number of training steps for these pairs, a multiple of 100."""
    counted = pairs[:: max(1, len(pairs) // COUNTED_PAIRS)]
    words = sum(len(src.split()) + len(tgt.split()) for src, tgt in counted)
    # with an end token on each side
    tokens = len(pairs) * (PIECES_PER_WORD * words / len(counted) + 2)
    steps = 100 * round(EPOCHS * tokens / batch_tokens / 100)
    return min(MAX_STEPS, max(MIN_STEPS, steps))


def read_with_layout(
    text: str, name: str, max_bytes: int, columns: Columns | None = None
) -> tuple[Pairs, str]:
    """Return the pairs of a text and the name of its layout.

    The layouts are those of `transformer.text.pair_formats`. White space within a side counts as
    one space.

    Args:
        name: of the text in error messages.
        columns: the columns of source and target, if the visitor has chosen them.

    Raises:
        ValueError: for an empty side, a layout that is unknown or not certain, too many bytes, too
            few pairs, or pairs that all have the same source.
    """
    _check_size(len(text.encode("utf-8", "surrogatepass")), name, max_bytes)
    lines = split_text(text)
    try:
        layout = recognise(lines, name, columns)
    except FormatError as error:
        raise ValueError(f"{name} {error}.") from error
    pairs = [
        (" ".join(src.split()), " ".join(tgt.split())) for src, tgt in pairs_of(lines, layout, name)
    ]
    if len(pairs) < MIN_PAIRS:
        raise ValueError(
            f"{name} has {len(pairs)} pairs; at least {MIN_PAIRS} are needed, some of them for "
            "validation."
        )
    _ = HeldOut(lambda: iter(pairs), name).sources  # raises CorpusError for one source only
    return pairs, layout.description


def _count_held_out(pairs: Pairs) -> tuple[int, int]:
    """Return the number of pairs held out for validation, and that of pairs whose source another
    pair has too."""
    held_out = HeldOut(lambda: iter(pairs), "").sources
    sources = [normalised(source) for source, _ in pairs]
    return sum(source in held_out for source in sources), len(pairs) - len(set(sources))


def _count_unseen(pairs: Pairs) -> int:
    """Return the number of held-out pairs with a word that no training pair has; a text without
    spaces has characters instead of words."""
    held_out = HeldOut(lambda: iter(pairs), "").sources
    words: dict[bool, list[set[str]]] = {True: [], False: []}
    for source, target in pairs:
        sides = (source, target)
        parts = {part for side in sides for part in (side.split() if " " in side else [*side])}
        words[normalised(source) in held_out].append({part.strip(".,;:!?") for part in parts})
    seen = set().union(*words[False])
    return sum(not words_of_pair <= seen for words_of_pair in words[True])


def tsv(pairs: Pairs) -> bytes:
    """Return the pairs as the file `recipe.PAIRS_FILE` of a run."""
    return "".join(f"{src}\t{tgt}\n" for src, tgt in pairs).encode("utf-8", "replace")
