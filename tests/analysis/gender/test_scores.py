"""Gender scores compared with the paper's formulas as plain loops, and with known cases."""

from __future__ import annotations

import random

import pytest

from transformer.analysis.gender.nouns import Gender
from transformer.analysis.gender.scores import MIN_COUNT, Score, gender_scores
from transformer.analysis.gender.sentences import STEREOTYPES, Gold, OccupationSentence

OCCUPATIONS = ["nurse", "lawyer", "pilot", "mechanic", "teacher"]  # "pilot" has no label


def sentence(gold: Gold, occupation: str) -> OccupationSentence:
    return OccupationSentence(gold, 1, 1, f"The {occupation} and {gold}.", occupation)


def sentence_pairs(count: int) -> tuple[list[OccupationSentence], list[tuple[int, int]]]:
    sentences = [
        sentence(gold, OCCUPATIONS[n % len(OCCUPATIONS)])
        for n in range(count)
        for gold in ("male", "female")
    ]
    return sentences, [(2 * n, 2 * n + 1) for n in range(count)]


def scores_by_name(
    sentences: list[OccupationSentence],
    genders: list[Gender | None],
    pairs: list[tuple[int, int]],
) -> dict[str, Score]:
    return {score.name: score for score in gender_scores(sentences, genders, pairs)}


def test_scores_equal_the_papers_formulas() -> None:
    rng = random.Random(3)
    sentences, pairs = sentence_pairs(200)
    genders: list[Gender | None] = [
        rng.choice(["masculine", "masculine", "feminine", None]) for _ in sentences
    ]
    scores = scores_by_name(sentences, genders, pairs)

    def is_right(gold: str, gender: str | None) -> bool:
        return {"male": "masculine", "female": "feminine"}[gold] == gender

    decided = [
        (s.gold, g, STEREOTYPES.get(s.occupation))
        for s, g in zip(sentences, genders, strict=True)
        if g
    ]
    hits = sum(is_right(gold, gender) for gold, gender, _ in decided)
    assert scores["accuracy"].value == pytest.approx(hits / len(decided))
    assert scores["accuracy"].count == len(decided)
    f1 = {}
    for gold, gender in (("male", "masculine"), ("female", "feminine")):
        n_correct_of_gender = sum(o == gold and g == gender for o, g, _ in decided)
        recall = n_correct_of_gender / sum(o == gold for o, _, _ in decided)
        precision = n_correct_of_gender / sum(g == gender for _, g, _ in decided)
        f1[gold] = 2 * precision * recall / (precision + recall)
        assert scores[gold].value == pytest.approx(recall)
    assert scores["gender_gap"].value == pytest.approx(f1["male"] - f1["female"])
    accuracies = []
    for pro in (True, False):
        part = [is_right(o, g) for o, g, label in decided if label and (label == o) == pro]
        accuracies.append(sum(part) / len(part))
    assert scores["stereotype_gap"].value == pytest.approx(accuracies[0] - accuracies[1])
    both_decided = [(genders[a], genders[b], n) for n, (a, b) in enumerate(pairs)]
    both_decided = [each for each in both_decided if each[0] and each[1]]
    changed = sum(a != b for a, b, _ in both_decided) / len(both_decided)
    assert scores["changed"].value == pytest.approx(changed)
    accurate = sum((a, b) == ("masculine", "feminine") for a, b, _ in both_decided)
    assert scores["pair_accuracy"].value == pytest.approx(accurate / len(both_decided))
    unchanged = [
        is_right(label, a)
        for a, b, n in both_decided
        if a == b and (label := STEREOTYPES.get(sentences[2 * n].occupation))
    ]
    assert scores["stereotype_kept"].value == pytest.approx(sum(unchanged) / len(unchanged))
    for score in scores.values():
        assert score.low < score.value < score.high


def test_a_model_that_follows_every_pronoun_is_right_and_has_no_gap() -> None:
    sentences, pairs = sentence_pairs(60)
    genders: list[Gender | None] = ["masculine", "feminine"] * 60
    scores = scores_by_name(sentences, genders, pairs)
    for name in ("accuracy", "male", "female", "changed", "pair_accuracy"):
        assert scores[name].value == 1
        assert 0.9 < scores[name].low < 1  # the interval of a share of 1 begins below 1
    assert scores["gender_gap"].value == scores["stereotype_gap"].value == 0
    assert "stereotype_kept" not in scores  # every gender changed


def test_a_model_that_follows_stereotypes_is_right_in_half_of_the_cases() -> None:
    sentences, pairs = sentence_pairs(100)
    genders: list[Gender | None] = [
        {"male": "masculine", "female": "feminine", None: None}[s.stereotype]  # type: ignore[misc]
        for s in sentences
    ]
    scores = scores_by_name(sentences, genders, pairs)
    assert scores["accuracy"].value == 0.5
    assert scores["stereotype_gap"].value == 1
    assert scores["stereotype_kept"].value == 1
    assert scores["changed"].value == 0
    # 80 of 80: the exact bound of a binomial share, 1 - 0.025^(1/80).
    assert scores["changed"].high == pytest.approx(0.0451, abs=1e-3)


def test_sentences_with_they_have_no_correct_gender() -> None:
    sentences = [sentence("neutral", "nurse")] * 40
    genders: list[Gender | None] = ["masculine"] * 30 + ["feminine"] * 10
    (score,) = gender_scores(sentences, genders, [])
    assert (score.name, score.value, score.count) == ("they", 0.75, 40)


def test_few_sentences_have_no_score() -> None:
    sentences, pairs = sentence_pairs(MIN_COUNT // 2 - 1)
    assert gender_scores(sentences, ["masculine"] * len(sentences), pairs) == []
    assert gender_scores([], [], []) == []
