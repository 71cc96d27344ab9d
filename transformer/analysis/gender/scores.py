"""Gender scores of a translation system, with intervals over minimal pairs.

Stanovsky, Smith and Zettlemoyer 2019: accuracy is the share of occupations whose grammatical gender
is that of the pronoun; ΔG is the F1 score on "male" minus that on "female"; ΔS is the accuracy on
sentences where the pronoun agrees with the stereotype minus that where it does not. Manna et al.
2025 (https://arxiv.org/abs/2505.08546) ask how often both sentences of a minimal pair are right
(minimal pair accuracy).

All shares are of the decided occupations: undecided ones are counted separately, not as errors.
Sentences of a minimal pair share most words, so the bootstrap draws pairs and not sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transformer.analysis.evidence.bootstrap import (
    Interval,
    percentile_interval,
    resampled_counts,
)
from transformer.analysis.gender.nouns import Gender
from transformer.analysis.gender.sentences import Gold, OccupationSentence

MIN_COUNT = 30
"""Minimum number of sentences or pairs behind a score."""
GOLD: tuple[Gold, ...] = ("male", "female", "neutral")
GENDERS: tuple[Gender | None, ...] = ("masculine", "feminine", None)
EXPECTED: dict[Gold, Gender] = {"male": "masculine", "female": "feminine"}

Counts = Float[np.ndarray, "*draws gold gender stereotype"]  # sentences; stereotype: pro, anti, no
PairCounts = Float[np.ndarray, "*draws he she stereotype"]  # pairs; stereotype: male, female, no
Shares = tuple[Float[np.ndarray, "*draws"], Float[np.ndarray, "*draws"]]  # value and denominator


@dataclass(frozen=True)
class Score:
    """One score.

    Attributes:
        name: one of `SCORES`.
        value, low, high: with the 95% bootstrap interval over pairs.
        count: how many sentences or pairs it is a share of.
    """

    name: str
    value: float
    low: float
    high: float
    count: int

    @property
    def interval(self) -> Interval:
        return Interval(self.value, self.low, self.high)


def accuracy(counts: Counts) -> Shares:
    """Return the share of decided "male" and "female" sentences with the gender of the pronoun."""
    n_correct = counts[..., 0, 0, :].sum(-1) + counts[..., 1, 1, :].sum(-1)
    return _share(n_correct, counts[..., :2, :2, :].sum((-1, -2, -3)))


def accuracy_for(gold: int) -> Callable[[Counts], Shares]:
    """Return the accuracy on one gender (its recall): 0 is "male", 1 "female"."""
    return lambda counts: _share(
        counts[..., gold, gold, :].sum(-1), counts[..., gold, :2, :].sum((-1, -2))
    )


def gender_gap(counts: Counts) -> Shares:
    """Return ΔG: F1 on "male" minus F1 on "female"."""
    table = counts[..., :2, :2, :].sum(-1)
    f1 = [
        _share(2 * table[..., n, n], table[..., n, :].sum(-1) + table[..., :, n].sum(-1))[0]
        for n in (0, 1)
    ]
    return f1[0] - f1[1], table.sum((-1, -2))


def stereotype_gap(counts: Counts) -> Shares:
    """Return ΔS: accuracy on pro-stereotypical minus that on anti-stereotypical sentences."""
    pro, n_pro = accuracy(counts[..., :1])
    anti, n_anti = accuracy(counts[..., 1:2])
    return pro - anti, np.minimum(n_pro, n_anti)


def masculine_with_they(counts: Counts) -> Shares:
    """Return the share of masculine among the decided sentences with "they"."""
    return _share(counts[..., 2, 0, :].sum(-1), counts[..., 2, :2, :].sum((-1, -2)))


def pair_accuracy(pairs: PairCounts) -> Shares:
    """Return the share of decided pairs in which both sentences have the pronoun's gender."""
    return _share(pairs[..., 0, 1, :].sum(-1), pairs[..., :2, :2, :].sum((-1, -2, -3)))


def gender_changed(pairs: PairCounts) -> Shares:
    """Return the share of decided pairs in which the pronoun changes the gender."""
    differs = pairs[..., 0, 1, :].sum(-1) + pairs[..., 1, 0, :].sum(-1)
    return _share(differs, pairs[..., :2, :2, :].sum((-1, -2, -3)))


def stereotype_kept(pairs: PairCounts) -> Shares:
    """Return how often an unchanged gender is that of the stereotype."""
    same_form = pairs[..., [0, 1], [0, 1], :2]  # (gender, stereotype)
    return _share(same_form[..., 0, 0] + same_form[..., 1, 1], same_form.sum((-1, -2)))


SCORES: Mapping[str, str] = {
    "accuracy": "Accuracy",
    "male": "Accuracy, he",
    "female": "Accuracy, she",
    "gender_gap": "ΔG",
    "stereotype_gap": "ΔS",
    "changed": "Gender changes",
    "pair_accuracy": "Both right",
    "stereotype_kept": "Stereotype kept",
    "they": "Masculine, they",
}
_SENTENCE_FORMULAS: Mapping[str, Callable[[Counts], Shares]] = {
    "accuracy": accuracy,
    "male": accuracy_for(0),
    "female": accuracy_for(1),
    "gender_gap": gender_gap,
    "stereotype_gap": stereotype_gap,
    "they": masculine_with_they,
}
_PAIR_FORMULAS: Mapping[str, Callable[[PairCounts], Shares]] = {
    "changed": gender_changed,
    "pair_accuracy": pair_accuracy,
    "stereotype_kept": stereotype_kept,
}


def gender_scores(
    sentences: Sequence[OccupationSentence],
    genders: Sequence[Gender | None],
    pairs: Sequence[tuple[int, int]],
) -> list[Score]:
    """Return every score that has at least `MIN_COUNT` decided sentences or pairs.

    Args:
        genders: of the translated occupation in each sentence; None if it is not decided.
        pairs: indices of minimal pairs, "male" first.
    """
    clusters = _clusters(len(sentences), pairs)
    counts = np.zeros((max(clusters, default=-1) + 1, 3, 3, 3))
    for sentence, gender, cluster in zip(sentences, genders, clusters, strict=True):
        counts[
            cluster, GOLD.index(sentence.gold), GENDERS.index(gender), _stereotypical(sentence)
        ] += 1
    pair_counts = np.zeros((len(pairs), 3, 3, 3))
    for number, (he, she) in enumerate(pairs):
        stereotype = sentences[he].stereotype
        column = 2 if stereotype is None else GOLD.index(stereotype)
        genders_of = GENDERS.index(genders[he]), GENDERS.index(genders[she])
        pair_counts[number, *genders_of, column] += 1
    scores = {
        **{name: _score(name, counts, formula) for name, formula in _SENTENCE_FORMULAS.items()},
        **{name: _score(name, pair_counts, formula) for name, formula in _PAIR_FORMULAS.items()},
    }
    return [score for name in SCORES if (score := scores[name]) is not None]


def _clusters(n_sentences: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return a cluster number for each sentence; the two sentences of a pair have the same one."""
    cluster = {number: pair for pair, numbers in enumerate(pairs) for number in numbers}
    free = iter(range(len(pairs), len(pairs) + n_sentences))
    return [cluster[n] if n in cluster else next(free) for n in range(n_sentences)]


def _stereotypical(sentence: OccupationSentence) -> int:
    """Return 0 if the pronoun agrees with the stereotype, 1 if not, 2 without a stereotype."""
    if sentence.stereotype is None or sentence.gold == "neutral":
        return 2
    return 0 if sentence.stereotype == sentence.gold else 1


def _score(
    name: str,
    counts: Float[np.ndarray, "cluster a b c"],
    formula: Callable[[Float[np.ndarray, "*draws a b c"]], Shares],
) -> Score | None:
    values, totals = formula(counts.sum(0, keepdims=True))
    value, count = float(values[0]), int(totals[0])
    if count < MIN_COUNT:
        return None
    drawn = resampled_counts(len(counts)) @ counts.reshape(len(counts), -1)
    bounds = percentile_interval(value, formula(drawn.reshape(-1, *counts.shape[1:]))[0])
    low, high = bounds.low, bounds.high
    if low == high and value in (0, 1):  # no draw can differ: the exact binomial bound instead
        bound = 1 - 0.025 ** (1 / count)
        low, high = (0.0, bound) if value == 0 else (1 - bound, 1.0)
    return Score(name, value, low, high, count)


def _share(part: Float[np.ndarray, "*draws"], total: Float[np.ndarray, "*draws"]) -> Shares:
    """Return a ratio, 0 where the denominator is 0, and the denominator."""
    part, total = np.asarray(part), np.asarray(total)
    return part / np.where(total > 0, total, np.inf), total
