"""What goes wrong without heads (Michel, Levy and Neubig 2019, arXiv:1905.10650)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, batched, encoded, part
from transformer.analysis.evidence.bootstrap import Drawn, lead
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import Finding, Published, Untestable, enough, size
from transformer.analysis.importance.ablation import losses_without
from transformer.analysis.importance.by_gradient import Importance, gradient_importance
from transformer.analysis.interventions.switching import KINDS, Head, all_heads
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.measures.naming import short_name

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
JUDGED = 0.8
"""Share of a kind that is gone when kinds are compared; the paper's own (section 5)."""
FLOOR = 0.01
"""Share of the loss: what is less is not missed. The paper's BLEU would hardly move."""
_NAMES = {"encoder": "encoder", "decoder": "decoder", "cross": "encoder–decoder"}
_OF_LOSS = "% of the loss"


def losses(
    translator: Translator, corpus: Corpus, groups: Sequence[Sequence[Head]], progress: Progress
) -> tuple[Float[np.ndarray, "sentence"], Float[np.ndarray, "group sentence"]]:
    """Loss of every sentence, nats, with all heads and without each group."""
    parts = batched(translator, encoded(translator, corpus))
    return losses_without(translator, parts, groups, progress)


def growth(
    whole: Float[np.ndarray, "sentence"], each: Float[np.ndarray, "group sentence"]
) -> Drawn:
    """By what share of itself the corpus's loss grows without each group."""
    return Drawn.rates(each - whole, whole)


def _table(about: pd.DataFrame, found: Drawn) -> pd.DataFrame:
    """`about`, a line a group, with growth, low and high, simultaneous."""
    each = found.together()
    return about.assign(
        growth=found.values, low=[one.low for one in each], high=[one.high for one in each]
    )


def _single(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    enough(len(corpus))
    heads = all_heads(translator.model.config)
    whole, each = losses(translator, corpus, [[head] for head in heads], progress)
    found = growth(whole, each)
    table = pd.DataFrame(heads, columns=["kind", "layer", "head"])
    table = _table(table, found).sort_values("growth", ignore_index=True)
    table["kind"] = table["kind"].map(_NAMES)
    table["rank"] = range(1, len(table) + 1)
    surely = {"yes": table["low"] > FLOOR, "no": table["high"] < FLOOR}
    table["missed"] = np.select(list(surely.values()), list(surely), "not shown")
    half = Drawn(
        np.median(found.values, keepdims=True), np.median(found.drawn, axis=0)[None], len(corpus)
    )
    effect = Effect(
        "what half of the heads cost at most, each taken away alone",
        _OF_LOSS,
        lead(half).times(100),
        100 * FLOOR,
        below=True,
    )
    worst, counts = table.iloc[-1], table["missed"].value_counts()
    yes, no, unknown = (int(counts.get(word, 0)) for word in ("yes", "no", "not shown"))
    name = short_name(worst["layer"], worst["head"], exact=True)
    reason = (
        f"Half of the {len(table)} heads cost {size(effect)} or less, taken away alone. Of single "
        f"heads, all intervals taken at once, {yes} surely cost more than {FLOOR:.0%}, {no} surely "
        f"less, {unknown} cannot be told; the worst is {worst.kind} {name} "
        f"({100 * worst.growth:+.1f}%)."
    )
    return Finding(table, effect, reason.replace("-", "−"), len(corpus))


def _kinds(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    enough(len(corpus))
    order = _order(translator, corpus, progress)
    groups: list[list[Head]] = []
    lines: list[tuple[str, float, int]] = []
    at: dict[str, int] = {}
    for kind in KINDS:
        own = [head for head in order.order() if head[0] == kind]
        for share in SHARES:
            if share == JUDGED:
                at[kind] = len(groups)
            groups.append(own[: round(share * len(own))])
            lines.append((kind, share, len(groups[-1])))
    found = growth(*losses(translator, corpus, groups, part(progress, 0.2, 0.8)))
    table = _table(pd.DataFrame(lines, columns=["kind", "share", "off"]), found)
    table["kind"] = table["kind"].map(_NAMES)
    theirs = found[[at["encoder"], at["decoder"]]]
    effect = Effect(
        f"growth without {JUDGED:.0%} of the encoder–decoder heads, less that without so many of "
        "the worse of the other kinds",
        _OF_LOSS,
        lead(found[[at["cross"]]], theirs).times(100),
        100 * FLOOR,
        2,
    )
    cross, encoder, decoder = (100 * found.values[at[kind]] for kind in ("cross", *KINDS[:2]))
    reason = (
        f"Without {JUDGED:.0%} of the encoder–decoder heads the loss grows by {cross:+.0f}%, "
        f"without so many of the encoder's by {encoder:+.0f}% and of the decoder's by "
        f"{decoder:+.0f}%: a lead of {size(effect, 0)}."
    )
    return Finding(table, effect, reason.replace("-", "−"), len(corpus))


def _last_cross(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    enough(len(corpus))
    config = translator.model.config
    if config.n_heads < 2:
        raise Untestable("A layer of this model has one head only, so that none would go.")
    values = _order(translator, corpus, progress).values
    groups, lines = [], []
    for kind in KINDS:
        for layer in range(config.n_layers):
            kept = int(values[kind][layer].argmax())
            groups.append([(kind, layer, h) for h in range(config.n_heads) if h != kept])
            lines.append((kind, layer, kept))
    found = growth(*losses(translator, corpus, groups, part(progress, 0.2, 0.8)))
    table = _table(pd.DataFrame(lines, columns=["kind", "layer", "kept"]), found)
    last = lines.index(("cross", config.n_layers - 1, lines[-1][2]))
    others = np.arange(len(lines)) != last
    effect = Effect(
        "growth with one head left in the last encoder–decoder layer, less that in the worst of "
        "the other layers",
        _OF_LOSS,
        lead(found[[last]], found[others]).times(100),
        100 * FLOOR,
        int(others.sum()),
    )
    order = np.argsort(-found.values)
    worst, rank = next(n for n in order if n != last), int(np.flatnonzero(order == last)[0]) + 1
    reason = (
        f"With one head left in it, the last encoder–decoder layer costs "
        f"{100 * found.values[last]:+.1f}% of the loss, place {rank} of {len(lines)} "
        f"({_NAMES[lines[worst][0]]} layer {lines[worst][1]}: {100 * found.values[worst]:+.1f}%): "
        f"a lead of {size(effect, 1)}."
    )
    table["kind"] = table["kind"].map(_NAMES)
    return Finding(table, effect, reason.replace("-", "−"), len(corpus))


def _order(translator: Translator, corpus: Corpus, progress: Progress) -> Importance:
    """The gradient measure, a fifth of the work."""
    return gradient_importance(translator, corpus, progress=part(progress, 0, 0.2)).normalised()


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
    most=40,
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
    most=60,
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
    most=60,
    chart=Chart("layer", "growth", "layer", _GROWTH, by="kind", percent=True),
    minutes=0.4,
)
