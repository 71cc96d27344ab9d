"""A translation in whole words: what was read, what was written, and every head between them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer.figures.words import merge, plain_words
from transformer.inference import Trace


class Said:
    """The words of a trace, and the attention between them; what is no word is left out.

    Attributes:
        source, target: the words read and written, without signs.
        trace: which it is of.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._source, source = plain_words(trace.src_tokens)
        self._target, target = plain_words(trace.predicted_tokens)
        self._spoken_source = [n for n, label in enumerate(source) if label]
        self._spoken_target = [n for n, label in enumerate(target) if label]
        self.source = [source[n] for n in self._spoken_source]
        self.target = [target[n] for n in self._spoken_target]

    @cached_property
    def cross(self) -> Float[np.ndarray, "layers heads target source"]:
        """Where every head of the encoder–decoder attention looks as each word is written."""
        layers = [self.trace.weights("cross", i) for i in range(self.trace.n_layers)]
        merged = merge(np.stack(layers).astype(np.float64), self._target, self._source)
        found: npt.NDArray[np.float64] = merged[..., self._spoken_target, :]
        return found[..., self._spoken_source]

    def written_at(self, word: int) -> int:
        """The row of the cross-attention in which this word of the target begins."""
        return self._target.index(self._spoken_target[word])

    def rows(self, word: int) -> str:
        """The rows of all its pieces, as the explorer pins them."""
        number = self._spoken_target[word]
        return ",".join(f"q{at}" for at, one in enumerate(self._target) if one == number)
