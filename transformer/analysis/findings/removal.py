"""Findings about removing heads (Michel, Levy and Neubig 2019, arXiv:1905.10650)."""

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
    Published,
    Untestable,
    format_effect,
    require_sentences,
)
from transformer.analysis.importance.ablation import losses_without
from transformer.analysis.importance.by_gradient import Importance, gradient_importance
from transformer.analysis.interventions.switching import KINDS, Head, all_heads
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.measures.naming import short_name

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
COMPARED_SHARE = 0.8
"""Share of a kind's heads that is removed when kinds are compared, as in the paper (section 5)."""
FLOOR = 0.01
"""Share of the loss: a head that costs less is not missed. The paper's BLEU would hardly change."""
_NAMES = {"encoder": "encoder", "decoder": "decoder", "cross": "encoder–decoder"}
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
    missed = {"yes": table["low"] > FLOOR, "no": table["high"] < FLOOR}
    table["missed"] = np.select(list(missed.values()), list(missed), "not shown")
    median = BootstrapSamples(
        np.median(growths.values, keepdims=True),
        np.median(growths.samples, axis=0)[None],
        len(corpus),
    )
    effect = Effect(
        "what half of the heads cost at most, each taken away alone",
        _OF_LOSS,
        max_difference_interval(median).scaled(100),
        100 * FLOOR,
        below=True,
    )
    worst, counts = table.iloc[-1], table["missed"].value_counts()
    yes, no, unknown = (int(counts.get(word, 0)) for word in ("yes", "no", "not shown"))
    name = short_name(worst["layer"], worst["head"], exact=True)
    reason = (
        f"Half of the {len(table)} heads cost {format_effect(effect)} or less, taken away alone. "
        f"Of single heads, all intervals taken at once, {yes} surely cost more than {FLOOR:.0%}, "
        f"{no} surely less, {unknown} cannot be told; the worst is {worst.kind} {name} "
        f"({100 * worst.growth:+.1f}%)."
    )
    return Finding(table, effect, reason.replace("-", "−"), len(corpus))


def _kinds(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    require_sentences(len(corpus))
    order = _order(translator, corpus, progress)
    groups: list[list[Head]] = []
    lines: list[tuple[str, float, int]] = []
    index: dict[str, int] = {}
    for kind in KINDS:
        ordered = [head for head in order.order() if head[0] == kind]
        for share in SHARES:
            if share == COMPARED_SHARE:
                index[kind] = len(groups)
            groups.append(ordered[: round(share * len(ordered))])
            lines.append((kind, share, len(groups[-1])))
    growths = growth(*losses(translator, corpus, groups, scaled_progress(progress, 0.2, 0.8)))
    table = _table(pd.DataFrame(lines, columns=["kind", "share", "off"]), growths)
    table["kind"] = table["kind"].map(_NAMES)
    other_kinds = growths[[index["encoder"], index["decoder"]]]
    effect = Effect(
        f"growth without {COMPARED_SHARE:.0%} of the encoder–decoder heads, less that without so "
        "many of the worse of the other kinds",
        _OF_LOSS,
        max_difference_interval(growths[[index["cross"]]], other_kinds).scaled(100),
        100 * FLOOR,
        2,
    )
    cross, encoder, decoder = (100 * growths.values[index[kind]] for kind in ("cross", *KINDS[:2]))
    reason = (
        f"Without {COMPARED_SHARE:.0%} of the encoder–decoder heads the loss grows by "
        f"{cross:+.0f}%, without so many of the encoder's by {encoder:+.0f}% and of the decoder's "
        f"by {decoder:+.0f}%: a lead of {format_effect(effect, 0)}."
    )
    return Finding(table, effect, reason.replace("-", "−"), len(corpus))


def _last_cross(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    require_sentences(len(corpus))
    config = translator.model.config
    if config.n_heads < 2:
        raise Untestable("A layer of this model has one head only, so that none would go.")
    values = _order(translator, corpus, progress).values
    groups, lines = [], []
    for kind in KINDS:
        for layer in range(config.n_layers):
            best_head = int(values[kind][layer].argmax())
            groups.append([(kind, layer, h) for h in range(config.n_heads) if h != best_head])
            lines.append((kind, layer, best_head))
    growths = growth(*losses(translator, corpus, groups, scaled_progress(progress, 0.2, 0.8)))
    table = _table(pd.DataFrame(lines, columns=["kind", "layer", "kept"]), growths)
    last = lines.index(("cross", config.n_layers - 1, lines[-1][2]))
    other_groups = np.arange(len(lines)) != last
    effect = Effect(
        "growth with one head left in the last encoder–decoder layer, less that in the worst of "
        "the other layers",
        _OF_LOSS,
        max_difference_interval(growths[[last]], growths[other_groups]).scaled(100),
        100 * FLOOR,
        int(other_groups.sum()),
    )
    order = np.argsort(-growths.values)
    worst, rank = next(n for n in order if n != last), int(np.flatnonzero(order == last)[0]) + 1
    reason = (
        f"With one head left in it, the last encoder–decoder layer costs "
        f"{100 * growths.values[last]:+.1f}% of the loss, place {rank} of {len(lines)} "
        f"({_NAMES[lines[worst][0]]} layer {lines[worst][1]}: "
        f"{100 * growths.values[worst]:+.1f}%): a lead of {format_effect(effect, 1)}."
    )
    table["kind"] = table["kind"].map(_NAMES)
    return Finding(table, effect, reason.replace("-", "−"), len(corpus))


def _order(translator: Translator, corpus: Corpus, progress: Progress) -> Importance:
    """Return the gradient measure, about a fifth of the work."""
    return gradient_importance(
        translator, corpus, progress=scaled_progress(progress, 0, 0.2)
    ).normalised()


_GROWTH = "loss grown by"
_SIZE = "A difference below 1% of the loss counts for none."

SINGLE_HEADS = Published(
    "single",
    "Most heads can be taken away, one at a time, without harm.",
    "Michel et al. 2019, section 3.2",
    "Each head is switched off alone; it would be missed if the loss grew by more than 1%, however "
    "surely a smaller growth may be measured. The effect is what half of all heads cost at most "
    "(the median head). It holds if that is surely below 1%, and is refuted if it is surely above "
    "(bootstrap over sentences). Which single heads are missed is told with intervals that hold "
    "for all heads at once. The paper counts BLEU, which moves later than loss.",
    _single,
    max_sentences=40,
    chart=Chart(
        "rank",
        "growth",
        "heads, from the least missed",
        _GROWTH,
        by="kind",
        mark=(FLOOR, "1%"),
        joined=False,
        percent=True,
    ),
    minutes=1.5,
)
FRAGILE_KIND = Published(
    "fragile",
    "Encoder–decoder heads are the most fragile kind.",
    "Michel et al. 2019, section 5",
    "Of each kind alone the least important heads go (gradient measure on the same sentences), "
    "20%, 40% and so on. The effect is by how much more of itself the loss has grown without 80% "
    "of the encoder–decoder heads than without 80% of the encoder's, or of the decoder's, "
    "whichever is worse, with an interval over both comparisons at once (paired bootstrap over "
    f"sentences). {_SIZE}",
    _kinds,
    max_sentences=60,
    chart=Chart(
        "share", "growth", "share of the kind's heads that is off", _GROWTH, by="kind", percent=True
    ),
    minutes=0.4,
)
LAST_CROSS = Published(
    "last-cross",
    "Of all layers, the last encoder–decoder attention needs its heads most.",
    "Michel et al. 2019, section 3.3",
    "In one attention layer at a time all heads are switched off but the most important (gradient "
    "measure). The effect is by how much more of itself the loss grows in the last "
    "encoder–decoder layer than in the worst of all others, with an interval over all these "
    f"comparisons at once (paired bootstrap over sentences). {_SIZE}",
    _last_cross,
    max_sentences=60,
    chart=Chart("layer", "growth", "layer", _GROWTH, by="kind", percent=True),
    minutes=0.4,
)
