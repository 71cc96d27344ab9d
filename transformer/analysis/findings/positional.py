"""Positional heads exist (Voita et al. 2019, section 5.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from transformer.analysis.bootstrap import draws, interval
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import Finding, Published, enough, verdict
from transformer.analysis.heads import measure_heads
from transformer.analysis.passes import Progress
from transformer.figures.measured import Chart
from transformer.figures.roles import POSITIONAL
from transformer.inference import Translator

HALF = 0.5


def _test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    enough(len(corpus))
    measured = measure_heads(translator, corpus, progress)
    places, drawn = measured.places["encoder"], draws(len(corpus))
    lines = []
    for layer, head in np.ndindex(places.best.shape[:2]):
        offset, share, reach = places.constant(layer, head)
        shares, rows = places.by_sentence(layer, head, offset, len(corpus))
        found = interval(share, (drawn @ (shares * rows)) / np.maximum(drawn @ rows, 1))
        sure = offset != 0 and reach >= HALF and found.low >= POSITIONAL
        place = f"{layer}.{head}"
        lines.append((place, layer, head, offset, share, found.low, found.high, sure))
    names = ["place", "layer", "head", "offset", "share", "low", "high", "positional"]
    table = pd.DataFrame(lines, columns=names)
    table["role"] = np.where(table["positional"], "positional", "not")
    met = table[table["positional"]]
    if len(met):
        told = ", ".join(
            f"{row.place} ({row.offset:+d}, {row.share:.0%})" for row in met.itertuples()
        )
        reason = f"{len(met)} of {len(table)} encoder heads are positional: {told}."
    else:
        best = table[table["offset"] != 0].nlargest(1, "share")
        nearest = (
            f"; the nearest is {best.place.item()} with {best.share.item():.0%} at offset "
            f"{best.offset.item():+d}"
            if len(best)
            else ""
        )
        reason = f"None of {len(table)} encoder heads is positional{nearest}."
    return Finding(table, verdict(len(met) > 0), reason.replace("-", "−"), len(corpus))


POSITIONAL_HEADS = Published(
    "positional",
    "Some encoder heads look at one fixed place relative to each token, mostly its neighbour.",
    "Voita et al. 2019, section 5.1",
    "There is an encoder head whose greatest weight is at one and the same offset, other than 0, "
    "in at least 90% of the rows that can reach it (at least half must), and the lower end of "
    "the 95% interval (bootstrap over sentences) is at 90% or above too. Offset 0 does not count, "
    "for a head finds its own token by its content as well.",
    _test,
    most=300,
    chart=Chart(
        "place",
        "share",
        "encoder head (layer.head)",
        "rows at its offset",
        by="role",
        mark=(POSITIONAL, "90%"),
        joined=False,
        percent=True,
    ),
    minutes=0.2,
)
