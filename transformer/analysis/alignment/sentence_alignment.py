"""The word alignment of one sentence from one head; `leaderboard` measures a corpus.

trace = translator.trace("The cat sleeps.")
alignment = aligned(translator.model, trace, layer=0, head=0, to="input")
alignment.links()           # {(0, 0), (1, 1), …}: a source word, a target word
alignment.symmetrized()     # links of both directions combined
alignment.error(gold)       # AER, if gold links are known
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.alignment.error_rate import alignment_error
from transformer.analysis.alignment.leaderboard import ScoreKind, TargetRow, word_scores
from transformer.analysis.alignment.symmetrization import Symmetrization, symmetrize
from transformer.analysis.attribution.norms import contributions
from transformer.analysis.corpora.gold import Gold, Link, words_of
from transformer.inference import Trace
from transformer.measures.words import word_labels, words
from transformer.model import Transformer


@dataclass(frozen=True)
class Aligned:
    """The word alignment of one head in one sentence.

    Attributes:
        source, target: the words, without `</s>`.
        owners: the target word of every piece that is written, without `</s>`.
        to: the row that a target word is read from: "output", the one that writes it, or "input",
            the next one, which reads it.
        scores: for both rows, (target, source): a word's weights or norms.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    owners: tuple[int, ...]
    to: TargetRow
    scores: Mapping[TargetRow, Float[np.ndarray, "target source"]]

    def links(self) -> set[Link]:
        """Link each target word to the source word with the largest score."""
        best = self.scores[self.to].argmax(axis=-1)
        return {(int(source), target) for target, source in enumerate(best)}

    def backward_links(self) -> set[Link]:
        """Link each source word to the target word with the largest score for it."""
        best = self.scores[self.to].argmax(axis=0)
        return {(source, int(target)) for source, target in enumerate(best)}

    def symmetrized(
        self, method: Symmetrization = "grow-diag-final-and", reverse: Aligned | None = None
    ) -> set[Link]:
        """Links from both directions; see `symmetrization.symmetrize`.

        Args:
            reverse: the alignment of a model of the other direction, of the same two texts, with
                this one's target as its source. If None, the other direction is `backward_links`,
                read off the same head.

        Raises:
            ValueError: for an unknown method, or if `reverse` counts other words.
        """
        if reverse is None:
            return symmetrize(self.links(), self.backward_links(), method)
        if (reverse.target, reverse.source) != (self.source, self.target):
            raise ValueError(
                "the reverse alignment counts other words: its source must be "
                f"{' '.join(self.target)!r} and its target {' '.join(self.source)!r}"
            )
        backward = {(source, target) for target, source in reverse.links()}
        return symmetrize(self.links(), backward, method)

    def error(self, gold: Gold) -> float:
        """Return the AER of these links; see `error_rate.alignment_error`.

        Raises:
            ValueError: if `gold` uses other words.
        """
        if (gold.source_words, gold.target_words) != (self.source, self.target):
            raise ValueError("the gold links are for other words than these; align with `gold=`")
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
                | {to: float(scores[j, i]) for to, scores in self.scores.items()}
                | {"linked": (i, j) in links}
                for j, target_word in enumerate(self.target)
                for i, source_word in enumerate(self.source)
            ]
        )


def aligned(
    model: Transformer,
    trace: Trace,
    layer: int,
    head: int,
    by: ScoreKind = "weights",
    to: TargetRow = "output",
    gold: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Aligned:
    """Return the words that head `head` of the cross-attention in layer `layer` links.

    Args:
        trace: with the layer's weights; by norms with the values and heads of its cross-attention.
        gold: source and target words as gold links count them; by default words are separated by
            spaces.

    Raises:
        ValueError: for a head that does not exist, a text without words, or one that does not
            consist of the words in `gold`.
    """
    if not 0 <= head < trace.n_heads:
        raise ValueError(f"there is no head {head}; the heads are 0 to {trace.n_heads - 1}")
    if by == "weights":
        scores = trace.weights("cross", layer)
    else:
        scores = contributions(model, trace, "cross", layer)
    # The last row writes `</s>`, or what a translation was cut off at.
    pieces = trace.src_tokens[:-1], trace.predicted_tokens[:-1]
    if not all(pieces):
        raise ValueError("there is nothing to align: one side has no words")
    words_per_side = gold or (trace.source.split(), trace.text.split())
    sides = [_owners(*side, gold is None) for side in zip(pieces, words_per_side, strict=True)]
    (source, target), names = zip(*sides, strict=True)
    scores_by_row: dict[TargetRow, Float[np.ndarray, "target source"]] = {
        row: word_scores(scores[head], source, target, row) for row in ("output", "input")
    }
    return Aligned(names[0], names[1], tuple(target), to, scores_by_row)


def _owners(
    pieces: Sequence[str], expected: Sequence[str], allow_piece_words: bool
) -> tuple[list[int], tuple[str, ...]]:
    """Return the word number of every piece, and the words.

    If the pieces do not consist of the words in `expected`, `allow_piece_words` uses the words that
    the pieces themselves form.
    """
    owners = words_of(pieces, expected)
    if owners is not None and sorted(set(owners)) == list(range(len(expected))):
        return owners, tuple(expected)
    if allow_piece_words:
        return words(pieces), tuple(word_labels(pieces))
    if owners is None:
        raise ValueError(f"the text does not consist of the words {' '.join(expected)!r}")
    raise ValueError("a word of the gold links has no piece of its own; use other words")
