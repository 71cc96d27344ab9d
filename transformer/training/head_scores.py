"""Scores of the heads that attend most to the previous, the aligned, or the last written token.

Induction (Olsson et al. 2022, arXiv 2209.11895) needs two steps: find an earlier occurrence of the
current token, and attend to what followed it. A language model needs a previous-token head for the
second step. Here a cross-attention head may do the first (`just_read_score`) and a head of a later
layer the second (`aligned_score`), which can find the next position without a previous-token head.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from transformer.analysis.corpora.gold import Link

Weights = Float[np.ndarray, "layers heads _ _"]  # layers, heads, query, key


def previous_token_score(encoder: Sequence[Weights], lengths: Sequence[int]) -> float | None:
    """Return the mean weight on the previous token, of the encoder head with the highest mean.

    Args:
        encoder: encoder self-attention of each sentence, padding included.
        lengths: source tokens of each sentence, without the end mark.

    None if no sentence has two tokens.
    """
    rows = [
        weights[:, :, np.arange(1, length), np.arange(length - 1)]
        for weights, length in zip(encoder, lengths, strict=True)
    ]
    return _best_head(rows)


def aligned_score(cross: Sequence[Weights], gold: Sequence[set[Link]]) -> float | None:
    """Return the mean weight on the linked source tokens, of the best cross-attention head.

    The mean is over target tokens that have a link, at the row that writes them; several links of
    one target token are added up. In the induction task this is the induction score.

    Args:
        cross: cross-attention of each sentence, padding included; row j writes target token j.
        gold: (source token, target token) links of each sentence, from 0.

    None if there is no link.
    """
    return _linked_score(cross, gold, shift=0)


def just_read_score(cross: Sequence[Weights], gold: Sequence[set[Link]]) -> float | None:
    """Return `aligned_score` for the row whose input is the target token."""
    return _linked_score(cross, gold, shift=1)


def _linked_score(cross: Sequence[Weights], gold: Sequence[set[Link]], shift: int) -> float | None:
    rows = []
    for weights, links in zip(cross, gold, strict=True):
        for target in sorted({j for _, j in links}):
            sources = [i for i, j in sorted(links) if j == target]
            rows.append(weights[:, :, target + shift, sources].sum(-1, keepdims=True))
    return _best_head(rows)


def _best_head(rows: Sequence[Float[np.ndarray, "layers heads _"]]) -> float | None:
    """Return the highest mean over all rows of any head; None without rows."""
    if not rows or not sum(part.shape[-1] for part in rows):
        return None
    return float(np.concatenate(rows, axis=-1).mean(-1).max())
