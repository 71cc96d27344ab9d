"""All sentences of the small grammar, numbered within each kind, and its vocabulary.

A kind has lists of subjects, verbs, prepositions and complements, with one mode (present, future,
can, must), one polarity and one question form. Its size is the product of the lists' sizes, and
each number below it is one sentence: sentences are counted exactly and none occurs twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from math import prod
from random import Random

from transformer.text.grammar import clauses as c
from transformer.text.grammar import patterns as p
from transformer.text.grammar import verbs as v
from transformer.text.grammar import words as w
from transformer.text.grammar.clauses import BE_FORMS
from transformer.text.grammar.phrases import DEFINITE, SINGULAR, NounPhrases, OwnedPhrases, Words

Sides = tuple[Words, Words]
LEVELS = (1, 2, 3)  # statements; also adjectives, possessives and "not"; all forms


@dataclass(frozen=True)
class Kind:
    """Sentences of one kind: lists of subjects, verbs, prepositions and complements, and one
    form."""

    subjects: p.Choices
    verbs: p.Choices
    prepositions: p.Choices
    complements: p.Choices
    fields: dict[str, str]
    weight: float
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", prod(len(choices) for choices in self._lists))

    @property
    def _lists(self) -> tuple[p.Choices, ...]:
        return (self.subjects, self.verbs, self.prepositions, self.complements)

    def sentence(self, number: int) -> Sides:
        """Return the sentence with this number (0 to size - 1) in English and French."""
        chosen = []
        for choices in self._lists:
            number, index = divmod(number, len(choices))
            chosen.append(choices[index])
        subject, verb, preposition, complement = chosen
        if verb is None:
            return c.where_is(subject)
        return c.both_sides(c.Clause(subject, verb, complement, preposition, **self.fields))

    def draw(self, rng: Random) -> int:
        """Return the number of a random sentence, with frequent determiners more often."""
        number, unit = 0, 1
        for choices in self._lists:
            if isinstance(choices, (NounPhrases, OwnedPhrases)):
                index = choices.draw(rng)
            else:
                index = rng.randrange(len(choices))
            number, unit = number + index * unit, unit * len(choices)
        return number


def _kinds() -> Iterator[tuple[int, Kind]]:
    """Yield every kind with the first level that includes it."""
    no_choice = (None,)
    for pattern in p.PATTERNS:
        for complement in pattern.complements:
            for subject in _possible_subjects(pattern, complement):
                for form in _possible_forms(pattern.forms or p.SAY_OR_ASK, subject):
                    weight = pattern.weight * subject.weight * complement.weight * form.weight
                    fixed_arguments = (
                        pattern.verbs,
                        pattern.prepositions,
                        complement.choices,
                        form.fields,
                        weight,
                    )
                    yield (
                        max(subject.level, complement.level, form.level),
                        Kind(subject.choices, *fixed_arguments),
                    )
    for nouns, adjectives in p.IT_IS:
        for complement in p.shapes(nouns, adjectives, SINGULAR):
            for form in p.clause_forms("", "whether", modes=False)[:4]:
                weight = 0.2 * form.weight
                yield (
                    max(complement.level, form.level),
                    Kind((c.IT,), (v.BE,), no_choice, complement.choices, form.fields, weight),
                )
    for subject in (*p.PERSONS, *p.ANIMALS, *p.shapes(w.THINGS, w.OF_THINGS, DEFINITE)):
        yield 3, Kind(subject.choices, no_choice, no_choice, no_choice, {}, 0.1 * subject.weight)


def _possible_forms(forms: tuple[p.ClauseForm, ...], subject: p.Shape) -> Iterator[p.ClauseForm]:
    """Yield the clause forms that a subject allows: "who" already makes a question."""
    for form in forms:
        if subject.choices[0] is not c.WHO or not form.fields["question"]:
            yield form


def _possible_subjects(pattern: p.Pattern, complement: p.Shape) -> Iterator[p.Shape]:
    """Yield the subjects, including "who", without those that the object would refer back to."""
    for shape in (*pattern.subjects, *((p.WHO,) if pattern.who else ())):
        choices, pronoun = shape.choices, complement.choices[0]
        if isinstance(pronoun, str) and isinstance(choices[0], c.Pronoun):
            choices = tuple(
                choices[k] for k in range(len(choices)) if not c.reflexive(choices[k], pronoun)
            )
        yield shape._replace(choices=choices)


@cache
def kinds(level: int) -> tuple[Kind, ...]:
    """Return all kinds up to a level: 1 has statements; 2 adds adjectives, possessives and "not"; 3
    has all forms. Raises ValueError for another level."""
    if level not in LEVELS:
        raise ValueError(f"The level is {level}; it must be 1, 2 or 3.")
    return tuple(kind for required_level, kind in _kinds() if required_level <= level)


_NOUNS = (
    *(w.PERSONS, w.ANIMALS, w.THINGS, w.TEXTS, w.FOODS),
    *(w.MEALS, w.DRINKS, w.INSIDE, w.OUTSIDE),
)
_UNCOUNTABLE = (w.MEALS, w.DRINKS)
_VERBS = (
    *((v.BE,), v.INTRANSITIVE, v.ON_ANYTHING, v.ON_THINGS, v.ON_PERSONS, v.ON_TEXTS),
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
    """Return all words of the grammar, sorted; a word of both languages is one symbol."""
    return tuple(
        sorted(
            {
                *_ENGLISH.split(),
                *_FRENCH.split(),
                *_noun_words(),
                *_adjective_words(),
                *_verb_words(),
            }
        )
    )


def _noun_words() -> Iterator[str]:
    for nouns in _NOUNS:
        numbers = (0,) if nouns in _UNCOUNTABLE else (0, 1)
        for noun in nouns:
            for number in numbers:
                yield from noun.english[number].split()
                yield from noun.french[number].split()


def _adjective_words() -> Iterator[str]:
    for adjective in w.ADJECTIVES.values():
        yield from (adjective.english, adjective.liaison, *adjective.french)


def _verb_words() -> Iterator[str]:
    for verb in (verb for verbs in _VERBS for verb in verbs):
        if verb is not v.BE:
            yield from (verb.base, verb.third, *verb.after)
        yield from (*verb.forms, verb.infinitive, *verb.tail)
        yield from verb.preposition.split()
    yield from (*BE_FORMS, "be")
    for verb in (v.GO, v.CAN, v.MUST):
        yield from verb.forms
