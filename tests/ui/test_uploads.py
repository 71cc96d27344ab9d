"""Uploaded files are accepted, or rejected with one sentence: traces, sentence pairs, corpora."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile import TEXTS, check_message, corrupt_bytes, corrupt_json
from transformer import Trace
from transformer.analysis.corpora import Corpus
from transformer.inference.trace_files import HEADER
from transformer.training.estimate import workload
from transformer.training.recipe import make_run_config
from transformer.ui.pages.home.trace_files import read_trace_file
from transformer.ui.pages.research.corpus import corpus_of_upload
from transformer.ui.pages.training.own_pairs import read_with_layout
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


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("trace") / "trace.npz"
    weights = [np.full((2, 3, 3), 1 / 3)] * 2
    Trace.from_weights(["a", "b", "c"], ["d", "e", "f"], cross=weights).save_npz(path)
    return path.read_bytes()


@settings(max_examples=25)
@given(data=st.data(), name=TEXTS)
def test_a_corrupt_trace_is_shown_or_rejected(
    trace_file: bytes, data: st.DataObject, name: str
) -> None:
    content = data.draw(corrupt_bytes(trace_file))
    if data.draw(st.booleans()):
        with np.load(io.BytesIO(trace_file)) as stored:
            arrays = {array: stored[array] for array in stored.files}
        header = data.draw(corrupt_json(json.loads(arrays[HEADER].tobytes())))
        arrays[HEADER] = np.frombuffer(header.encode(), np.uint8)
        out = io.BytesIO()
        np.savez_compressed(out, allow_pickle=False, **arrays)
        content = out.getvalue()
    try:
        trace = read_trace_file(content, name)
    except ValueError as error:
        check_message(error)
    else:
        assert "/" not in trace.model
        assert trace.packed.parts


@given(content=tables())
def test_pairs_and_corpora_are_read_or_rejected(content: bytes) -> None:
    try:
        corpus = corpus_of_upload(content, "a.tsv")
        assert Corpus.from_dict(corpus.to_dict()).hash == corpus.hash
    except ValueError as error:
        check_message(error)
    try:
        pairs, _ = read_with_layout(decode_text(content, "a.tsv"), "a.tsv", MAX_PAIR_BYTES)
        assert workload(make_run_config(), pairs).n_src > 0
    except ValueError as error:
        check_message(error)
