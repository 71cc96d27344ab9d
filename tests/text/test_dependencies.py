"""Dependencies in the grammar's English, by hand and by general rules."""

from __future__ import annotations

import pytest

from transformer.text import TASKS
from transformer.text.grammar import clauses as c
from transformer.text.grammar import verbs as v
from transformer.text.grammar import words as w
from transformer.text.grammar.clauses import RELATIONS, dependencies
from transformer.text.grammar.phrases import MASS, THE, NounPhraseParts, OwnedNoun, Words

VERBS = {
    "_".join((verb.base, *verb.after)): verb
    for verbs in (
        v.INTRANSITIVE,
        v.ON_ANYTHING,
        v.ON_THINGS,
        v.ON_PERSONS,
        v.TO_PERSONS,
        v.TO_PLACES,
    )
    for verb in verbs
}
NOUNS = {noun.english[0]: noun for noun in (*w.PERSONS, *w.ANIMALS, *w.THINGS, *w.INSIDE, *w.MEALS)}


def noun_phrase(words: str) -> NounPhraseParts:
    """Return the parts of "the black cat" for "black cat"."""
    *adjective, noun = words.split()
    return NounPhraseParts(NOUNS[noun], THE, w.ADJECTIVES[adjective[0]] if adjective else None)


def clause(subject: object, verb: str, complement: object = None, **fields: str) -> c.Clause:
    return c.Clause(subject, v.BE if verb == "be" else VERBS[verb], complement, **fields)  # type: ignore


ANNOTATED = (
    (
        clause(noun_phrase("black cat"), "see", noun_phrase("old friend"), polarity="not"),
        "the black cat does not see the old friend .",
        "subject see cat, object see friend, adjective cat black, adjective friend old",
    ),
    (
        clause(c.YOU_ALL, "help", "him", question="whether"),
        "do you all help him ?",
        "subject help you, object help him",
    ),
    (
        clause(c.WE, "look_at", noun_phrase("bird"), mode="future"),
        "we are going to look at the bird .",
        "subject look we",
    ),
    (
        clause(c.WHO, "pay_for", noun_phrase("round table")),
        "who pays for the round table ?",
        "subject pays who, adjective table round",
    ),
    (
        clause(OwnedNoun(noun_phrase("boy"), NOUNS["dog"]), "buy", question="what"),
        "what does the boy 's dog buy ?",
        "subject buy dog, object buy what",
    ),
    (
        clause(noun_phrase("tired king"), "sleep", mode="must", question="where"),
        "where must the tired king sleep ?",
        "subject sleep king, adjective king tired, adverb sleep where",
    ),
    (
        clause(c.SHE, "obey", OwnedNoun(noun_phrase("sad witch"), NOUNS["uncle"]), often="always"),
        "she always obeys the sad witch 's uncle .",
        "subject obeys she, object obeys uncle, adjective witch sad, adverb obeys always",
    ),
    (
        clause(c.THEY, "enter", noun_phrase("dark castle"), time="now"),
        "they enter the dark castle now .",
        "subject enter they, object enter castle, adjective castle dark, adverb enter now",
    ),
    (
        clause(c.HE, "buy", NounPhraseParts(NOUNS["bread"], MASS[1], w.ADJECTIVES["fresh"])),
        "he buys some fresh bread .",
        "subject buys he, object buys bread, adjective bread fresh",
    ),
    (clause(c.THEY, "be", w.ADJECTIVES["tired"], time="today"), "they are tired today .", ""),
    (
        clause(
            noun_phrase("new car"),
            "be",
            noun_phrase("house"),
            preposition=c.Preposition("near", "près de"),
        ),  # type: ignore
        "the new car is near the house .",
        "adjective car new",
    ),
)


def dependency_texts(english: Words) -> set[str]:
    words = [word.text for word in english]
    return {f"{name} {words[i]} {words[j]}" for name, i, j in dependencies(english)}


@pytest.mark.parametrize(
    ("parts", "text", "expected"), ANNOTATED, ids=[text for _, text, _ in ANNOTATED]
)
def test_dependencies_equal_hand_annotated_ones(parts: c.Clause, text: str, expected: str) -> None:
    english, _ = c.both_sides(parts)
    assert " ".join(word.text for word in english) == text
    assert dependency_texts(english) == set(filter(None, expected.split(", ")))


def test_every_sentence_has_its_dependencies() -> None:
    """One subject, except with "to be"; words of the right kind; no word governs itself."""
    verbs = {form for verb in (*VERBS.values(), *v.EAT, *v.DRINK, *v.ON_TEXTS)
             for form in (verb.base, verb.third)}  # fmt: skip
    be = {"am", "is", "are", "be"}
    for example in TASKS["french"].pairs(800, seed=4):
        words = example.src.split()
        relations = example.dependencies
        assert {name for name, _, _ in relations} <= set(RELATIONS)
        assert len({(name, j) for name, _, j in relations}) == len(
            relations
        )  # each word has one governor
        subjects = [i for name, i, _ in relations if name == "subject"]
        assert len(subjects) == 1 or (not subjects and be & set(words)), example.src
        assert sum(name == "object" for name, _, _ in relations) <= 1
        for name, i, j in relations:
            assert i != j
            if name == "adjective":
                assert words[j] in w.ADJECTIVES
                assert i == j + 1, example.src
            else:
                assert words[i] in verbs, example.src
