"""Uploaded files are accepted, or rejected with one sentence: sentence pairs and corpora."""

from __future__ import annotations

import gzip

from hypothesis import given
from hypothesis import strategies as st

from tests.hostile import TEXTS, check_message
from transformer.analysis.corpora import Corpus
from transformer.ui.pages.research.corpus import corpus_of_upload
from transformer.ui.pages.training.own_pairs import (
    MAX_STEPS,
    MIN_STEPS,
    fitting_steps,
    read_with_layout,
)
from transformer.ui.services.uploads import decode_text

MAX_PAIR_BYTES = 100_000
CELLS = TEXTS | st.sampled_from(("I sleep .", "je dors .", "0-0 1-1", f"{'9' * 5000}-1", "0?1", ""))


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Return a table, mostly with missing cells, in any encoding; or any bytes."""
    rows = st.lists(CELLS, max_size=4).map(draw(st.sampled_from(("\t", ",", "; "))).join)
    text = draw(st.sampled_from(("\n", "\r\n", "\u2028"))).join(draw(st.lists(rows)) * 10)
    encoding = draw(st.sampled_from(("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1")))
    content = text.encode(encoding, "replace")
    return draw(st.sampled_from((content, gzip.compress(content))) | st.binary())


@given(content=tables())
def test_pairs_and_corpora_are_read_or_rejected(content: bytes) -> None:
    try:
        corpus = corpus_of_upload(content, "a.tsv")
        assert Corpus.from_dict(corpus.to_dict()).hash == corpus.hash
    except ValueError as error:
        check_message(error)
    try:
        pairs, _ = read_with_layout(decode_text(content, "a.tsv"), "a.tsv", MAX_PAIR_BYTES)
        assert MIN_STEPS <= fitting_steps(pairs, 1536) <= MAX_STEPS
    except ValueError as error:
        check_message(error)
