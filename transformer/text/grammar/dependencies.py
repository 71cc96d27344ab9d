"""Which word depends on which in an English sentence of the grammar.

Subject and object of a verb, the adjective of a noun, the adverb of a verb: the relations nsubj,
dobj, amod and advmod of the Stanford dependencies, by which Voita et al. 2019 judge heads. As
there, what stands after a preposition ("look at me") is no direct object, "not" and "never" are no
adverbs, and of "to be", which would hang on its complement, nothing is said; "where", "when" and
"why" are adverbs of the verb.
"""

from __future__ import annotations

from collections.abc import Iterator

from transformer.text.grammar.clauses import BE_FORMS
from transformer.text.grammar.phrases import Words

Dependency = tuple[str, int, int]
"""A relation, then the places of its governor and of its dependent, from 0."""

RELATIONS = ("subject", "object", "adjective", "adverb")
_BE = {*BE_FORMS, "be"}


def dependencies(english: Words) -> tuple[Dependency, ...]:
    """All of them in the English words of one sentence, in the order of `RELATIONS`."""
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
