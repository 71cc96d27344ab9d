"""Corpora to measure over, and one forward pass of a model over each.

`corpus` has sentences, translations and links; `own_sentences` those that come with this package,
`gold` how words are linked, `passes` what a model makes of them, and its losses.
It may not know what is measured: a pass calls whoever asked for it.
"""

from transformer.analysis.corpora.corpus import (
    MAX_SENTENCES,
    NAMES,
    Corpus,
    Sentence,
    corpus_for,
    ours_for,
)

__all__ = ["MAX_SENTENCES", "NAMES", "Corpus", "Sentence", "corpus_for", "ours_for"]
