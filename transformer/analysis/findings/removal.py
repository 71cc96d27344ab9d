"""What goes wrong without heads (Michel, Levy and Neubig 2019, arXiv:1905.10650)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from transformer.analysis.ablation import losses_without
from transformer.analysis.bootstrap import Interval, draws, interval, mean_loss
from transformer.analysis.corpora import Corpus
from transformer.analysis.findings.finding import (
    Finding,
    Published,
    Untestable,
    apart,
    enough,
    verdict,
)
from transformer.analysis.gates import KINDS, Head, all_heads
from transformer.analysis.importance import Importance, gradient_importance
from transformer.analysis.losses import batched, lengths
from transformer.analysis.passes import Progress, encoded
from transformer.figures.measured import Chart
from transformer.inference import Translator

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
JUDGED = 0.8
"""Share of a kind that is gone when kinds are compared; the paper's own (section 5)."""
SURE = 0.95
_NAMES = {"encoder": "encoder", "decoder": "decoder", "cross": "encoder–decoder"}


class Without:
    """How the loss of a corpus grows without each of some groups of heads, drawn again often.

    Attributes:
        loss: nats a target token with all heads.
        growth: of each group; drawn: the same in every drawn corpus, (group, draw).
    """

    def __init__(
        self,
        translator: Translator,
        corpus: Corpus,
        groups: Sequence[Sequence[Head]],
        progress: Progress,
    ) -> None:
        parts = batched(translator, encoded(translator, corpus))
        whole, each = losses_without(translator, parts, groups, progress)
        tokens, drawn = lengths(parts), draws(len(corpus))
        self.loss = float(whole.sum() / tokens.sum())
        self.growth = (each.sum(axis=1) - whole.sum()) / tokens.sum()
        self.drawn = np.stack([mean_loss(one - whole, tokens, drawn) for one in each])

    def intervals(self) -> list[Interval]:
        return [
            interval(value, drawn) for value, drawn in zip(self.growth, self.drawn, strict=True)
        ]

    def table(self, about: pd.DataFrame) -> pd.DataFrame:
        """`about`, a line a group, with growth, low and high."""
        found = self.intervals()
        return about.assign(
            growth=self.growth, low=[one.low for one in found], high=[one.high for one in found]
        )


def _single(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    enough(len(corpus))
    heads = all_heads(translator.model.config)
    found = Without(translator, corpus, [[head] for head in heads], progress)
    table = pd.DataFrame(heads, columns=["kind", "layer", "head"])
    table = found.table(table).sort_values("growth", ignore_index=True)
    table["kind"] = table["kind"].map(_NAMES)
    table["rank"] = range(1, len(table) + 1)
    table["harm"] = table["low"] > 0
    harm, worst = int(table["harm"].sum()), table.iloc[-1]
    reason = (
        f"Without {harm} of {len(table)} heads, one at a time, the loss of {found.loss:.3f} nats a "
        f"token surely grows; the worst is {worst.kind} {worst.layer}.{worst['head']} "
        f"(+{worst.growth:.3f}), half of the heads cost {table.growth.median():+.4f} or less."
    )
    return Finding(table, verdict(harm < len(table) / 2), reason, len(corpus))


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
    found = Without(translator, corpus, groups, _second(progress))
    table = found.table(pd.DataFrame(lines, columns=["kind", "share", "off"]))
    told, holds = [], True
    for kind in ("encoder", "decoder"):
        more = interval(
            found.growth[at["cross"]] - found.growth[at[kind]],
            found.drawn[at["cross"]] - found.drawn[at[kind]],
        )
        holds &= more.low > 0
        told.append(f"{found.growth[at[kind]]:+.2f} of the {kind} (a difference of {apart(more)})")
    table["kind"] = table["kind"].map(_NAMES)
    reason = (
        f"Without {JUDGED:.0%} of the encoder–decoder heads the loss changes by "
        f"{found.growth[at['cross']]:+.2f} nats a token, against {' and '.join(told)}."
    )
    return Finding(table, verdict(holds), reason, len(corpus))


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
    found = Without(translator, corpus, groups, _second(progress))
    table = found.table(pd.DataFrame(lines, columns=["kind", "layer", "kept"]))
    last = lines.index(("cross", config.n_layers - 1, lines[-1][2]))
    first = float((found.drawn.argmax(axis=0) == last).mean())
    order = np.argsort(-found.growth)
    worst = next(n for n in order if n != last)
    rank = int(np.flatnonzero(order == last)[0]) + 1
    reason = (
        f"With one head left in it, the last encoder–decoder layer costs {found.growth[last]:+.3f} "
        f"nats a token, place {rank} of {len(lines)} ({_NAMES[lines[worst][0]]} layer "
        f"{lines[worst][1]}: {found.growth[worst]:+.3f}); it is the worst in {first:.0%} of the "
        "drawn corpora."
    )
    table["kind"] = table["kind"].map(_NAMES)
    return Finding(table, verdict(first >= SURE), reason, len(corpus))


def _order(translator: Translator, corpus: Corpus, progress: Progress) -> Importance:
    """The gradient measure, a fifth of the work."""
    found = gradient_importance(
        translator, corpus, progress=lambda share, doing: progress(0.2 * share, doing)
    )
    return found.normalised()


def _second(progress: Progress) -> Progress:
    return lambda share, doing: progress(0.2 + 0.8 * share, doing)


_GROWTH = "loss grown by (nats a token)"

SINGLE_HEADS = Published(
    "single",
    "Most heads can be taken away, one at a time, without harm.",
    "Michel et al. 2019, section 3.2",
    "Each head is switched off alone. It is missed if the loss surely grows: the 95% interval of "
    "the difference (paired bootstrap over sentences) lies above 0. The finding holds if fewer "
    "than half of all heads are missed. The paper counts BLEU; loss notices smaller harm, and the "
    "more sentences, the smaller.",
    _single,
    most=40,
    chart=Chart("rank", "growth", "heads, from the least missed", _GROWTH, by="kind", joined=False),
    minutes=1.5,
)
FRAGILE_KIND = Published(
    "fragile",
    "Encoder–decoder heads are the most fragile kind.",
    "Michel et al. 2019, section 5",
    "Of each kind alone the least important heads go (gradient measure on the same sentences), "
    "20%, 40% and so on. It holds if without 80% of the encoder–decoder heads the loss has grown "
    "more than without 80% of the encoder's, and of the decoder's: both 95% intervals of the "
    "difference (paired bootstrap over sentences) above 0.",
    _kinds,
    most=60,
    chart=Chart("share", "growth", "share of the kind's heads that is off", _GROWTH, by="kind"),
    minutes=0.4,
)
LAST_CROSS = Published(
    "last-cross",
    "Of all layers, the last encoder–decoder attention needs its heads most.",
    "Michel et al. 2019, section 3.3",
    "In one attention layer at a time all heads are switched off but the most important (gradient "
    "measure). It holds if the loss grows most in the last encoder–decoder layer, in at least 95% "
    "of the corpora drawn again sentence by sentence (bootstrap).",
    _last_cross,
    most=60,
    chart=Chart("layer", "growth", "layer", _GROWTH, by="kind"),
    minutes=0.4,
)
