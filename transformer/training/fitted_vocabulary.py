"""A vocabulary for whatever text there is: symbols, few words, or pieces fitted to their number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from transformer.text import Vocabulary
from transformer.training.data import TrainingPairs

FEW_WORDS = 100
"""Up to so many different words each becomes one piece: nothing is learned from cutting them up."""

MOST_SENTENCES = 200_000  # that pieces are learned from


def fitted_vocabulary(corpus: TrainingPairs, wanted: int) -> Vocabulary:
    """The symbols of a task; else a piece for each word of a tiny text; else about `wanted` pieces.

    Both sides of the training pairs count. Where the text gives fewer pieces than wanted it is as
    many as it gives, and where its letters need more, as many as they need.

    Raises:
        ValueError: for text that cannot be read, or gives no vocabulary at all.
    """
    if corpus.symbols:
        return Vocabulary.of_symbols(corpus.symbols)
    sentences = [side for pair in corpus.train() for side in pair][:MOST_SENTENCES]
    words = sorted({word for sentence in sentences for word in sentence.split()})
    if len(words) <= FEW_WORDS:
        try:
            return Vocabulary.of_symbols(words)
        except ValueError:  # a word that Unicode writes in several ways
            pass
    return _fit(sentences, wanted)


def _fit(sentences: Sequence[str], wanted: int) -> Vocabulary:
    """SentencePiece says how many pieces a text can give, or must have; then those are taken."""
    for _ in range(3):
        try:
            return Vocabulary.train(sentences, wanted)
        except ValueError as error:
            fits = re.search(r"ask for (?:at least )?(\d+)", str(error))
            if fits is None or int(fits[1]) == wanted:
                raise
            wanted = int(fits[1])
    return Vocabulary.train(sentences, wanted)
