"""Findings that a head with a high value of a measure exists: every `PublishedClaim`, and
positional heads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress
from transformer.analysis.evidence.bootstrap import (
    BootstrapSamples,
    Interval,
    max_difference_interval,
)
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import (
    Finding,
    PublishedFinding,
    interval_text,
    require_sentences,
    with_minus_signs,
)
from transformer.analysis.roles.head_measures import measure_heads
from transformer.inference import Translator
from transformer.measures import MEASURES, Measure, PublishedClaim
from transformer.measures.chart import Chart
from transformer.measures.naming import index_name
from transformer.measures.role_rules import POSITIONAL


def _chart(kind: str, share: str, floor: float, by: str = "") -> Chart:
    """Return a chart of a share per head with a line at the floor."""
    x_title, mark = f"{kind} head (layer.head)", (floor, f"{floor:.0%}")
    return Chart("label", "share", x_title, share, by=by, mark=mark, joined=False, percent=True)


def published_finding(measure: Measure, claim: PublishedClaim) -> PublishedFinding:
    """Return the finding of a measure's claim."""

    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        return _test_claim(measure, claim, translator, corpus, progress)

    subject = f"{claim.kind} head" + ("" if claim.layer is None else f" of layer {claim.layer}")
    return PublishedFinding(
        measure.name,
        claim.text,
        claim.source,
        f"For each {subject}: {measure.note[0].lower()}{measure.note[1:]} The effect is the "
        "greatest value of these heads. The claim holds if its whole 95% interval is above "
        f"{claim.floor:.0%}, and does not hold for this model if it is below. The interval is "
        "simultaneous over these heads, because the best of many heads may have a high value by "
        "chance.",
        test,
        max_sentences=300,
        chart=_chart(claim.kind, measure.label, claim.floor),
        minutes=0.2,
    )


def _test_claim(
    measure: Measure,
    claim: PublishedClaim,
    translator: Translator,
    corpus: Corpus,
    progress: Progress,
) -> Finding:
    require_sentences(len(corpus))
    measured = measure_heads(translator, corpus, progress)
    rows = measured.rows[claim.kind][measure.name]
    measurable = rows > 0
    require_sentences(
        int(measurable.sum()),
        f"sentences on which this measure is defined ({measure.missing_reason})",
    )
    values = measured.values[claim.kind][measure.name][..., measurable]
    layers = range(len(values)) if claim.layer is None else [claim.layer]
    head_values = np.concatenate([values[layer] for layer in layers])
    samples = BootstrapSamples.from_ratios(head_values * rows[measurable], rows[measurable][None])
    n_heads = values.shape[1]
    heads = [(layer, head) for layer in layers for head in range(n_heads)]
    records = [(index_name(*head), *head) for head in heads]
    table = pd.DataFrame(records, columns=["label", "layer", "head"])
    table["share"] = samples.values
    _add_bounds(table, samples)
    effect = Effect(
        f"greatest value of all heads: {measure.label.lower()}",
        "% of the rows",
        max_difference_interval(samples).scaled(100),
        100 * claim.floor,
        len(heads),
    )
    value, low, high = interval_text(effect.interval, 0)
    best = table.nlargest(1, "share").iloc[0]
    reason = f"The greatest value is {value}% (95%: {low} to {high}), of head {best.label}."
    return Finding(table, effect, reason, int(measurable.sum()))


def _add_bounds(table: pd.DataFrame, samples: BootstrapSamples) -> None:
    """Add simultaneous intervals of shares, clipped to 0 and 1."""
    intervals = samples.simultaneous_intervals()
    table["low"] = [max(interval.low, 0.0) for interval in intervals]
    table["high"] = [min(interval.high, 1.0) for interval in intervals]


CLAIM_FINDINGS = [
    published_finding(measure, measure.claim)
    for measure in MEASURES.values()
    if measure.claim is not None
]
"""A finding for every measure with a published claim."""


HALF = 0.5


def _positional(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    require_sentences(len(corpus))
    measured = measure_heads(translator, corpus, progress)
    strongest_keys, n = measured.strongest_keys["encoder"], len(corpus)
    records, hits, rows = [], [], []
    for layer, head in np.ndindex(strongest_keys.best.shape[:2]):
        offset, share, reachable_share = strongest_keys.constant(layer, head)
        shares, counts = strongest_keys.by_sentence(layer, head, offset, n)
        records.append((index_name(layer, head), layer, head, offset, share, reachable_share))
        hits.append(shares * counts)
        rows.append(counts)
    table = pd.DataFrame(records, columns=["label", "layer", "head", "offset", "share", "reach"])
    samples = BootstrapSamples.from_ratios(np.stack(hits), np.stack(rows))
    _add_bounds(table, samples)
    reachable = ((table["offset"] != 0) & (table.pop("reach") >= HALF)).to_numpy()
    table["positional"] = reachable & (table["low"] > POSITIONAL)
    possible = reachable & (table["high"] >= POSITIONAL)
    table["role"] = np.select(
        [table["positional"], possible], ["positional", "inconclusive"], "not positional"
    )
    best = max_difference_interval(samples[reachable]) if reachable.any() else Interval(0, 0, 0)
    effect = Effect(
        "greatest share of rows at one offset, over all encoder heads",
        "% of the rows",
        best.scaled(100),
        100 * POSITIONAL,
        max(1, int(reachable.sum())),
    )
    return Finding(table, effect, _reason(table, reachable, effect), n)


def _reason(table: pd.DataFrame, reachable: npt.NDArray[np.bool_], effect: Effect) -> str:
    positional = table[table["positional"]]
    if len(positional):
        head_list = ", ".join(
            f"{row.label} ({row.offset:+d}, {row.share:.0%})" for row in positional.itertuples()
        )
        text = f"{len(positional)} of {len(table)} encoder heads are positional: {head_list}"
    else:
        text = f"None of {len(table)} encoder heads is shown to be positional"
        best = table[reachable].nlargest(1, "share")
        if len(best):
            value, low, high = interval_text(effect.interval, 0)
            text += (
                f"; {best.label.item()} has the greatest share, {value}% (95%: {low} to {high}) at "
                f"offset {best.offset.item():+d}"
            )
    return with_minus_signs(f"{text}.")


POSITIONAL_HEADS = PublishedFinding(
    "positional",
    "Some encoder heads attend to one fixed offset from each token, mostly to a neighbour.",
    "Voita et al. 2019, section 5.1",
    "For each encoder head, the most frequent offset of a row's greatest weight is determined, if "
    "at least half of the rows can reach it. Offset 0 does not count, because a head can also find "
    "its own token by content. The effect is the greatest share of rows at such an offset, over "
    "all heads. The claim holds if its whole 95% interval is above 90%, the threshold of Voita et "
    "al., and does not hold for this model if it is below. The interval is simultaneous over the "
    "heads, because the best of many heads may have a high value by chance.",
    _positional,
    max_sentences=300,
    chart=_chart("encoder", "rows at its offset", POSITIONAL, by="role"),
    minutes=0.2,
)
