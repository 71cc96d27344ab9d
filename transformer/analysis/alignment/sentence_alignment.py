"""One sentence's word alignment, read off one head: `leaderboard` does it for a corpus.

trace = translator.trace("The cat sleeps.")
found = aligned(translator.model, trace, layer=0, head=0, to="input")
found.links()           # {(0, 0), (1, 1), …}: a source word, a target word
found.symmetrized()     # links from both directions
found.error(gold)       # AER, where somebody knows better
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.alignment.error_rate import alignment_error
from transformer.analysis.alignment.leaderboard import By, To, word_scores
from transformer.analysis.alignment.symmetrization import Symmetrization, symmetrize
from transformer.analysis.attribution.norms import contributions
from transformer.analysis.corpora.gold import Gold, Link, words_of
from transformer.inference import Trace
from transformer.measures.words import word_labels, words
from transformer.model import Transformer


@dataclass(frozen=True)
class Aligned:
    """What a head links in one sentence.

    Attributes:
        source, target: the words, `</s>` left out.
        owners: the target word of every piece that is written, `</s>` left out.
        to: which row a target word is read off: the one that writes it, "output", or the next one,
            which reads it, "input".
        scores: of both, (target, source); a word's weights or norms.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    owners: tuple[int, ...]
    to: To
    scores: Mapping[To, Float[np.ndarray, "target source"]]

    def links(self) -> set[Link]:
        """Each target word with the source word that has the greatest score."""
        best = self.scores[self.to].argmax(axis=-1)
        return {(int(source), target) for target, source in enumerate(best)}

    def backward_links(self) -> set[Link]:
        """Each source word with the target word that has the greatest score for it."""
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
        """AER of these links; see `error_rate.alignment_error`. Raises ValueError if `gold` counts
        other words."""
        if (gold.source_words, gold.target_words) != (self.source, self.target):
            raise ValueError("the gold links count other words than these; align with `gold=`")
        return alignment_error(self.links(), gold.sure, gold.possible)

    def to_frame(self) -> pd.DataFrame:
        """A line a pair of words: "source", "target" (numbers from 0), "source_word",
        "target_word", "output" and "input" (its scores), "linked"."""
        links = self.links()
        return pd.DataFrame(
            [
                {"source": i, "target": j, "source_word": one, "target_word": other}
                | {to: float(scores[j, i]) for to, scores in self.scores.items()}
                | {"linked": (i, j) in links}
                for j, other in enumerate(self.target)
                for i, one in enumerate(self.source)
            ]
        )


def aligned(
    model: Transformer,
    trace: Trace,
    layer: int,
    head: int,
    by: By = "weights",
    to: To = "output",
    gold: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Aligned:
    """The words that head `head` of the cross attention in layer `layer` links.

    Args:
        trace: with the layer's weights; by norms with the values and heads of its cross attention.
        gold: source and target words as gold links count them; else words are what stands between
            blanks.

    Raises:
        ValueError: for a head that is not there, a text without words, or one that is not made of
            the words in `gold`.
    """
    if not 0 <= head < trace.n_heads:
        raise ValueError(f"there is no head {head}; the model has {trace.n_heads}, from 0")
    if by == "weights":
        scores = trace.weights("cross", layer)
    else:
        scores = contributions(model, trace, "cross", layer)
    # The last row writes `</s>`, or what a translation was cut off at.
    pieces = trace.src_tokens[:-1], trace.predicted_tokens[:-1]
    if not all(pieces):
        raise ValueError("there is nothing to align: one side has no words")
    given = gold or (trace.source.split(), trace.text.split())
    sides = [_owners(*side, gold is None) for side in zip(pieces, given, strict=True)]
    (source, target), names = zip(*sides, strict=True)
    found: dict[To, Float[np.ndarray, "target source"]] = {
        which: word_scores(scores[head], source, target, which) for which in ("output", "input")
    }
    return Aligned(names[0], names[1], tuple(target), to, found)


def _owners(
    pieces: Sequence[str], given: Sequence[str], own: bool
) -> tuple[list[int], tuple[str, ...]]:
    """The word of every piece, and the words; with `own` the pieces' own, should they not make up
    those that are given."""
    found = words_of(pieces, given)
    if found is not None and sorted(set(found)) == list(range(len(given))):
        return found, tuple(given)
    if own:
        return words(pieces), tuple(word_labels(pieces))
    if found is None:
        raise ValueError(f"the text is not made of the words {' '.join(given)!r}")
    raise ValueError("a word of the gold links shares its only piece with another word")
