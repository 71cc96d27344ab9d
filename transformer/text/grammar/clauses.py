"""A clause in both languages, who does what, and which of its English words depends on which.

English puts "do" before questions and denials and turns subject and verb round; French wraps the
verb in "ne … pas", asks with "est-ce que", and puts a pronoun that is the object before the verb.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from transformer.text.grammar.phrases import (
    Owned,
    Parts,
    Phrase,
    Word,
    Words,
    french_surface,
    noun_phrase,
    owned_phrase,
    said,
)
from transformer.text.grammar.verbs import BE, CAN, GO, MUST, Verb
from transformer.text.grammar.words import Adjective


class Pronoun(NamedTuple):
    """A pronoun; `person` counts je, tu, il, nous, vous, ils from 0. As object: `objects`."""

    english: str
    french: str
    person: int
    feminine: bool = False


ME, YOU, HE = Pronoun("I", "je", 0), Pronoun("you", "tu", 1), Pronoun("he", "il", 2)
SHE, WE = Pronoun("she", "elle", 2, True), Pronoun("we", "nous", 3)
# "you" is "tu" here, so that a sentence has one translation; "you all" is "vous".
YOU_ALL, THEY = Pronoun("you all", "vous", 4), Pronoun("they", "ils", 5)
PRONOUNS = (ME, YOU, HE, SHE, WE, YOU_ALL, THEY)
IT, WHO = Pronoun("it", "ce", 2), Pronoun("who", "qui", 2)

_OBJECTS = {"me": ("me", 0), "you": ("te", 1), "him": ("le", 2), "her": ("la", 2)}
_OBJECTS |= {"us": ("nous", 3), "them": ("les", 5)}
OBJECTS = tuple(_OBJECTS)


def reflexive(subject: Pronoun, english: str) -> bool:
    """Whether the object takes up the subject, "I see me", which needs other words."""
    side = {0: 0, 3: 0, 1: 1, 4: 1}
    return side.get(subject.person, 2) == side.get(_OBJECTS[english][1], 3)


class Place(NamedTuple):
    """A preposition in both languages."""

    english: str
    french: str


class Clause(NamedTuple):
    """The choices that make a clause."""

    subject: Pronoun | Parts | Owned
    verb: Verb
    what: Parts | Owned | Adjective | str | None = None  # str: a pronoun as object
    place: Place | None = None  # the preposition before `what`
    mode: str = "simple"  # or "future", "can", "must"
    polarity: str = "yes"  # or "not", "never"
    question: str = ""  # "", "whether", "what", "where", "when", "why"
    often: str = ""  # "often", "always"
    time: str = ""  # "today", "now", "here"


_QUESTIONS = {"what": "que", "where": "où", "when": "quand", "why": "pourquoi"}
_ADVERBS = {"often": "souvent", "always": "toujours", "today": "aujourd'hui", "now": "maintenant"}
_ADVERBS |= {"here": "ici"}
_DENIED = {"not": "pas", "never": "jamais"}
_MODES = {"future": GO, "can": CAN, "must": MUST}
BE_FORMS = ("am", "are", "is", "are", "are", "are")


def both_sides(clause: Clause) -> tuple[Words, Words]:
    """The words of the clause in English and in French, with what links them."""
    subject, person = _subject(clause.subject)
    denied = clause.polarity != "yes"
    after: tuple[Words, Words] = ([], [])
    if isinstance(clause.what, Adjective):
        form = clause.what.agree(subject.feminine, subject.plural)
        after = said(clause.what.english, "said"), said(form, "said")
    elif isinstance(clause.what, (Parts, Owned)):
        direct = not (clause.place or clause.verb.preposition or clause.verb is BE)
        phrase = _noun(clause.what, "object", denied and direct)
        after = phrase.english, phrase.french
    if clause.place:
        after = (
            said(clause.place.english, "place") + after[0],
            said(clause.place.french, "place") + after[1],
        )
    if clause.time:
        time = said(clause.time, "time"), said(_ADVERBS[clause.time], "time")
        after = after[0] + time[0], after[1] + time[1]
    end = said("?" if clause.question or clause.subject == WHO else ".", "end")
    english = _english(clause, subject.english, person) + after[0] + end
    french = _french(clause, subject.french, person) + after[1] + end
    return english, french_surface(french)


def where_is(parts: Parts) -> tuple[Words, Words]:
    """ "where is the cat ?", the one question that French turns round here."""
    thing = noun_phrase(parts, "subject")
    be = ("are", "sont") if thing.plural else ("is", "est")
    sides = [
        said(word, "asked") + said(verb, "verb") + words + said("?", "end")
        for word, verb, words in zip(
            ("where", "où"), be, (thing.english, thing.french), strict=True
        )
    ]
    return sides[0], french_surface(sides[1])


def _noun(what: Parts | Owned, role: str, negated: bool = False) -> Phrase:
    if isinstance(what, Owned):
        return owned_phrase(what, role)
    return noun_phrase(what, role, negated)


def _subject(subject: Pronoun | Parts | Owned) -> tuple[Phrase, int]:
    """The subject's words and its person, 0 to 5."""
    if isinstance(subject, Pronoun):
        words = said(subject.english, "subject"), said(subject.french, "subject")
        return Phrase(*words, subject.feminine, subject.person > 2), subject.person
    phrase = _noun(subject, "subject")
    return phrase, 5 if phrase.plural else 2


def _english(clause: Clause, subject: Words, person: int) -> Words:
    """Everything up to what the verb acts on: "does the cat not look at"."""
    verb, question = clause.verb, bool(clause.question)
    # "obeys" alone says what French says with a preposition: "obéit à".
    keys = ("verb", "place") if verb.preposition and not verb.after else ("verb",)
    first: Words = []  # what a question puts before the subject
    rest = said(verb.base, *keys)
    if clause.mode == "future":
        first, rest = said(BE_FORMS[person], "mode"), said("going to", "mode") + rest
    elif clause.mode != "simple":
        first = said(clause.mode, "mode")
    elif verb is BE:
        first, rest = said(BE_FORMS[person], *keys), []
    elif question or clause.polarity == "not":
        do = "does" if person == 2 else "do"
        first = said(do, "asked.how" if question else "denied")
    else:
        rest = said(verb.third if person == 2 else verb.base, *keys)
    denied = [] if clause.polarity == "yes" else said(clause.polarity, "denied")
    if clause.mode == "can" and clause.polarity == "not" and not question:
        first, denied = said("cannot", "mode", "denied"), []
    asked = said(clause.question, "asked") if clause.question in _QUESTIONS else []
    start = asked + (first + subject if question else subject + first)
    often = said(clause.often, "often") if clause.often else []
    particle = said(" ".join(verb.after), "place" if verb.preposition else "verb")
    words = start + denied + often + rest + particle
    return words + (said(clause.what, "object") if isinstance(clause.what, str) else [])


def _french(clause: Clause, subject: Words, person: int) -> Words:
    """Everything up to what the verb acts on: "est-ce que le chat ne regarde pas"."""
    verb = clause.verb
    words: Words = []
    if clause.question:
        asked = said(_QUESTIONS[clause.question], "asked") if clause.question != "whether" else []
        words = asked + said("est-ce que", "asked.how")
    words = words + subject
    pronoun: Words = []
    if isinstance(clause.what, str):
        pronoun = said(_OBJECTS[clause.what][0], "object")
    if clause.mode == "simple":
        finite, infinitive = [*pronoun, Word(verb.forms[person], ("verb",))], []
    else:
        finite = said(_MODES[clause.mode].forms[person], "mode")
        infinitive = pronoun + said(verb.infinitive, "verb")
    denied = [] if clause.polarity == "yes" else said(_DENIED[clause.polarity], "denied")
    if denied:
        words = words + said("ne", "denied")
    often = said(_ADVERBS[clause.often], "often") if clause.often else []
    tail = said(" ".join(verb.tail), "verb") + said(verb.preposition, "place")
    return words + finite + denied + often + infinitive + tail


Dependency = tuple[str, int, int]
"""A relation, then the places of its governor and of its dependent, from 0."""

RELATIONS = ("subject", "object", "adjective", "adverb")
_BE = {*BE_FORMS, "be"}


def dependencies(english: Words) -> tuple[Dependency, ...]:
    """Which word depends on which in the English of one sentence, in the order of `RELATIONS`.

    Subject and object of a verb, the adjective of a noun, the adverb of a verb: nsubj, dobj, amod
    and advmod of the Stanford dependencies, by which Voita et al. 2019 judge heads. As there, what
    stands after a preposition ("look at me") is no direct object, "not" and "never" are no adverbs,
    and of "to be", which would hang on its complement, nothing is said; "where", "when" and "why"
    are adverbs of the verb.
    """
    found = [*_of_verb(english), *_adjectives(english)]
    return tuple(sorted(found, key=lambda one: (RELATIONS.index(one[0]), *one[1:])))


def _of_verb(words: Words) -> Iterator[Dependency]:
    verb, *particles = _places(words, "verb")
    if words[verb].text in _BE:
        return
    for key in ("subject.noun", "subject"):
        for noun in _places(words, key)[:1]:  # of "you all" the first
            yield "subject", verb, noun
    asked = _places(words, "asked")
    what = [place for place in asked if words[place].text == "what"]
    if not particles and _places(words, "place") in ([], [verb]):
        for noun in (*_places(words, "object.noun"), *_places(words, "object"), *what):
            yield "object", verb, noun
    for adverb in (*_places(words, "often"), *_places(words, "time"), *asked):
        if adverb not in what:
            yield "adverb", verb, adverb


def _adjectives(words: Words) -> Iterator[Dependency]:
    for place, word in enumerate(words):
        for key in word.keys:
            phrase, _, part = key.rpartition(".")
            if part == "adjective":
                yield "adjective", _places(words, f"{phrase}.noun")[0], place


def _places(words: Words, key: str) -> list[int]:
    return [place for place, word in enumerate(words) if key in word.keys]
