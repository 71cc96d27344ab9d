"""The word alignment of one sentence from one head; `aligner_errors` measures a corpus.

trace = translator.trace("The cat sleeps.")
alignment = align_words(translator.model, trace, layer=0, head=0, target_row="input")
alignment.links()           # {(0, 0), (1, 1), …}: a source word, a target word
alignment.error(gold)       # AER, if gold links are known
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.alignment.aligner_errors import ScoreKind, TargetRow, word_scores
from transformer.analysis.alignment.error_rate import alignment_error
from transformer.analysis.attribution.norms import contributions
from transformer.analysis.corpora.gold import GoldAnnotations, Link, words_of
from transformer.inference import Trace
from transformer.measures.words import word_labels, words
from transformer.model import Transformer


@dataclass(frozen=True)
class WordAlignment:
    """The word alignment of one head in one sentence.

    Attributes:
        source, target: the words, without `</s>`.
        word_of_piece: index of the target word that each target piece belongs to, without `</s>`.
        target_row: the row that aligns a target word: "output", the row that predicts it, or
            "input", the row that has it as its input.
        scores: (target, source) weights or norms of the words, for both rows.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    word_of_piece: tuple[int, ...]
    target_row: TargetRow
    scores: Mapping[TargetRow, Float[np.ndarray, "target source"]]

    def links(self) -> set[Link]:
        """Link each target word to the source word with the largest score."""
        best = self.scores[self.target_row].argmax(axis=-1)
        return {(int(source), target) for target, source in enumerate(best)}

    def error(self, gold: GoldAnnotations) -> float:
        """Return the AER of these links; see `error_rate.alignment_error`.

        Raises:
            ValueError: if `gold` uses other words.
        """
        if (gold.source_words, gold.target_words) != (self.source, self.target):
            raise ValueError("the gold links are for other words; pass their words as `gold=`")
        return alignment_error(self.links(), gold.sure, gold.possible)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each pair of words.

        Columns: "source", "target" (numbers from 0), "source_word", "target_word", "output" and
        "input" (its scores), "linked".
        """
        links = self.links()
        return pd.DataFrame(
            [
                {"source": i, "target": j, "source_word": source_word, "target_word": target_word}
                | {target_row: float(scores[j, i]) for target_row, scores in self.scores.items()}
                | {"linked": (i, j) in links}
                for j, target_word in enumerate(self.target)
                for i, source_word in enumerate(self.source)
            ]
        )


def align_words(
    model: Transformer,
    trace: Trace,
    layer: int,
    head: int,
    score_kind: ScoreKind = "weights",
    target_row: TargetRow = "output",
    gold: tuple[Sequence[str], Sequence[str]] | None = None,
) -> WordAlignment:
    """Return the word alignment of head `head` of the cross-attention in layer `layer`.

    Args:
        trace: with the layer's attention weights; for norms also its values and head outputs.
        gold: source and target words of the gold links; by default words are separated by spaces.

    Raises:
        ValueError: for a head that does not exist, a text without words, or one that does not
            consist of the words in `gold`.
    """
    if not 0 <= head < trace.n_heads:
        raise ValueError(f"there is no head {head}; the heads are 0 to {trace.n_heads - 1}")
    if score_kind == "weights":
        scores = trace.weights("cross", layer)
    else:
        scores = contributions(model, trace, "cross", layer)
    # The last row predicts `</s>`, or the token at which the translation was cut off.
    pieces = trace.src_tokens[:-1], trace.predicted_tokens[:-1]
    if not all(pieces):
        raise ValueError("there is nothing to align: one side has no words")
    words_per_side = gold or (trace.source.split(), trace.text.split())
    sides = [
        _word_indices(*side, gold is None) for side in zip(pieces, words_per_side, strict=True)
    ]
    (source, target), names = zip(*sides, strict=True)
    scores_by_row: dict[TargetRow, Float[np.ndarray, "target source"]] = {
        row: word_scores(scores[head], source, target, row) for row in ("output", "input")
    }
    return WordAlignment(names[0], names[1], tuple(target), target_row, scores_by_row)


def _word_indices(
    pieces: Sequence[str], expected: Sequence[str], allow_piece_words: bool
) -> tuple[list[int], tuple[str, ...]]:
    """Return the word index of every piece, and the words.

    If the pieces do not consist of the words in `expected`, `allow_piece_words` uses the words that
    the pieces themselves form.
    """
    indices = words_of(pieces, expected)
    if indices is not None and sorted(set(indices)) == list(range(len(expected))):
        return indices, tuple(expected)
    if allow_piece_words:
        return words(pieces), tuple(word_labels(pieces))
    if indices is None:
        raise ValueError(f"the text does not consist of the words {' '.join(expected)!r}")
    raise ValueError("two words of the gold links share a token; split the words differently")
