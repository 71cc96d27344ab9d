"""Corpora to measure over, and one forward pass of a model over each.

`corpus` has sentences, translations and links, `bundled_sentences` those included in this package,
`gold` the word links, `passes` runs a model over a corpus and computes its losses. The package does
not know what is measured: a pass calls the hooks of its caller.
"""

from transformer.analysis.corpora.corpus import (
    MAX_SENTENCES,
    NAMES,
    Corpus,
    Sentence,
    bundled_corpus_for,
    corpus_for,
)

__all__ = ["MAX_SENTENCES", "NAMES", "Corpus", "Sentence", "bundled_corpus_for", "corpus_for"]
