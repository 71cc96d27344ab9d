"""The pruning game: heads taken away one after the other, the least important first.

    order = gradient_importance(translator, corpus).normalised().order()
    curve = pruning_curve(translator, corpus, order)
    few = budgeted(order, {"encoder": 30, "decoder": 20, "cross": 5})  # or each kind its share
    measure_without(translator, corpus, [few], bleu=True).to_frame()

Michel et al. 2019, sections 4 and 5; the rival of every order is a random one. There are two orders
of importance, by their equation and by their program: see `by_gradient`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, batched, encoded, lengths, part, silent
from transformer.analysis.evidence.bootstrap import draws, interval, mean_loss
from transformer.analysis.importance.ablation import losses_without, measure_without
from transformer.analysis.interventions.switching import KINDS, Head
from transformer.inference import Translator


def budgeted(order: Sequence[Head], budgets: Mapping[str, int]) -> list[Head]:
    """The first heads of `order`, of each kind as many as its budget; a kind without one keeps all.

    Args:
        budgets: how many heads of "encoder", "decoder" and "cross" to take away.

    Raises:
        ValueError: for a kind that there is not, or a budget below 0 or above what there is.
    """
    for kind, budget in budgets.items():
        if kind not in KINDS:
            known = ", ".join(map(repr, KINDS))
            raise ValueError(f"there is no kind {kind!r} to have a budget; the kinds are {known}")
        there = sum(head[0] == kind for head in order)
        if not 0 <= budget <= there:
            raise ValueError(
                f"{budget} {kind} heads are to go; it must be at least 0 and at most {there}"
            )
    left = {**dict.fromkeys(KINDS, 0), **budgets}
    chosen = []
    for head in order:
        if left[head[0]] > 0:
            left[head[0]] -= 1
            chosen.append(head)
    return chosen


def first_change(said: Callable[[int], str], most: int, step: int) -> int | None:
    """How many heads must go until a model says something else; None if it never does.

    What is said with that many differs from what is said with none, and with one head fewer it does
    not. There may be a lower such number between two steps: of a curve that goes to and fro, steps
    see only where they fall.

    Args:
        said: what is said with so many heads gone.
        most: of them; step: heads at a time, before the place is looked for by halves.
    """
    whole, low = said(0), 0
    for reached in [*range(step, most, step), most]:
        if said(reached) != whole:
            return bisect_left(range(reached), True, low + 1, key=lambda n: said(n) != whole)
        low = reached
    return None


def random_order(heads: Sequence[Head], seed: int) -> list[Head]:
    """The same heads in an order by chance, the same for the same seed."""
    return [heads[n] for n in np.random.default_rng(seed).permutation(len(heads))]


def pruning_curve(
    translator: Translator,
    corpus: Corpus,
    order: Sequence[Head],
    *,
    counts: Collection[int] | None = None,
    bleu_at: Collection[int] = (),
    progress: Progress = silent,
) -> pd.DataFrame:
    """Loss, and BLEU at some points, as more and more heads of `order` are off together.

    Args:
        order: heads, the first to go first. A curve of one kind alone is of its heads alone:
            `budgeted(order, {"cross": 48})`.
        counts: how many are off at each point; left out: 0, 1, 2 … all.
        bleu_at: the counts at which the corpus is translated as well; it takes longer.

    Returns:
        The columns of `Ablation.to_frame`, a line a point in the order of `off`; `bleu` and its
        interval are NaN where it was not asked for.

    Raises:
        ValueError: for a count below 0 or above the heads of `order`, and as `measure_without`.
    """
    points = sorted({*(range(len(order) + 1) if counts is None else counts), *bleu_at})
    if not points or points[0] < 0 or points[-1] > len(order):
        raise ValueError(f"the counts must be from 0 to {len(order)}, the heads of the order")
    share = 0.3 if bleu_at else 1.0  # of the time, about
    off = [order[:count] for count in points]
    found = measure_without(translator, corpus, off, progress=part(progress, 0, share))
    losses = found.to_frame().drop(columns=["kind", "layer", "head"], errors="ignore")
    if not bleu_at:
        return losses
    off, then = [order[:n] for n in sorted(set(bleu_at))], part(progress, share, 1 - share)
    scored = measure_without(translator, corpus, off, bleu=True, progress=then).to_frame()
    bleu = [name for name in scored.columns if str(name).startswith("bleu")]
    return losses.merge(scored[["off", *bleu]], on="off", how="left")


def kinds_pruned(
    translator: Translator,
    corpus: Corpus,
    orders: Mapping[str, Sequence[Head]],
    *,
    points: int = 6,
    seeds: Sequence[int] = (1, 2, 3),
    progress: Progress = silent,
) -> pd.DataFrame:
    """Loss as the heads of one kind go, the others left alone: in each of `orders`, and by chance.

    Args:
        orders: by name, of all heads, the first to go first; each kind's curve is of its own heads.
        points: of a curve, besides the one with all heads.
        seeds: of the random orders.

    Returns:
        A line a point: kind, order (its name, or "random"), off (how many heads), loss (nats a
        token), low and high: of an order the 95% interval over corpora like this one, of
        "random", whose loss is the mean over the seeds, the least and the greatest of them.
    """
    groups, about = [], []
    for kind in KINDS:
        own = [[head for head in order if head[0] == kind] for order in orders.values()]
        counts = sorted({round(n * len(own[0]) / points) for n in range(points + 1)})
        for count in counts:
            tried = [*own, *(random_order(own[0], seed) for seed in seeds)]
            groups += [one[:count] for one in tried]
            about.append((kind, count))
    parts = batched(translator, encoded(translator, corpus))
    _, each = losses_without(translator, parts, groups, progress)
    tokens, drawn = lengths(parts), draws(len(corpus))
    lines = []
    step = len(orders) + len(seeds)
    for n, (kind, count) in enumerate(about):
        found = each[n * step : (n + 1) * step]
        for name, one in zip(orders, found[: len(orders)], strict=True):
            sure = interval(one.sum() / tokens.sum(), mean_loss(one, tokens, drawn))
            lines.append((kind, name, count, sure.value, sure.low, sure.high))
        random = [float(one.sum() / tokens.sum()) for one in found[len(orders) :]]
        lines.append((kind, "random", count, float(np.mean(random)), min(random), max(random)))
    progress(1.0, "measured")
    return pd.DataFrame(lines, columns=["kind", "order", "off", "loss", "low", "high"])
