"""Findings about switching heads off (Michel, Levy and Neubig 2019, arXiv:1905.10650)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, batch_list, encode_corpus, scaled_progress
from transformer.analysis.evidence.bootstrap import BootstrapSamples, max_difference_interval
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import (
    Finding,
    PublishedFinding,
    UntestableError,
    format_effect,
    require_sentences,
    with_minus_signs,
)
from transformer.analysis.importance.ablation import losses_without
from transformer.analysis.importance.by_gradient import Importance, gradient_importance
from transformer.analysis.interventions.switching import KINDS, Head, all_heads
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.measures.naming import short_name

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
COMPARED_SHARE = 0.8
"""Share of a kind's heads that is switched off to compare kinds, as in the paper (section 5)."""
FLOOR = 0.01
"""Relative growth of the loss that matters; below it, the paper's BLEU would hardly change."""
_NAMES = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}
_OF_LOSS = "% of the loss"


def losses(
    translator: Translator, corpus: Corpus, groups: Sequence[Sequence[Head]], progress: Progress
) -> tuple[Float[np.ndarray, "sentence"], Float[np.ndarray, "group sentence"]]:
    """Return the loss of every sentence, nats, with all heads and without each group."""
    parts = batch_list(translator, encode_corpus(translator, corpus))
    return losses_without(translator, parts, groups, progress)


def growth(
    baseline: Float[np.ndarray, "sentence"], ablated: Float[np.ndarray, "group sentence"]
) -> BootstrapSamples:
    """Return the relative growth of the corpus's loss without each group."""
    return BootstrapSamples.from_ratios(ablated - baseline, baseline)


def _table(groups: pd.DataFrame, samples: BootstrapSamples) -> pd.DataFrame:
    """Add growth, low and high (simultaneous intervals) to `groups`, a row for each group."""
    intervals = samples.simultaneous_intervals()
    return groups.assign(
        growth=samples.values,
        low=[interval.low for interval in intervals],
        high=[interval.high for interval in intervals],
    )


def _single(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    require_sentences(len(corpus))
    heads = all_heads(translator.model.config)
    baseline, ablated = losses(translator, corpus, [[head] for head in heads], progress)
    growths = growth(baseline, ablated)
    table = pd.DataFrame(heads, columns=["kind", "layer", "head"])
    table = _table(table, growths).sort_values("growth", ignore_index=True)
    table["kind"] = table["kind"].map(_NAMES)
    table["rank"] = range(1, len(table) + 1)
    needed = {"yes": table["low"] > FLOOR, "no": table["high"] < FLOOR}
    table["needed"] = np.select(list(needed.values()), list(needed), "inconclusive")
    median = BootstrapSamples(
        np.median(growths.values, keepdims=True),
        np.median(growths.samples, axis=0)[None],
        len(corpus),
    )
    effect = Effect(
        "median growth of the loss without a single head",
        _OF_LOSS,
        max_difference_interval(median).scaled(100),
        100 * FLOOR,
        below=True,
    )
    worst, counts = table.iloc[-1], table["needed"].value_counts()
    yes, no, unknown = (int(counts.get(word, 0)) for word in ("yes", "no", "inconclusive"))
    name = short_name(worst["layer"], worst["head"], exact=True)
    reason = (
        f"Without one head, the median growth over {len(table)} heads is {format_effect(effect)}. "
        f"By simultaneous intervals it is more than {FLOOR:.0%} for {yes} of them and less for "
        f"{no}; for {unknown} neither is certain. The most important head is "
        f"{worst.kind} {name} ({100 * worst.growth:+.1f}%)."
    )
    return Finding(table, effect, with_minus_signs(reason), len(corpus))


def _kinds(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    require_sentences(len(corpus))
    order = _order(translator, corpus, progress)
    groups: list[list[Head]] = []
    records: list[tuple[str, float, int]] = []
    index: dict[str, int] = {}
    for kind in KINDS:
        ordered = [head for head in order.order() if head[0] == kind]
        for share in SHARES:
            if share == COMPARED_SHARE:
                index[kind] = len(groups)
            groups.append(ordered[: round(share * len(ordered))])
            records.append((kind, share, len(groups[-1])))
    growths = growth(*losses(translator, corpus, groups, scaled_progress(progress, 0.2, 0.8)))
    table = _table(pd.DataFrame(records, columns=["kind", "share", "off"]), growths)
    table["kind"] = table["kind"].map(_NAMES)
    other_kinds = growths[[index["encoder"], index["decoder"]]]
    effect = Effect(
        f"growth without {COMPARED_SHARE:.0%} of the cross-attention heads minus the larger growth "
        "of the other two kinds",
        _OF_LOSS,
        max_difference_interval(growths[[index["cross"]]], other_kinds).scaled(100),
        100 * FLOOR,
        2,
    )
    cross, encoder, decoder = (100 * growths.values[index[kind]] for kind in ("cross", *KINDS[:2]))
    reason = (
        f"Without {COMPARED_SHARE:.0%} of its heads the loss changes by {cross:+.0f}% for "
        f"cross-attention, {encoder:+.0f}% for the encoder and {decoder:+.0f}% for the "
        f"decoder: a difference of {format_effect(effect, 0)}."
    )
    return Finding(table, effect, with_minus_signs(reason), len(corpus))


def _last_cross(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    require_sentences(len(corpus))
    config = translator.model.config
    if config.n_heads < 2:
        raise UntestableError(
            "Each layer of this model has one head, so no head can be switched off."
        )
    values = _order(translator, corpus, progress).values
    groups, kept_heads = [], []
    for kind in KINDS:
        for layer in range(config.n_layers):
            best_head = int(values[kind][layer].argmax())
            groups.append([(kind, layer, h) for h in range(config.n_heads) if h != best_head])
            kept_heads.append((kind, layer, best_head))
    growths = growth(*losses(translator, corpus, groups, scaled_progress(progress, 0.2, 0.8)))
    table = _table(pd.DataFrame(kept_heads, columns=["kind", "layer", "kept"]), growths)
    last_cross = kept_heads.index(("cross", config.n_layers - 1, kept_heads[-1][2]))
    other_groups = np.arange(len(kept_heads)) != last_cross
    effect = Effect(
        "growth with one head left in the last cross-attention layer minus the largest growth of "
        "the other layers",
        _OF_LOSS,
        max_difference_interval(growths[[last_cross]], growths[other_groups]).scaled(100),
        100 * FLOOR,
        int(other_groups.sum()),
    )
    order = np.argsort(-growths.values)
    worst, rank = (
        next(n for n in order if n != last_cross),
        int(np.flatnonzero(order == last_cross)[0]) + 1,
    )
    reason = (
        f"With one head left in the last cross-attention layer the loss grows by "
        f"{100 * growths.values[last_cross]:+.1f}%, rank {rank} of {len(kept_heads)} layers. The "
        f"largest growth of the others is {100 * growths.values[worst]:+.1f}% "
        f"({_NAMES[kept_heads[worst][0]]} layer {kept_heads[worst][1]}): a difference of "
        f"{format_effect(effect, 1)}."
    )
    table["kind"] = table["kind"].map(_NAMES)
    return Finding(table, effect, with_minus_signs(reason), len(corpus))


def _order(translator: Translator, corpus: Corpus, progress: Progress) -> Importance:
    """Return gradient importance; it takes about a fifth of the time."""
    return gradient_importance(
        translator, corpus, progress=scaled_progress(progress, 0, 0.2)
    ).normalised()


_GROWTH = "growth of the loss"
_SIZE = "The claim holds if the whole 95% interval is above 1%, and is refuted if it is below."

SINGLE_HEADS = PublishedFinding(
    "single",
    "Most heads can be removed, one at a time, without harm.",
    "Michel et al. 2019, section 3.2",
    "Each head is switched off alone; it is needed if the loss grows by more than 1%. The effect "
    "is the median growth over all heads. The claim holds if the whole 95% interval (bootstrap "
    "over sentences) is below 1%, and is refuted if it is above. For the verdict on each single "
    "head the intervals are simultaneous. The paper measures BLEU, which reacts later than the "
    "loss.",
    _single,
    max_sentences=40,
    chart=Chart(
        "rank",
        "growth",
        "heads, by growth of the loss",
        _GROWTH,
        by="kind",
        mark=(FLOOR, "1%"),
        joined=False,
        percent=True,
    ),
    minutes=1.5,
)
FRAGILE_KIND = PublishedFinding(
    "fragile",
    "Removing cross-attention heads does more harm than removing encoder or decoder heads.",
    "Michel et al. 2019, section 5",
    "For one kind of attention at a time, the least important 20%, 40% … of the heads are switched "
    "off (importance by gradient, on the same sentences). The effect is the relative growth of the "
    "loss without 80% of the cross-attention heads minus the larger growth without 80% of the "
    "encoder's or of the decoder's heads, with a simultaneous interval over both comparisons "
    f"(paired bootstrap over sentences). {_SIZE}",
    _kinds,
    max_sentences=60,
    chart=Chart(
        "share", "growth", "share of the heads switched off", _GROWTH, by="kind", percent=True
    ),
    minutes=0.4,
)
LAST_CROSS = PublishedFinding(
    "last-cross",
    "Of all layers, the last cross-attention needs its heads most.",
    "Michel et al. 2019, section 3.3",
    "In one attention layer at a time, all heads except the most important one (by gradient) are "
    "switched off. The effect is the relative growth of the loss for the last cross-attention "
    "layer minus the largest growth for another layer, with a simultaneous interval over all these "
    f"comparisons (paired bootstrap over sentences). {_SIZE}",
    _last_cross,
    max_sentences=60,
    chart=Chart("layer", "growth", "layer", _GROWTH, by="kind", percent=True),
    minutes=0.4,
)
