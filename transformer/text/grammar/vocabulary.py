"""Every word that the small grammar can say, each once: the symbols of its vocabulary."""

from __future__ import annotations

from collections.abc import Iterator

from transformer.text.grammar import verbs as v
from transformer.text.grammar import words as w
from transformer.text.grammar.clauses import BE_FORMS

_NOUNS = (
    *(w.PERSONS, w.ANIMALS, w.THINGS, w.TEXTS, w.FOODS),
    *(w.MEALS, w.DRINKS, w.INSIDE, w.OUTSIDE),
)
_UNCOUNTED = (w.MEALS, w.DRINKS)
_VERBS = (
    *((v.BE,), v.ALONE, v.ON_ANYTHING, v.ON_THINGS, v.ON_PERSONS, v.ON_TEXTS),
    *(v.EAT, v.DRINK, v.TO_PERSONS, v.TO_PLACES),
)
_ENGLISH = """
. ? the a an some any this these my your his her our their two three many 's not never do does who
what where when why can cannot must going to I you all he she it we they me him us them often always
today now here in behind in front of near next on under"""
_FRENCH = """
le la l' les un une des de d' du au aux à ce cet cette ces c' mon ma mes ton ta tes son sa ses notre
nos leur leurs deux trois beaucoup ne n' pas jamais que qu' est-ce qui où quand pourquoi je j' tu il
elle nous vous ils me m' te t' souvent toujours aujourd'hui maintenant ici dans derrière devant près
côté sur sous"""


def symbols() -> tuple[str, ...]:
    """All words of both languages, sorted; a word that both have is one symbol."""
    return tuple(
        sorted({*_ENGLISH.split(), *_FRENCH.split(), *_of_nouns(), *_of_adjectives(), *_of_verbs()})
    )


def _of_nouns() -> Iterator[str]:
    for nouns in _NOUNS:
        numbers = (0,) if nouns in _UNCOUNTED else (0, 1)
        for noun in nouns:
            for number in numbers:
                yield from noun.english[number].split()
                yield from noun.french[number].split()


def _of_adjectives() -> Iterator[str]:
    for adjective in w.ADJECTIVES.values():
        yield from (adjective.english, adjective.liaison, *adjective.french)


def _of_verbs() -> Iterator[str]:
    for verb in (verb for verbs in _VERBS for verb in verbs):
        if verb is not v.BE:
            yield from (verb.base, verb.third, *verb.after)
        yield from (*verb.forms, verb.infinitive, *verb.tail)
        yield from verb.preposition.split()
    yield from (*BE_FORMS, "be")
    for verb in (v.GO, v.CAN, v.MUST):
        yield from verb.forms
