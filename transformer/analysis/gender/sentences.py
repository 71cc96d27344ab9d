"""English sentences with occupations and a pronoun, and minimal pairs that differ in the pronoun.

WinoMT (Stanovsky, Smith and Zettlemoyer 2019) is a text file with four columns separated by tabs:
the gender of the pronoun, the position of the occupation that it refers to (words separated by
spaces, from 0), the sentence, and that occupation. "male" and "female" are the only genders with
many sentences; a few have "they" and are called "neutral".
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from transformer.text import CorpusError
from transformer.text.corpus import read_lines

Gold = Literal["male", "female", "neutral"]
N_COLUMNS = 4
MAX_CHARACTERS = 1_000
"""Maximum length of a sentence in a file."""

WORD = re.compile(r"\w+(?:-\w+)*['’]|\w+(?:-\w+)*|[^\w\s]")
"""A word as alignments count it: an elided article ("l'") is a word of its own."""
_PRONOUN = re.compile(r"\b(he|she|him|his|her|hers|himself|herself)\b", re.IGNORECASE)
_SWAPS = {
    "he": "she",
    "she": "he",
    "him": "her",
    "his": "her",
    "hers": "his",
    "himself": "herself",
    "herself": "himself",
}
_AFTER_OBJECT_WORDS = """a about after again and as at because before but by during for from how if
in into of off on or out over so that the to today up what when where while who why with
yesterday"""
_AFTER_OBJECT = frozenset(_AFTER_OBJECT_WORDS.split())
"""Words before which "her" is "him" and not "his"."""

_MALE = """CEO, analyst, carpenter, chief, construction worker, cook, developer, driver, farmer,
guard, janitor, laborer, lawyer, manager, mechanic, mover, physician, salesperson, sheriff,
supervisor"""
_FEMALE = """accountant, assistant, attendant, auditor, baker, cashier, cleaner, clerk, counselor,
designer, editor, hairdresser, housekeeper, librarian, nurse, receptionist, secretary, tailor,
teacher, writer"""
STEREOTYPES: dict[str, Gold] = {
    **dict.fromkeys(_MALE.replace("\n", " ").split(", "), "male"),
    **dict.fromkeys(_FEMALE.replace("\n", " ").split(", "), "female"),
}
"""The gender that more people of this occupation had in US labour statistics (of the Department of
Labor, 2017), as Zhao et al. 2018 used them for WinoBias; the pro-stereotypical part of WinoMT
(github.com/gabrielStanovsky/mt_gender, `data/aggregates/en_pro.txt`) has the same 40 labels."""

_WITHOUT_STEREOTYPE = """actor, architect, artist, bartender, boss, buyer, chef, chemist, client,
colleague, customer, dancer, dentist, director, doctor, electrician, employee, engineer,
firefighter, friend, guest, inspector, instructor, journalist, judge, neighbor, neighbour, officer,
owner, painter, passenger, patient, pharmacist, pilot, plumber, police officer, president,
professor, programmer, psychologist, scientist, singer, soldier, specialist, student, surgeon,
technician, therapist, visitor, waiter, witness, worker"""
OCCUPATIONS = (*STEREOTYPES, *_WITHOUT_STEREOTYPE.replace("\n", " ").split(", "))
"""Words for people that are recognized in an English sentence."""

EXAMPLES = (
    "The doctor thanked the nurse because she was kind.",
    "The farmer called the secretary because he was late.",
    "The teacher waited for the driver because she was early.",
    "The lawyer wrote to the baker because he needed help.",
    "The engineer met the librarian after she had closed the door.",
)
"""Example sentences, written for this package."""


@dataclass(frozen=True)
class OccupationSentence:
    """An English sentence with one occupation that a pronoun refers to.

    Attributes:
        gold: gender of the pronoun: "male" (he), "female" (she), or "neutral" (they).
        first, last: the occupation's words, as positions in `words`.
        text: the sentence.
        occupation: as written in the file.
    """

    gold: Gold
    first: int
    last: int
    text: str
    occupation: str

    @property
    def words(self) -> list[str]:
        return WORD.findall(self.text)

    @property
    def stereotype(self) -> Gold | None:
        """The gender that statistics associate with the occupation; None if it has no label."""
        return STEREOTYPES.get(self.occupation)


def read_winomt(path: str | os.PathLike[str]) -> list[OccupationSentence]:
    """Return the sentences of a file in WinoMT's format, which may be compressed (.gz).

    Raises CorpusError, naming the line, for a line without the four columns, and for a file without
    a sentence.
    """
    sentences = [
        _sentence(line.rstrip("\r\n"), f"{path}, line {number}")
        for number, line in enumerate(read_lines(path), start=1)
        if line.strip()
    ]
    if not sentences:
        raise CorpusError(f"{path} has no sentence; WinoMT has one per line.")
    return sentences


def _sentence(line: str, location: str) -> OccupationSentence:
    columns = line.split("\t")
    if len(columns) != N_COLUMNS:
        raise CorpusError(
            f"{location}: {len(columns)} columns; WinoMT has {N_COLUMNS}, separated by tabs: "
            "gender, position, sentence and occupation."
        )
    gender_text, position, text, occupation = (column.strip() for column in columns)
    if gender_text not in ("male", "female", "neutral"):
        raise CorpusError(
            f"{location}: the gender is {gender_text[:20]!r}; it must be male, female or neutral."
        )
    if len(text) > MAX_CHARACTERS:
        raise CorpusError(
            f"{location}: the sentence has {len(text)} characters; the maximum is {MAX_CHARACTERS}."
        )
    space_separated = text.split()
    if not (position.isascii() and position.isdigit() and int(position[:6]) < len(space_separated)):
        raise CorpusError(
            f"{location}: the position is {position[:20]!r}; it must be a word of the sentence, "
            f"from 0 to {len(space_separated) - 1}."
        )
    if gender_text != "neutral" and not has_pronoun(text):
        raise CorpusError(f"{location}: the sentence has no pronoun such as he, she, his or her.")
    first = len(WORD.findall(" ".join(space_separated[: int(position)])))
    last = first + max(len(WORD.findall(occupation)), 1) - 1
    gender: Gold = (
        "male" if gender_text == "male" else "female" if gender_text == "female" else "neutral"
    )
    n_words = len(WORD.findall(text))
    return OccupationSentence(gender, first, min(last, n_words - 1), text, occupation)


def has_pronoun(text: str) -> bool:
    """Return whether the text has he, she or another form of them."""
    return _PRONOUN.search(text) is not None


def pronoun_positions(words: Sequence[str]) -> list[int]:
    """Return the positions of he, she and their other forms in a list of words."""
    return [n for n, word in enumerate(words) if _PRONOUN.fullmatch(word)]


def with_pronoun(text: str, gold: Gold) -> str:
    """Return the sentence with all its pronouns in one gender, "male" or "female".

    "her" becomes "his" before a word that may be a noun, else "him".

    Raises ValueError for a sentence without he, she or another form of them.
    """
    if not has_pronoun(text):
        raise ValueError(
            "the sentence has no pronoun; it needs he, she, him, his, her or hers, as in "
            f'"{EXAMPLES[0]}"'
        )

    def replace_pronoun(match: re.Match[str]) -> str:
        word = match[0].casefold()
        if (word in ("he", "him", "his", "himself")) == (gold == "male"):
            return match[0]
        new_pronoun = _her_to_male(text[match.end() :]) if word == "her" else _SWAPS[word]
        if word == "his" and not _before_noun(text[match.end() :]):
            new_pronoun = "hers"
        return new_pronoun.capitalize() if match[0][0].isupper() else new_pronoun

    return _PRONOUN.sub(replace_pronoun, text)


def _her_to_male(following_text: str) -> str:
    return "his" if _before_noun(following_text) else "him"


def _before_noun(following_text: str) -> bool:
    next_word = re.match(r"\s+(\w+)", following_text)
    return next_word is not None and next_word[1].casefold() not in _AFTER_OBJECT


def minimal_pairs(sentences: Sequence[OccupationSentence]) -> list[tuple[int, int]]:
    """Return the indices of two sentences that differ only in the pronoun, the "male" one first."""
    by_text: dict[tuple[str, int], dict[str, list[int]]] = {}
    for number, sentence in enumerate(sentences):
        if sentence.gold != "neutral":
            key = _PRONOUN.sub(_case_of, sentence.text), sentence.first
            by_text.setdefault(key, {}).setdefault(sentence.gold, []).append(number)
    return sorted(
        pair
        for genders in by_text.values()
        for pair in zip(genders.get("male", []), genders.get("female", []), strict=False)
    )


def _case_of(match: re.Match[str]) -> str:
    """Return a tag for the pronoun's case; "her" has the tag of both "him" and "his"."""
    word = match[0].casefold()
    return "<S>" if word in ("he", "she") else "<R>" if word.endswith("self") else "<O>"


@cache
def _occupation_pattern() -> re.Pattern[str]:
    longest_first = sorted(OCCUPATIONS, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)


def occupations_in(text: str) -> list[tuple[str, int, int]]:
    """Return the words for people in a sentence, in order: the words, and the positions of the
    first and the last of them in `WORD.findall(text)`."""
    return [
        (match[0], first := len(WORD.findall(text[: match.start()])),
         first + len(WORD.findall(match[0])) - 1)
        for match in _occupation_pattern().finditer(text)
    ]  # fmt: skip
