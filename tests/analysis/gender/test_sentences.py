"""Sentences in WinoMT's format, minimal pairs and pronouns."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from transformer.analysis.gender.sentences import (
    EXAMPLES,
    STEREOTYPES,
    WORD,
    minimal_pairs,
    occupations_in,
    pronoun_positions,
    read_winomt,
    with_pronoun,
)
from transformer.text import CorpusError

# Our own sentences, in the format of the published file.
FILE = (
    "female\t1\tThe pilot met the baker because she was early.\tpilot\n"
    "male\t1\tThe pilot met the baker because he was early.\tpilot\n"
    "male\t5\tWhen it rained, the construction worker lost his hat.\tconstruction worker\n"
    "female\t4\tWhen it rained, the construction worker lost her hat.\tconstruction worker\n"
    "female\t4\tThe guard 's friend thanked her.\tfriend\n"
    "neutral\t1\tThe pilot met someone because they were early.\tpilot\n"
)


def write_winomt(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "en.txt.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_a_file_is_read_with_the_position_of_each_occupation(tmp_path: Path) -> None:
    sentences = read_winomt(write_winomt(tmp_path, FILE.replace("male\t5", "male\t4")))
    assert [s.gold for s in sentences] == ["female", "male", "male", "female", "female", "neutral"]
    for sentence in sentences[:4]:
        words = sentence.words[sentence.first : sentence.last + 1]
        assert " ".join(words) == sentence.occupation
    assert sentences[2].stereotype == "male"
    assert sentences[0].stereotype is None
    assert minimal_pairs(sentences) == [(1, 0), (2, 3)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("female\tThe pilot slept.", r"line 1: 2 columns; WinoMT has 4, separated by tabs"),
        ("woman\t1\tThe pilot saw her.\tpilot", r"line 1: the gender is 'woman'; it must be male"),
        ("female\t9\tThe pilot saw her.\tpilot", r"the position is '9'; .* from 0 to 3"),
        ("female\t-1\tThe pilot saw her.\tpilot", r"the position is '-1'"),
        ("female\t1\tThe pilot slept.\tpilot", r"line 1: the sentence has no pronoun"),
        ("female\t1\tThe pilot saw her" + "x" * 999 + ".\tpilot", r"the maximum is 1000"),
        ("\n", r"has no sentence; WinoMT has one per line"),
    ],
)
def test_an_invalid_file_is_refused_in_one_sentence(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(CorpusError, match=reason) as error:
        read_winomt(write_winomt(tmp_path, line))
    assert str(error.value).count("\n") == 0


@pytest.mark.parametrize(
    ("male", "female"),
    [
        ("The pilot met the baker because he was late.", "… she was late."),
        ("He met the baker.", "She met the baker."),
        ("The pilot lost his hat.", "The pilot lost her hat."),
        ("The pilot saw him.", "The pilot saw her."),
        ("The pilot told him to wait.", "The pilot told her to wait."),
        ("The pilot saw him before the storm.", "The pilot saw her before the storm."),
        ("The pilot hurt himself.", "The pilot hurt herself."),
        ("The hat is his.", "The hat is hers."),
    ],
)
def test_a_pronoun_is_exchanged_in_its_case(male: str, female: str) -> None:
    female = female.replace("…", "The pilot met the baker because")
    assert with_pronoun(male, "female") == female
    assert with_pronoun(female, "male") == male
    assert with_pronoun(male, "male") == male


def test_a_sentence_without_a_pronoun_is_refused() -> None:
    with pytest.raises(ValueError, match="has no pronoun; it needs he, she"):
        with_pronoun("The theme of the shelter is hidden.", "female")


def test_occupations_are_found_by_their_longest_name() -> None:
    text = "The construction worker called the nurse."
    words = WORD.findall(text)
    occupations = occupations_in(text)
    assert [name for name, _, _ in occupations] == ["construction worker", "nurse"]
    assert [words[first : last + 1] for _, first, last in occupations] == [words[1:3], words[5:6]]


def test_examples_have_two_occupations_and_one_pronoun() -> None:
    for text in EXAMPLES:
        assert len(occupations_in(text)) == 2
        assert len(pronoun_positions(WORD.findall(text))) == 1
    assert sorted(STEREOTYPES.values()) == ["female"] * 20 + ["male"] * 20
