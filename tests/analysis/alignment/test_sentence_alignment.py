"""One sentence's alignment is what the corpus measurement scores, and can be counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from transformer import Translator
from transformer.analysis.alignment.aligner_errors import ALIGNMENT_METHODS, measure_aligners
from transformer.analysis.alignment.sentence_alignment import align_words
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import GoldAnnotations

ROOT = Path(__file__).resolve().parents[3]


def test_the_error_equals_that_of_a_corpus_of_one_sentence() -> None:
    shipped = Translator.load(ROOT / "checkpoints" / "en-fr", device="cpu")
    line = "The baker hides books .\tLe boulanger cache des livres .\t0-0 1-1 2-2 3?3 3-4 4-5"
    corpus = Corpus.from_lines([line], "one")
    gold = corpus.sentences[0].gold
    assert gold is not None
    trace = shipped.trace(corpus.sentences[0].source, target=corpus.sentences[0].target)
    table = measure_aligners(shipped, corpus).table
    heads = table[table["aligner"] == "head"].set_index(["by", "to", "layer", "head"])["aer"]
    words = gold.source_words, gold.target_words
    assert heads.nunique() > 1
    for by, to in ALIGNMENT_METHODS:
        for layer in range(trace.n_layers):
            for head in range(trace.n_heads):
                alignment = align_words(shipped.model, trace, layer, head, by, to, words)
                assert alignment.error(gold) == pytest.approx(heads[by, to, layer, head])


def test_words_are_linked_by_the_predicting_or_the_reading_row(translator: Translator) -> None:
    trace = translator.trace("She paints books.", target="Elle peint des livres.")
    n_tgt, n_src = len(trace.predicted_tokens), len(trace.src_tokens)
    # Row i attends only to token i, if it exists.
    weights = np.zeros((1, 4, n_tgt, n_src), np.float32)
    for row in range(n_tgt):
        weights[:, :, row, min(row, n_src - 1)] = 1
    site = "decoder.layers.0.cross_attn.hook_weights"
    trace = replace(trace, tensors={**trace.tensors, site: weights})
    writing = align_words(translator.model, trace, 0, 0)
    reading = align_words(translator.model, trace, 0, 0, target_row="input")
    assert writing.source == ("She", "paints", "books.")
    assert writing.target == ("Elle", "peint", "des", "livres.")
    owner = [text.startswith("▁") for text in trace.src_tokens[:-1]]
    word_of = np.cumsum(owner) - 1
    first = [i for i, piece in enumerate(trace.predicted_tokens) if piece.startswith("▁")]
    for alignment, shift in ((writing, 0), (reading, 1)):
        source = next(i for i, target in alignment.links() if target == 0)
        assert source == word_of[first[0] + shift]
    frame = reading.to_frame()
    assert len(frame) == 12
    assert {(r.source, r.target) for r in frame[frame["linked"]].itertuples()} == reading.links()


def test_invalid_alignment_requests_are_refused(translator: Translator) -> None:
    trace = translator.trace("She paints books.", target="Elle peint.")
    with pytest.raises(ValueError, match="there is no head 9"):
        align_words(translator.model, trace, 0, 9)
    with pytest.raises(ValueError, match="does not consist of the words 'Elle dort"):
        align_words(
            translator.model, trace, 0, 0, gold=(("She", "paints", "books."), ("Elle", "dort."))
        )
    other_words = GoldAnnotations(("a",), ("b",), frozenset({(0, 0)}), frozenset())
    with pytest.raises(ValueError, match="for other words"):
        align_words(translator.model, trace, 0, 0).error(other_words)
