"""Clauses in both languages, and the dependencies between their English words.

English forms questions and negations with "do" and inverts subject and verb; French puts the verb
between "ne" and "pas", asks with "est-ce que", and places object pronouns before the verb.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from transformer.text.grammar.phrases import (
    NounPhraseParts,
    OwnedNoun,
    Phrase,
    Word,
    Words,
    french_surface,
    noun_phrase,
    owned_phrase,
    with_keys,
)
from transformer.text.grammar.verbs import BE, CAN, GO, MUST, Verb
from transformer.text.grammar.words import Adjective


class Pronoun(NamedTuple):
    """A subject pronoun; `person` numbers je, tu, il, nous, vous, ils from 0."""

    english: str
    french: str
    person: int
    feminine: bool = False


ME, YOU, HE = Pronoun("I", "je", 0), Pronoun("you", "tu", 1), Pronoun("he", "il", 2)
SHE, WE = Pronoun("she", "elle", 2, True), Pronoun("we", "nous", 3)
# "you" is always "tu", so that a sentence has one translation; "you all" is "vous".
YOU_ALL, THEY = Pronoun("you all", "vous", 4), Pronoun("they", "ils", 5)
PRONOUNS = (ME, YOU, HE, SHE, WE, YOU_ALL, THEY)
IT, WHO = Pronoun("it", "ce", 2), Pronoun("who", "qui", 2)

_OBJECTS = {"me": ("me", 0), "you": ("te", 1), "him": ("le", 2), "her": ("la", 2)}
_OBJECTS |= {"us": ("nous", 3), "them": ("les", 5)}
OBJECTS = tuple(_OBJECTS)


def reflexive(subject: Pronoun, english: str) -> bool:
    """Whether the object refers to the subject ("I see me"), which would need a reflexive
    pronoun."""
    side = {0: 0, 3: 0, 1: 1, 4: 1}
    return side.get(subject.person, 2) == side.get(_OBJECTS[english][1], 3)


class Preposition(NamedTuple):
    """A preposition in both languages."""

    english: str
    french: str


class Clause(NamedTuple):
    """The choices that determine a clause."""

    subject: Pronoun | NounPhraseParts | OwnedNoun
    verb: Verb
    complement: NounPhraseParts | OwnedNoun | Adjective | str | None = (
        None  # str: a pronoun as object
    )
    preposition: Preposition | None = None  # the preposition before `complement`
    mode: str = "simple"  # or "future", "can", "must"
    polarity: str = "yes"  # or "not", "never"
    question: str = ""  # "", "whether", "what", "where", "when", "why"
    often: str = ""  # "often", "always"
    time: str = ""  # "today", "now", "here"


_QUESTIONS = {"what": "que", "where": "où", "when": "quand", "why": "pourquoi"}
_ADVERBS = {"often": "souvent", "always": "toujours", "today": "aujourd'hui", "now": "maintenant"}
_ADVERBS |= {"here": "ici"}
_NEGATIONS = {"not": "pas", "never": "jamais"}
_MODES = {"future": GO, "can": CAN, "must": MUST}
BE_FORMS = ("am", "are", "is", "are", "are", "are")


def both_sides(clause: Clause) -> tuple[Words, Words]:
    """Return the clause in English and in French, as words whose shared keys align them."""
    subject, person = _subject(clause.subject)
    negated = clause.polarity != "yes"
    after: tuple[Words, Words] = ([], [])
    if isinstance(clause.complement, Adjective):
        form = clause.complement.agree(subject.feminine, subject.plural)
        after = with_keys(clause.complement.english, "complement"), with_keys(form, "complement")
    elif isinstance(clause.complement, (NounPhraseParts, OwnedNoun)):
        direct = not (clause.preposition or clause.verb.preposition or clause.verb is BE)
        phrase = _any_noun_phrase(clause.complement, "object", negated and direct)
        after = phrase.english, phrase.french
    if clause.preposition:
        after = (
            with_keys(clause.preposition.english, "preposition") + after[0],
            with_keys(clause.preposition.french, "preposition") + after[1],
        )
    if clause.time:
        time = with_keys(clause.time, "time"), with_keys(_ADVERBS[clause.time], "time")
        after = after[0] + time[0], after[1] + time[1]
    end = with_keys("?" if clause.question or clause.subject == WHO else ".", "end")
    english = _english(clause, subject.english, person) + after[0] + end
    french = _french(clause, subject.french, person) + after[1] + end
    return english, french_surface(french)


def where_is(parts: NounPhraseParts) -> tuple[Words, Words]:
    """Return "where is the cat ?", the only question here with inversion in French."""
    noun = noun_phrase(parts, "subject")
    be = ("are", "sont") if noun.plural else ("is", "est")
    sides = [
        with_keys(word, "question_word") + with_keys(verb, "verb") + words + with_keys("?", "end")
        for word, verb, words in zip(("where", "où"), be, (noun.english, noun.french), strict=True)
    ]
    return sides[0], french_surface(sides[1])


def _any_noun_phrase(
    phrase: NounPhraseParts | OwnedNoun, role: str, negated: bool = False
) -> Phrase:
    if isinstance(phrase, OwnedNoun):
        return owned_phrase(phrase, role)
    return noun_phrase(phrase, role, negated)


def _subject(subject: Pronoun | NounPhraseParts | OwnedNoun) -> tuple[Phrase, int]:
    """Return the subject's words and its person, 0 to 5."""
    if isinstance(subject, Pronoun):
        words = with_keys(subject.english, "subject"), with_keys(subject.french, "subject")
        return Phrase(*words, subject.feminine, subject.person > 2), subject.person
    phrase = _any_noun_phrase(subject, "subject")
    return phrase, 5 if phrase.plural else 2


def _english(clause: Clause, subject: Words, person: int) -> Words:
    """Return all words up to the complement: "does the cat not look at"."""
    verb, question = clause.verb, bool(clause.question)
    # "obeys" alone translates a verb with a preposition: "obéit à".
    keys = ("verb", "preposition") if verb.preposition and not verb.after else ("verb",)
    auxiliary: Words = []  # placed before the subject in a question
    predicate = with_keys(verb.base, *keys)
    if clause.mode == "future":
        auxiliary, predicate = (
            with_keys(BE_FORMS[person], "mode"),
            with_keys("going to", "mode") + predicate,
        )
    elif clause.mode != "simple":
        auxiliary = with_keys(clause.mode, "mode")
    elif verb is BE:
        auxiliary, predicate = with_keys(BE_FORMS[person], *keys), []
    elif question or clause.polarity == "not":
        do = "does" if person == 2 else "do"
        auxiliary = with_keys(do, "question_form" if question else "negation")
    else:
        predicate = with_keys(verb.third if person == 2 else verb.base, *keys)
    negation = [] if clause.polarity == "yes" else with_keys(clause.polarity, "negation")
    if clause.mode == "can" and clause.polarity == "not" and not question:
        auxiliary, negation = with_keys("cannot", "mode", "negation"), []
    question_word = (
        with_keys(clause.question, "question_word") if clause.question in _QUESTIONS else []
    )
    start = question_word + (auxiliary + subject if question else subject + auxiliary)
    often = with_keys(clause.often, "often") if clause.often else []
    particle = with_keys(" ".join(verb.after), "preposition" if verb.preposition else "verb")
    words = start + negation + often + predicate + particle
    return words + (
        with_keys(clause.complement, "object") if isinstance(clause.complement, str) else []
    )


def _french(clause: Clause, subject: Words, person: int) -> Words:
    """Return all words up to the complement: "est-ce que le chat ne regarde pas"."""
    verb = clause.verb
    words: Words = []
    if clause.question:
        question_word = (
            with_keys(_QUESTIONS[clause.question], "question_word")
            if clause.question != "whether"
            else []
        )
        words = question_word + with_keys("est-ce que", "question_form")
    words = words + subject
    pronoun: Words = []
    if isinstance(clause.complement, str):
        pronoun = with_keys(_OBJECTS[clause.complement][0], "object")
    if clause.mode == "simple":
        finite, infinitive = [*pronoun, Word(verb.forms[person], ("verb",))], []
    else:
        finite = with_keys(_MODES[clause.mode].forms[person], "mode")
        infinitive = pronoun + with_keys(verb.infinitive, "verb")
    negation = (
        [] if clause.polarity == "yes" else with_keys(_NEGATIONS[clause.polarity], "negation")
    )
    if negation:
        words = words + with_keys("ne", "negation")
    often = with_keys(_ADVERBS[clause.often], "often") if clause.often else []
    tail = with_keys(" ".join(verb.tail), "verb") + with_keys(verb.preposition, "preposition")
    return words + finite + negation + often + infinitive + tail


Dependency = tuple[str, int, int]
"""A relation and the positions of its head and its dependent, from 0."""

RELATIONS = ("subject", "object", "adjective", "adverb")
_BE = {*BE_FORMS, "be"}


def dependencies(english: Words) -> tuple[Dependency, ...]:
    """Return the dependencies of an English sentence, in the order of `RELATIONS`.

    Subject and object of a verb, adjective of a noun, adverb of a verb: nsubj, dobj, amod and
    advmod of the Stanford dependencies, with which Voita et al. 2019 evaluate heads. As there, the
    object of a preposition ("look at me") is not a direct object, "not" and "never" are not
    adverbs, and "to be", a dependent of its complement, has no relations; "where", "when" and "why"
    are adverbs of the verb.
    """
    relations = [*_verb_dependencies(english), *_adjective_dependencies(english)]
    return tuple(
        sorted(relations, key=lambda relation: (RELATIONS.index(relation[0]), *relation[1:]))
    )


def _verb_dependencies(words: Words) -> Iterator[Dependency]:
    verb, *particles = _positions(words, "verb")
    if words[verb].text in _BE:
        return
    for key in ("subject.noun", "subject"):
        for noun in _positions(words, key)[:1]:  # of "you all" the first
            yield "subject", verb, noun
    question_words = _positions(words, "question_word")
    what_positions = [position for position in question_words if words[position].text == "what"]
    if not particles and _positions(words, "preposition") in ([], [verb]):
        for noun in (
            *_positions(words, "object.noun"),
            *_positions(words, "object"),
            *what_positions,
        ):
            yield "object", verb, noun
    for adverb in (*_positions(words, "often"), *_positions(words, "time"), *question_words):
        if adverb not in what_positions:
            yield "adverb", verb, adverb


def _adjective_dependencies(words: Words) -> Iterator[Dependency]:
    for position, word in enumerate(words):
        for key in word.keys:
            phrase, _, part = key.rpartition(".")
            if part == "adjective":
                yield "adjective", _positions(words, f"{phrase}.noun")[0], position


def _positions(words: Words, key: str) -> list[int]:
    return [position for position, word in enumerate(words) if key in word.keys]
