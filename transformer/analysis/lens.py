"""The logit lens: what the decoder would say if it stopped after each sublayer.

nostalgebraist 2020, "interpreting GPT: the logit lens", here for a decoder with two attentions. The
model is post-norm: every state has just left a LayerNorm, as the last one has, so it goes through
the tied output matrix as it is. A pre-norm model would need its final norm first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.inference.trace import Trace
from transformer.inference.translator import Translator


@dataclass(frozen=True, eq=False)
class Lens:
    """What each state of the decoder says, (sites, tgt) unless another shape is given.

    Attributes:
        sites: hooks that were looked through, from the embedding to the last layer.
        titles: the same in words: "embedding", "layer 0, self-attention", …
        rows: labels of the decoder's positions, what it read: `<s>` y1 … yn.
        chosen: what the model wrote at each position.
        top_ids, top_probabilities: (sites, tgt, k), most probable first.
        top_tokens: the tokens of `top_ids`, nested in the same way.
        rank: of the chosen token, 1 is the most probable.
        probability: of the chosen token.
        entropy: of the whole distribution, bits; log2(vocab) if it knows nothing.
        divergence: KL(last layer ‖ this site), bits: what still changes; 0 at the last.
    """

    sites: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[str, ...]
    chosen: tuple[str, ...]
    top_ids: npt.NDArray[np.int64]
    top_probabilities: npt.NDArray[np.float32]
    top_tokens: tuple[tuple[tuple[str, ...], ...], ...]
    rank: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]
    entropy: npt.NDArray[np.float64]
    divergence: npt.NDArray[np.float64]

    def to_frame(self) -> pd.DataFrame:
        """A line a site and position: site, title, position, reads, says, says_probability,
        chosen, rank, probability, entropy, divergence."""
        table: dict[str, Any] = {}
        return pd.DataFrame(table)


def lens(trace: Trace, translator: Translator, k: int = 5) -> Lens:
    """Every state of the decoder through the output matrix, one site's logits in memory at a time.

    Args:
        k: how many of the most probable tokens to keep.

    Raises:
        ValueError: for a `k` below 1 or above the vocabulary's size.
    """
    raise NotImplementedError
