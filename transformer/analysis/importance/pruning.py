"""Pruning: heads removed one after the other, the least important first.

    order = gradient_importances(translator, corpus)["sentence"].normalised().order()
    curve = pruning_curve(translator, corpus, order)
    curve = pruning_curve(translator, corpus, order, counts=range(0, 144, 8), bleu=True)

Michel et al. 2019, sections 4 and 5; the baseline of every order is a random one. There are two
orders of importance, by their equation and by their program: see `by_gradient`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import (
    Progress,
    batch_list,
    encode_corpus,
    lengths,
    no_progress,
)
from transformer.analysis.evidence.bootstrap import mean_loss, percentile_interval, resampled_counts
from transformer.analysis.importance.ablation import losses_without, measure_without
from transformer.inference import Translator
from transformer.measures.kinds import KINDS, Head


def random_order(heads: Sequence[Head], seed: int) -> list[Head]:
    """Return the heads in random order, the same for the same seed."""
    return [heads[n] for n in np.random.default_rng(seed).permutation(len(heads))]


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


def kinds_pruned(
    translator: Translator,
    corpus: Corpus,
    orders: Mapping[str, Sequence[Head]],
    *,
    points: int = 6,
    seeds: Sequence[int] = (1, 2, 3),
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Measure the loss as heads of only one kind are removed, in each of `orders` and in random
    order.

    Args:
        orders: by name, of all heads, the first to remove first; each kind's curve uses its own
            heads.
        points: of a curve, in addition to the one with all heads.
        seeds: of the random orders.

    Returns:
        A row for each point: kind, order (its name, or "random"), off (how many heads), loss (nats
            per token), low and high: for an order the 95% interval over corpora like this one; for
            "random", whose loss is the mean over the seeds, their minimum and maximum.
    """
    groups, labels = [], []
    for kind in KINDS:
        kind_orders = [[head for head in order if head[0] == kind] for order in orders.values()]
        counts = sorted({round(n * len(kind_orders[0]) / points) for n in range(points + 1)})
        for count in counts:
            candidates = [*kind_orders, *(random_order(kind_orders[0], seed) for seed in seeds)]
            groups += [candidate[:count] for candidate in candidates]
            labels.append((kind, count))
    parts = batch_list(translator, encode_corpus(translator, corpus))
    _, all_losses = losses_without(translator, parts, groups, progress)
    tokens, resampled = lengths(parts), resampled_counts(len(corpus))
    records = []
    step = len(orders) + len(seeds)
    for n, (kind, count) in enumerate(labels):
        point_losses = all_losses[n * step : (n + 1) * step]
        for name, sentence_losses in zip(orders, point_losses[: len(orders)], strict=True):
            interval = percentile_interval(
                sentence_losses.sum() / tokens.sum(), mean_loss(sentence_losses, tokens, resampled)
            )
            records.append((kind, name, count, interval.value, interval.low, interval.high))
        random = [
            float(sentence_losses.sum() / tokens.sum())
            for sentence_losses in point_losses[len(orders) :]
        ]
        records.append((kind, "random", count, float(np.mean(random)), min(random), max(random)))
    progress(1.0, "measured")
    return pd.DataFrame(records, columns=["kind", "order", "off", "loss", "low", "high"])
