"""Pruning: heads removed one after the other, the least important first.

    order = gradient_importances(translator, corpus)["sentence"].normalised().order()
    curve = pruning_curve(translator, corpus, order)
    curve = pruning_curve(translator, corpus, order, counts=range(0, 144, 8), bleu=True)

Michel et al. 2019, sections 4 and 5; the baseline of every order is a random one. There are two
orders of importance, by their equation and by their program: see `by_gradient`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import (
    Progress,
    no_progress,
)
from transformer.analysis.importance.ablation import measure_without
from transformer.inference import Translator
from transformer.measures.kinds import Head


def pruning_curve(
    translator: Translator,
    corpus: Corpus,
    order: Sequence[Head],
    *,
    counts: Collection[int] | None = None,
    bleu: bool = False,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Measure the loss as more and more heads of `order` are switched off.

    Args:
        order: heads, the first to remove first. A curve over one kind has only heads of it.
        counts: numbers of removed heads; default: 0, 1, 2 … all.
        bleu: also measure BLEU, the figure of Michel et al. 2019; takes several times as long.

    Returns:
        The columns of `Ablation.to_frame`, a row for each point in the order of `off`.

    Raises:
        ValueError: for a count below 0 or above the heads of `order`, and as `measure_without`.
    """
    points = sorted(set(range(len(order) + 1) if counts is None else counts))
    if not points or points[0] < 0 or points[-1] > len(order):
        raise ValueError(f"the counts must be from 0 to {len(order)}, the length of the order")
    pruned_heads = [order[:count] for count in points]
    ablation = measure_without(translator, corpus, pruned_heads, bleu=bleu, progress=progress)
    return ablation.to_frame().drop(columns=["kind", "layer", "head"], errors="ignore")
