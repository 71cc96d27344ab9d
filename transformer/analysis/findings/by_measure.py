"""Some head does what a measure says: every `PublishedClaim`, and that positional heads exist."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress
from transformer.analysis.evidence.bootstrap import Drawn, Interval, lead
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import Finding, Published, enough, interval_text
from transformer.analysis.roles.head_measures import measure_heads
from transformer.inference import Translator
from transformer.measures import MEASURES, Measure, PublishedClaim
from transformer.measures.chart import Chart
from transformer.measures.naming import short_name
from transformer.measures.role_rules import POSITIONAL


def _chart(kind: str, share: str, floor: float, by: str = "") -> Chart:
    """A share a head, beside the floor."""
    across, mark = f"{kind} head (layer.head)", (floor, f"{floor:.0%}")
    return Chart("place", "share", across, share, by=by, mark=mark, joined=False, percent=True)


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
        chart=_chart(claim.kind, measure.label, claim.floor),
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
    enough(int(some.sum()), f"sentences that this can be measured over ({measure.missing_reason})")
    values = measured.values[claim.kind][measure.name][..., some]
    layers = range(len(values)) if claim.layer is None else [claim.layer]
    each = np.concatenate([values[layer] for layer in layers])
    drawn = Drawn.rates(each * rows[some], rows[some][None])
    n_heads = values.shape[1]
    places = [(layer, head) for layer in layers for head in range(n_heads)]
    lines = [(short_name(*place, exact=True), *place) for place in places]
    table = pd.DataFrame(lines, columns=["place", "layer", "head"])
    table["share"] = drawn.values
    _add_bounds(table, drawn)
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


def _add_bounds(table: pd.DataFrame, drawn: Drawn) -> None:
    """Simultaneous intervals of shares: none is below 0 or above 1."""
    each = drawn.together()
    table["low"] = [max(one.low, 0.0) for one in each]
    table["high"] = [min(one.high, 1.0) for one in each]


CLAIMED = [published(one, one.claim) for one in MEASURES.values() if one.claim is not None]
"""A finding for every measure of which something was published."""


HALF = 0.5


def _positional(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    enough(len(corpus))
    measured = measure_heads(translator, corpus, progress)
    places, n = measured.strongest_keys["encoder"], len(corpus)
    lines, hits, rows = [], [], []
    for layer, head in np.ndindex(places.best.shape[:2]):
        offset, share, reach = places.constant(layer, head)
        shares, counts = places.by_sentence(layer, head, offset, n)
        lines.append((short_name(layer, head, exact=True), layer, head, offset, share, reach))
        hits.append(shares * counts)
        rows.append(counts)
    table = pd.DataFrame(lines, columns=["place", "layer", "head", "offset", "share", "reach"])
    drawn = Drawn.rates(np.stack(hits), np.stack(rows))
    _add_bounds(table, drawn)
    counts_here = ((table["offset"] != 0) & (table.pop("reach") >= HALF)).to_numpy()
    table["positional"] = counts_here & (table["low"] > POSITIONAL)
    maybe = counts_here & (table["high"] >= POSITIONAL)
    table["role"] = np.select([table["positional"], maybe], ["positional", "not shown"], "not")
    best = lead(drawn[counts_here]) if counts_here.any() else Interval(0, 0, 0)
    effect = Effect(
        "the greatest share of rows that any encoder head has at one offset",
        "% of the rows",
        best.times(100),
        100 * POSITIONAL,
        max(1, int(counts_here.sum())),
    )
    return Finding(table, effect, _reason(table, counts_here, effect), n)


def _reason(table: pd.DataFrame, counts_here: npt.NDArray[np.bool_], effect: Effect) -> str:
    met = table[table["positional"]]
    if len(met):
        each = ", ".join(
            f"{row.place} ({row.offset:+d}, {row.share:.0%})" for row in met.itertuples()
        )
        said = f"{len(met)} of {len(table)} encoder heads are positional: {each}"
    else:
        said = f"None of {len(table)} encoder heads is surely positional"
        best = table[counts_here].nlargest(1, "share")
        if len(best):
            value, low, high = interval_text(effect.interval, 0)
            said += (
                f"; the nearest is {best.place.item()} with {value}% (95%: {low} to {high}) at "
                f"offset {best.offset.item():+d}"
            )
    return f"{said}.".replace("-", "−")


POSITIONAL_HEADS = Published(
    "positional",
    "Some encoder heads look at one fixed place relative to each token, mostly its neighbour.",
    "Voita et al. 2019, section 5.1",
    "Of each encoder head the offset is taken at which most rows have their greatest weight, other "
    "than 0, if at least half of the rows can reach it. The effect is the share of these rows in "
    "the head that has most. It holds if that share is surely above 90%, Voita's own floor, and is "
    "refuted if it is surely below; the interval is simultaneous over all heads, for one head of "
    "many is easily good by chance. Offset 0 does not count: a head finds its own token by its "
    "content as well.",
    _positional,
    most=300,
    chart=_chart("encoder", "rows at its offset", POSITIONAL, by="role"),
    minutes=0.2,
)
