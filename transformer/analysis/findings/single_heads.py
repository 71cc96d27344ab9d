"""Finding: most heads can be removed, one at a time (Michel, Levy and Neubig 2019,
arXiv:1905.10650)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, batch_list, encode_corpus
from transformer.analysis.evidence.bootstrap import BootstrapSamples, max_difference_interval
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import (
    Finding,
    PublishedFinding,
    format_effect,
    require_sentences,
    with_minus_signs,
)
from transformer.analysis.importance.ablation import losses_without
from transformer.analysis.interventions.switching import all_heads
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.measures.kinds import Head
from transformer.measures.naming import index_name

FLOOR = 0.01
"""Relative growth of the loss that matters; below it, the paper's BLEU would hardly change."""
_NAMES = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}


def losses(
    translator: Translator, corpus: Corpus, groups: Sequence[Sequence[Head]], progress: Progress
) -> tuple[Float[np.ndarray, "sentence"], Float[np.ndarray, "group sentence"]]:
    """Return the loss of every sentence, nats, with all heads and without each group."""
    parts = batch_list(translator, encode_corpus(translator, corpus))
    return losses_without(translator, parts, groups, progress)


def _single(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    require_sentences(len(corpus))
    heads = all_heads(translator.model.config)
    baseline, ablated = losses(translator, corpus, [[head] for head in heads], progress)
    growths = BootstrapSamples.from_ratios(ablated - baseline, baseline)
    intervals = growths.simultaneous_intervals()
    table = pd.DataFrame(heads, columns=["kind", "layer", "head"])
    table["growth"] = growths.values
    table["low"] = [interval.low for interval in intervals]
    table["high"] = [interval.high for interval in intervals]
    table = table.sort_values("growth", ignore_index=True)
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
        "% of the loss",
        max_difference_interval(median).scaled(100),
        100 * FLOOR,
        below=True,
    )
    worst, counts = table.iloc[-1], table["needed"].value_counts()
    yes, no, unknown = (int(counts.get(word, 0)) for word in ("yes", "no", "inconclusive"))
    name = index_name(worst["layer"], worst["head"])
    reason = (
        f"Without one head, the median growth over {len(table)} heads is {format_effect(effect)}. "
        f"By simultaneous intervals it is more than {FLOOR:.0%} for {yes} of them and less for "
        f"{no}; for {unknown} neither is certain. The most important head is "
        f"{worst.kind} {name} ({100 * worst.growth:+.1f}%)."
    )
    return Finding(table, effect, with_minus_signs(reason), len(corpus))


SINGLE_HEADS = PublishedFinding(
    "single",
    "Most heads can be removed, one at a time, without harm.",
    "Michel et al. 2019, section 3.2",
    "Each head is switched off alone; it is needed if the loss grows by more than 1%. The effect "
    "is the median growth over all heads. The claim holds if the whole 95% interval (bootstrap "
    "over sentences) is below 1%, and does not hold for this model if it is above. For the verdict "
    "on each single head the intervals are simultaneous. The paper measures BLEU, which reacts "
    "later than the loss.",
    _single,
    max_sentences=40,
    chart=Chart(
        "rank",
        "growth",
        "heads, by growth of the loss",
        "growth of the loss",
        by="kind",
        mark=(FLOOR, "1%"),
        joined=False,
        percent=True,
    ),
    minutes=1.5,
)
