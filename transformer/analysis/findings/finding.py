"""What a published finding is here, and what repeating it gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, silent
from transformer.analysis.evidence.bootstrap import Interval
from transformer.analysis.evidence.verdicts import Effect, Word
from transformer.inference import Translator
from transformer.measures.chart import Chart

MIN_SENTENCES = 10
"""Sentences that a bootstrap over sentences needs at least."""


class Untestable(ValueError):
    """Why a finding cannot be tested on this checkpoint and corpus, a sentence."""


@dataclass(frozen=True, eq=False)
class Finding:
    """What came of it.

    Attributes:
        figures: what was measured, a line a point of the chart; empty if nothing could be.
        effect: how large the thing is that the claim is about, with its interval and floor; None
            if it could not be measured.
        reason: the verdict with its numbers, a sentence; or why there can be none.
        sentences: how many were measured over.
    """

    figures: pd.DataFrame
    effect: Effect | None
    reason: str
    sentences: int

    @property
    def verdict(self) -> Word:
        """What the effect allows to say, by the rule of `verdicts`."""
        return self.effect.verdict if self.effect else "can't be tested here"

    def summary(self) -> dict[str, Any]:
        """All but the figures, one level deep; null for an effect that was not measured."""
        effect = self.effect.to_dict() if self.effect else dict.fromkeys(Effect.COLUMNS)
        return {
            "verdict": self.verdict,
            **effect,
            "reason": self.reason,
            "sentences": self.sentences,
        }

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        lines = json.loads(self.figures.to_json(orient="records", double_precision=15))
        return {**self.summary(), "figures": lines}


@dataclass(frozen=True)
class Published:
    """A claim of a paper, and how it is put to the test.

    Attributes:
        rule: when it holds here, in words; `test` does what it says, and raises `Untestable`.
        most: sentences that are measured at most, taken evenly from the corpus.
        chart: how the figures are drawn.
        minutes: of one core, on the checkpoint that comes with this app, about.
    """

    name: str
    claim: str
    source: str
    rule: str
    test: Callable[[Translator, Corpus, Progress], Finding]
    most: int
    chart: Chart
    minutes: float

    def run(self, translator: Translator, corpus: Corpus, progress: Progress = silent) -> Finding:
        """Measure, and say whether it holds on this checkpoint. Raises ValueError for a sentence of
        the corpus that is too long."""
        some = spread(corpus, self.most)
        try:
            found = self.test(translator, some, progress)
        except Untestable as error:
            found = Finding(pd.DataFrame(), None, str(error), len(some))
        if len(some) == len(corpus):
            return found
        of = f"{len(some):,} of the corpus's {len(corpus):,} sentences"
        return replace(found, reason=f"{found.reason} Measured on {of}, taken evenly.")

    def about(self) -> dict[str, Any]:
        """Claim, source and rule, for a file."""
        about = {"finding": self.name, "claim": self.claim, "source": self.source}
        return {**about, "rule": self.rule}


def spread(corpus: Corpus, most: int) -> Corpus:
    """At most so many of its sentences, evenly from its beginning to its end."""
    n = len(corpus)
    if n <= most:
        return corpus
    return Corpus(corpus.name, tuple(corpus.sentences[i * n // most] for i in range(most)))


def enough(count: int, what: str = "sentences") -> None:
    """Raises `Untestable` if a corpus gives fewer than `MIN_SENTENCES`."""
    if count < MIN_SENTENCES:
        raise Untestable(
            f"The corpus has {count} {what}, and how sure a figure is can be told from "
            f"{MIN_SENTENCES} on; choose a longer corpus."
        )


def apart(found: Interval, digits: int = 2, factor: float = 1, unit: str = "") -> str:
    """A difference with its interval, as reasons tell it: "+0.12 (95%: −0.01 to +0.25)"."""
    value, low, high = interval_text(found.times(factor), digits, "+")
    return f"{value}{unit} (95%: {low} to {high})"


def size(effect: Effect, digits: int = 2) -> str:
    """An effect that is a difference, in its unit; see `apart`."""
    unit = effect.unit if effect.unit.startswith("%") else f" {effect.unit}"
    return apart(effect.interval, digits, unit=unit)


def interval_text(interval: Interval, digits: int, sign: str = "") -> tuple[str, str, str]:
    """Value and bounds, rounded, with a minus as people write it."""
    value, low, high = (
        f"{number:{sign}.{digits}f}".replace("-", "−")
        for number in (interval.value, interval.low, interval.high)
    )
    return value, low, high
