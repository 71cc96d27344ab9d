"""The definition of a published finding, and the result of testing it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, no_progress
from transformer.analysis.evidence.bootstrap import Interval
from transformer.analysis.evidence.verdicts import Effect, VerdictWord
from transformer.inference import Translator
from transformer.measures.chart import Chart

MIN_SENTENCES = 10
"""Minimum number of sentences for a bootstrap over sentences."""


class UntestableError(ValueError):
    """Raised if a finding cannot be tested on this checkpoint and corpus; the message is the reason
    as a sentence."""


@dataclass(frozen=True, eq=False)
class Finding:
    """The result of testing a published finding.

    Attributes:
        figures: the measured values, a row for each point of the chart; empty if nothing could be
            measured.
        effect: the size of the claimed effect, with its interval and floor; None if it could not be
            measured.
        reason: a sentence with the numbers behind the verdict, or why there is no verdict.
        sentences: number of sentences that were measured.
    """

    figures: pd.DataFrame
    effect: Effect | None
    reason: str
    sentences: int

    @property
    def verdict(self) -> VerdictWord:
        """The verdict on the effect, by the rule of `verdicts`."""
        return self.effect.verdict if self.effect else "can't be tested here"

    def summary(self) -> dict[str, Any]:
        """Return everything but the figures as a flat dictionary; null for an effect that was not
        measured."""
        effect = self.effect.to_dict() if self.effect else dict.fromkeys(Effect.COLUMNS)
        return {
            "verdict": self.verdict,
            **effect,
            "reason": self.reason,
            "sentences": self.sentences,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        records = json.loads(self.figures.to_json(orient="records", double_precision=15))
        return {**self.summary(), "figures": records}


@dataclass(frozen=True)
class PublishedFinding:
    """A claim of a paper, and how it is tested.

    Attributes:
        rule: description of the effect and of the verdict, which `test` computes; `test` raises
            `UntestableError`.
        max_sentences: maximum number of sentences that are measured, evenly spaced in the corpus.
        chart: how the figures are drawn.
        minutes: approximate time on one core, for a bundled checkpoint.
    """

    name: str
    claim: str
    source: str
    rule: str
    test: Callable[[Translator, Corpus, Progress], Finding]
    max_sentences: int
    chart: Chart
    minutes: float

    def run(
        self, translator: Translator, corpus: Corpus, progress: Progress = no_progress
    ) -> Finding:
        """Measure the effect, and decide whether the claim holds on this checkpoint.

        Raises:
            ValueError: for a sentence of the corpus that is too long.
        """
        sample = evenly_spaced(corpus, self.max_sentences)
        try:
            finding = self.test(translator, sample, progress)
        except UntestableError as error:
            finding = Finding(pd.DataFrame(), None, str(error), len(sample))
        if len(sample) == len(corpus):
            return finding
        extent = f"{len(sample):,} of the corpus's {len(corpus):,} sentences"
        return replace(finding, reason=f"{finding.reason} Measured on {extent}, evenly spaced.")

    def about(self) -> dict[str, Any]:
        """Return claim, source and rule, for a file."""
        fields = {"finding": self.name, "claim": self.claim, "source": self.source}
        return {**fields, "rule": self.rule}


def evenly_spaced(corpus: Corpus, limit: int) -> Corpus:
    """Return at most `limit` sentences of the corpus, evenly spaced."""
    n = len(corpus)
    if n <= limit:
        return corpus
    return Corpus(corpus.name, tuple(corpus.sentences[i * n // limit] for i in range(limit)))


def require_sentences(count: int, unit: str = "sentences") -> None:
    """Raise `UntestableError` if a corpus has fewer than `MIN_SENTENCES`."""
    if count < MIN_SENTENCES:
        raise UntestableError(
            f"The corpus has {count} {unit}; a confidence interval needs at least {MIN_SENTENCES}. "
            "Choose a larger corpus."
        )


def format_difference(
    difference: Interval, digits: int = 2, factor: float = 1, unit: str = ""
) -> str:
    """Format a difference with its interval: "+0.12 (95%: −0.01 to +0.25)"."""
    value, low, high = interval_text(difference.scaled(factor), digits, "+")
    return f"{value}{unit} (95%: {low} to {high})"


def format_effect(effect: Effect, digits: int = 2) -> str:
    """Format an effect that is a difference, in its unit; see `format_difference`."""
    unit = effect.unit if effect.unit.startswith("%") else f" {effect.unit}"
    return format_difference(effect.interval, digits, unit=unit)


def with_minus_signs(text: str) -> str:
    """Replace the hyphen before each number by a minus sign; hyphens within words stay."""
    return re.sub(r"(?<![A-Za-z])-(?=[.\d])", "−", text)


def interval_text(interval: Interval, digits: int, sign: str = "") -> tuple[str, str, str]:
    """Return value and bounds as rounded texts, with a typographic minus sign."""
    value, low, high = (
        f"{number:{sign}.{digits}f}".replace("-", "−")
        for number in (interval.value, interval.low, interval.high)
    )
    return value, low, high
