"""What was published of single measures (`PublishedClaim`): some head does what it says."""

from __future__ import annotations

import numpy as np
import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress
from transformer.analysis.evidence.bootstrap import Drawn, lead
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import Finding, Published, enough, interval_text
from transformer.analysis.roles.head_measures import measure_heads
from transformer.figures.interval_chart import Chart
from transformer.figures.naming import short_name
from transformer.inference import Translator
from transformer.measures import MEASURES, Measure, PublishedClaim


def published(measure: Measure, claim: PublishedClaim) -> Published:
    """The finding of a measure's claim."""

    def test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
        return _tested(measure, claim, translator, corpus, progress)

    whose = f"{claim.kind} head" + ("" if claim.layer is None else f" of layer {claim.layer}")
    return Published(
        measure.name,
        claim.text,
        claim.source,
        f"Of each {whose}: {measure.note[0].lower()}{measure.note[1:]} The effect is that of the "
        f"head that has most. It holds if it is surely above {claim.floor:.0%}, and is refuted if "
        "it is surely below; the interval is simultaneous over all these heads, for one of many is "
        "easily good by chance.",
        test,
        most=300,
        chart=Chart(
            "place",
            "share",
            f"{claim.kind} head (layer.head)",
            measure.label,
            mark=(claim.floor, f"{claim.floor:.0%}"),
            joined=False,
            percent=True,
        ),
        minutes=0.2,
    )


def _tested(
    measure: Measure,
    claim: PublishedClaim,
    translator: Translator,
    corpus: Corpus,
    progress: Progress,
) -> Finding:
    enough(len(corpus))
    measured = measure_heads(translator, corpus, progress)
    rows = measured.rows[claim.kind][measure.name]
    some = rows > 0
    enough(int(some.sum()), f"sentences that this can be measured over ({measure.lacking})")
    values = measured.values[claim.kind][measure.name][..., some]
    layers = range(len(values)) if claim.layer is None else [claim.layer]
    each = np.concatenate([values[layer] for layer in layers])
    drawn = Drawn.rates(each * rows[some], rows[some][None])
    n_heads = values.shape[1]
    places = [(layer, head) for layer in layers for head in range(n_heads)]
    lines = [
        (
            short_name(layer, head, exact=True),
            layer,
            head,
            one.value,
            max(one.low, 0.0),
            min(one.high, 1.0),
        )
        for (layer, head), one in zip(places, drawn.together(), strict=True)
    ]
    table = pd.DataFrame(lines, columns=["place", "layer", "head", "share", "low", "high"])
    effect = Effect(
        f"the greatest of all heads: {measure.label.lower()}",
        "% of the rows",
        lead(drawn).times(100),
        100 * claim.floor,
        len(places),
    )
    value, low, high = interval_text(effect.interval, 0)
    best = table.nlargest(1, "share").iloc[0]
    reason = f"The head that has most, {best.place}, has {value}% (95%: {low} to {high})."
    return Finding(table, effect, reason, int(some.sum()))


CLAIMED = [published(one, one.claim) for one in MEASURES.values() if one.claim is not None]
"""A finding for every measure of which something was published."""
