"""The sentence patterns of the small grammar and their frequencies."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from transformer.text.grammar import clauses as c
from transformer.text.grammar import phrases as ph
from transformer.text.grammar import verbs as v
from transformer.text.grammar import words as w


@runtime_checkable
class Choices(Protocol):
    """A list of choices, possibly computed on access."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Any: ...


class Shape(NamedTuple):
    """Choices for a subject or complement, with their frequency and the first level that has
    them."""

    choices: Choices
    weight: float = 1
    level: int = 1


class ClauseForm(NamedTuple):
    """Mode, polarity, question and adverbs of a clause (fields of `Clause`), with weight and
    level."""

    fields: dict[str, str]
    weight: float
    level: int


class Pattern(NamedTuple):
    """Subjects, verbs and complements that can be combined, and the clause forms they take."""

    subjects: tuple[Shape, ...]
    verbs: Choices
    complements: tuple[Shape, ...] = (Shape((None,)),)
    prepositions: Choices = (None,)
    forms: tuple[ClauseForm, ...] = ()
    weight: float = 1
    who: bool = True  # whether "who" may be the subject as well


def shapes(
    nouns: tuple[w.Noun, ...],
    adjectives: tuple[w.Adjective, ...],
    determiners: tuple[ph.Determiner, ...] = ph.COUNTED,
    weight: float = 1,
) -> tuple[Shape, ...]:
    """Return shapes of nouns without an adjective, and from level 2 with one."""
    return (
        Shape(ph.NounPhrases(nouns, determiners), weight),
        Shape(ph.NounPhrases(nouns, determiners, adjectives), weight, 2),
    )


def _owned(*nouns: w.Noun) -> Shape:
    return Shape(ph.OwnedPhrases(ph.NounPhrases(w.PERSONS, ph.OWNERS), nouns), 0.5, 2)


def clause_forms(
    *questions: str, modes: bool = True, adverbs: bool = False
) -> tuple[ClauseForm, ...]:
    """Return all forms with each mode, polarity and given question, and adverbs where possible."""
    forms = []
    for mode in ("simple", "future", "can", "must") if modes else ("simple",):
        for polarity, negation_weight in (("yes", 1.0), ("not", 0.6), ("never", 0.4)):
            for question in questions:
                weight = (1 if mode == "simple" else 0.3) * negation_weight
                weight *= {"": 1, "whether": 0.4, "what": 1}.get(question, 0.3)
                plain = mode == "simple" and not question and polarity != "never"
                level = (1 if polarity == "yes" else 2) if plain else 3
                fields = {"mode": mode, "polarity": polarity, "question": question}
                forms.append(ClauseForm(fields, weight, level))
                if adverbs and plain:
                    forms += [
                        ClauseForm(fields | {"often": a}, 0.2 * negation_weight, 3) for a in _OFTEN
                    ]
                    forms += [
                        ClauseForm(fields | {"time": a}, 0.2 * negation_weight, 3) for a in _TIME
                    ]
    return tuple(forms)


_OFTEN, _TIME = ("often", "always"), ("today", "now", "here")
SAY_OR_ASK = clause_forms("", "whether")
_WITH_ADVERBS = clause_forms("", "whether", adverbs=True)
PERSONS = shapes(w.PERSONS, w.OF_PERSONS)
ANIMALS = shapes(w.ANIMALS, w.OF_ANIMALS, weight=0.5)
_THINGS = shapes(w.THINGS, w.OF_THINGS)
_PEOPLE = (Shape(c.PRONOUNS, 2), *PERSONS, _owned(*w.PERSONS))
_BEINGS = (*_PEOPLE, *ANIMALS, _owned(*w.ANIMALS))
_ENCLOSED = shapes(w.INSIDE, w.OF_PLACES, ph.DEFINITE)
_ANYWHERE = shapes((*w.INSIDE, *w.OUTSIDE), w.OF_PLACES, ph.DEFINITE)
_OBJECTS = tuple(Shape((name,), 0.15) for name in c.OBJECTS)
WHO = Shape((c.WHO,), 0.2, 3)
_AROUND = (
    *(c.Preposition("behind", "derrière"), c.Preposition("in front of", "devant")),
    *(c.Preposition("near", "près de"), c.Preposition("next to", "à côté de")),
)
_ON_OR_UNDER = (c.Preposition("on", "sur"), c.Preposition("under", "sous"))
_FURNITURE = tuple(noun for noun in w.THINGS if noun.english[0] in ("table", "chair", "box", "bag"))
_GENDERED_SUBJECTS = (Shape((c.HE, c.SHE, c.THEY)), *PERSONS[:1], _owned(*w.PERSONS), WHO)
_VERBS_ASKED_WITH_WHAT = (*v.ON_ANYTHING, *v.ON_THINGS, *v.ON_TEXTS, v.EAT[0], v.DRINK[0])
IT_IS = (
    (w.ANIMALS, w.OF_ANIMALS),
    (w.THINGS, w.OF_THINGS),
    (w.FOODS, w.OF_FOODS),
    ((*w.INSIDE, *w.OUTSIDE), w.OF_PLACES),
)


def _adjective_pattern(subjects: tuple[Shape, ...], adjectives: Choices, weight: float) -> Pattern:
    complements = (Shape(adjectives),)
    return Pattern(subjects, (v.BE,), complements, forms=_WITH_ADVERBS, weight=weight, who=False)


def _location_pattern(prepositions: Choices, complements: tuple[Shape, ...]) -> Pattern:
    subjects = (*_BEINGS, *shapes(w.THINGS, w.OF_THINGS, ph.DEFINITE, 0.5))
    return Pattern(subjects, (v.BE,), complements, prepositions, SAY_OR_ASK, 0.4)


_MEALS = shapes(w.MEALS, w.OF_MEALS, ph.MASS)
_DRINKS = shapes(w.DRINKS, w.OF_MEALS, ph.MASS)
PATTERNS = (
    Pattern(_BEINGS, v.INTRANSITIVE, forms=_WITH_ADVERBS + clause_forms("where", "when", "why")),
    Pattern(_BEINGS, v.ON_ANYTHING, (*PERSONS, *ANIMALS, *_THINGS, *_OBJECTS), weight=1.5),
    Pattern(_BEINGS, v.ON_ANYTHING, (_owned(*w.ANIMALS, *w.THINGS),), weight=0.2),
    Pattern(_PEOPLE, v.ON_THINGS, (*_THINGS, _owned(*w.THINGS)), weight=1.5),
    Pattern(_BEINGS, v.ON_PERSONS, (*PERSONS, *_OBJECTS, _owned(*w.PERSONS))),
    Pattern(_PEOPLE, v.ON_TEXTS, shapes(w.TEXTS, w.OF_THINGS[:6]), weight=0.4),
    Pattern(_BEINGS, v.EAT, (*shapes(w.FOODS, w.OF_FOODS), *_MEALS), weight=0.8),
    Pattern(_BEINGS, v.DRINK, _DRINKS, weight=0.4),
    Pattern(_PEOPLE, _VERBS_ASKED_WITH_WHAT, forms=clause_forms("what"), weight=0.6),
    Pattern(_PEOPLE, v.TO_PERSONS, shapes(w.PERSONS, w.OF_PERSONS, ph.DEFINITE), weight=0.8),
    Pattern(_BEINGS, v.TO_PLACES, _ENCLOSED, weight=0.8),
    _adjective_pattern(_GENDERED_SUBJECTS, w.PREDICATES_OF_PERSONS, 0.4),
    _adjective_pattern((Shape((c.ME, c.YOU, c.WE, c.YOU_ALL)),), w.EPICENE, 0.3),
    _adjective_pattern((*ANIMALS[:1], _owned(*w.ANIMALS)), w.PREDICATES_OF_ANIMALS, 0.3),
    _adjective_pattern((*_THINGS[:1], _owned(*w.THINGS)), w.PREDICATES_OF_THINGS, 0.4),
    _location_pattern((c.Preposition("in", "dans"),), _ENCLOSED),
    _location_pattern(_AROUND, _ANYWHERE),
    _location_pattern(_ON_OR_UNDER, shapes(_FURNITURE, w.OF_THINGS, ph.DEFINITE)),
)
